"""The broker's jars: had by Maven coordinates, kept in the cache."""

from __future__ import annotations

from pathlib import Path

from tests.services.cache import Artefact
from tests.services.errors import ServiceError
from tests.services.tools import JAVA_PACKAGES, MAVEN_PACKAGES, ensure_programs, find, found, run

HERE = Path(__file__).parent
LOGGING = HERE / "log4j2.yaml"


def _copy_jars(folder: Path) -> None:
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'libs'}", "-DincludeScope=runtime"]
    run([found("mvn"), "-q", "-B", "-f", folder / "pom.xml", *goal])


def _programs() -> None:
    ensure_programs(("java",), JAVA_PACKAGES)
    ensure_programs(("mvn",), MAVEN_PACKAGES)


KAFKA = Artefact("kafka", "dependency:copy-dependencies runtime", _copy_jars, (HERE / "pom.xml",), _programs)


def installed() -> bool:
    """Whether the jars are in the cache and a Java is on PATH."""
    return KAFKA.installed() and find("java") is not None


def class_path() -> str:
    """For `java -cp`: Java itself expands the star."""
    if not installed():
        raise ServiceError("kafka is not installed")
    return str(KAFKA.folder / "libs" / "*")


def install_jars() -> Path:
    """Get the jars, and Java and Maven from Debian if they are missing. Their folder."""
    ensure_programs(("java",), JAVA_PACKAGES)
    return KAFKA.install()
