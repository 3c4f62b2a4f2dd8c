"""The broker process and what tests do with it."""

from __future__ import annotations

import math
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tests.services import tools
from tests.services.cache import Artefact
from tests.services.certificates import Certificates
from tests.services.kafka import client
from tests.services.kafka.client import Record
from tests.services.kafka.distribution import KAFKA, LOGGING, class_path, install_jars
from tests.services.kafka.settings import Ports, Security, cluster_id, properties, scram_arguments
from tests.services.process import HOST, Server, free_port, wait_until

FORMAT = "kafka.tools.StorageTool"
MAIN = "kafka.Kafka"
# Starts faster than the defaults and takes a third of their memory; nothing here runs long enough to miss them.
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
CLASSES = "classes.jsa"


class Kafka(Server):
    """One broker on loopback, with automatic creation of topics (4 partitions).

    `bootstrap` needs no login. With `users` (name: password) there is also `sasl_bootstrap`: SASL_PLAINTEXT with
    PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 (these users) and OAUTHBEARER (see `unsigned_token`). With `certificates`
    there is `tls_bootstrap`: SASL_SSL with these logins, or SSL without users; a client's certificate is taken if it
    sends one.
    `settings` are lines of server.properties that win over the ones here. `kill()` is a crash; `start()` afterwards
    is on the same data and ports. All methods are blocking and may also be called where an event loop runs.
    """

    name = "kafka"
    start_timeout: ClassVar[float] = 120

    def __init__(
        self,
        folder: Path,
        users: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        certificates: Certificates | None = None,
        jvm: Sequence[str] = ("-Xmx512m",),
    ) -> None:
        super().__init__(folder)
        self.ports = Ports(free_port(), free_port(), free_port(), free_port())
        self.security = Security(dict(users or {}), certificates)
        self.settings = dict(settings or {})
        self.jvm = tuple(jvm)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the listener without security."""
        return f"{HOST}:{self.ports.plain}"

    @property
    def sasl_bootstrap(self) -> str:
        """HOST:PORT of the listener with a login. ValueError without `users`."""
        if not self.security.users:
            raise ValueError("this broker was made without users")
        return f"{HOST}:{self.ports.sasl}"

    @property
    def tls_bootstrap(self) -> str:
        """HOST:PORT of the listener with TLS. ValueError without `certificates`."""
        if not self.security.certificates:
            raise ValueError("this broker was made without certificates")
        return f"{HOST}:{self.ports.tls}"

    def endpoints(self) -> dict[str, str]:
        return {name.lower(): f"{HOST}:{port}" for name, port in self.security.listeners(self.ports).items()}

    def command(self) -> list[str | Path]:
        config = self.folder / "server.properties"
        data = self.folder / "data"
        config.write_text(properties(self.ports, data, self.security, self.settings))
        if not (data / "meta.properties").exists():
            users = scram_arguments(self.security.users)
            tools.run(_java(FORMAT, "format", "-t", cluster_id(), "-c", config, *users), self.folder)
        return _java(MAIN, config, options=(*archive_options(), *self.jvm))

    def ready(self) -> bool:
        """The port is open, metadata answers and the group coordinator has loaded its groups."""
        return client.port_open(self.bootstrap) and client.usable(self.bootstrap)

    def topic(self, partitions: int = 1, prefix: str = "t") -> str:
        """The name of a new topic that nobody else uses."""
        name = f"{prefix}-{uuid.uuid4().hex[:12]}"
        self.create_topic(name, partitions)
        return name

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create it and wait until each partition has a leader. ServiceError if it is there already."""
        client.create_topic(self.bootstrap, name, partitions, settings or {})
        what = f"leader of every partition of {name}"
        wait_until(lambda: client.partitions(self.bootstrap, name) == partitions, 30, what)

    def send(self, topic: str, records: Sequence[Record], *, a_second: float = math.inf, **options: object) -> None:
        """Send in order, so many a second at most, and wait for the acknowledgements; `options` are those of
        AIOKafkaProducer."""
        client.send(self.bootstrap, topic, records, options, a_second)

    def read(self, topic: str, count: int, timeout: float = 20) -> list[Record]:
        """The first `count` records from the start of all partitions; ServiceError if they do not come in time."""
        return client.read(self.bootstrap, topic, count, timeout)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The group's committed offset by topic and partition."""
        return client.committed(self.bootstrap, group)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset after the last record, by partition."""
        return client.end_offsets(self.bootstrap, topic)

    def tool(self, main: str, *arguments: str, timeout: float = 60) -> tools.Check:
        """Run one of Kafka's own command-line classes, such as `org.apache.kafka.tools.TopicCommand`."""
        return tools.check(_java(main, *arguments), timeout)


def _java(main: str, *arguments: str | Path, options: Sequence[str] = ("-Xmx128m",)) -> list[str | Path]:
    logging = f"-Dlog4j2.configurationFile=file:{LOGGING}"
    return [tools.java(), *JVM, *options, logging, "-cp", class_path(), main, *arguments]


def install() -> Path:
    """Get the jars and the Java to run them, and make the archive of classes. The folder of the jars."""
    folder = install_jars()
    archive().install()
    return folder


def archive() -> Artefact:
    """An archive of loaded classes, with which a broker starts in half the time, for this Java and these jars.

    A convenience: Java ignores one that does not fit, and without one all works as well.
    """
    program = tools.java().resolve()
    return Artefact("kafka-classes", f"{program} {program.stat().st_mtime_ns} {KAFKA.folder}", _record_classes)


def archive_options() -> list[str]:
    """For Java, to use the archive if it was made."""
    made = archive()
    return [f"-XX:SharedArchiveFile={made.folder / CLASSES}"] if made.installed() else []


def _record_classes(folder: Path) -> None:
    # What one life of a broker loads is what the next ones will load.
    with Kafka(folder / "broker", jvm=[f"-XX:ArchiveClassesAtExit={folder / CLASSES}"]) as broker:
        broker.send(broker.topic(), [Record(b"")])
    shutil.rmtree(folder / "broker")
