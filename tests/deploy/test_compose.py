"""deploy/compose.yaml and the Dockerfile: loaded by the reference implementation, and true to the files they name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY, ROOT
from tests.deploy.programs import loaded
from tests.services.errors import ServiceError
from tests.services.fixtures import need

COMPOSE = DEPLOY / "compose.yaml"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
OURS = ("ctxscore", "sample-app")


@cache
def project() -> dict[str, Any]:
    return dict(yaml.safe_load(loaded("compose", COMPOSE)))


@pytest.fixture(scope="module")
def services(services_folder: Path) -> dict[str, Any]:
    """The services, as the reference implementation of the Compose specification understands them."""
    need("deploy-tools")
    return dict(project()["services"])


def test_all_parts_of_the_line_are_there(services: dict[str, Any]) -> None:
    wanted = {"ctxscore", "sample-app", "collector", "kafka", "jaeger", "prometheus", "alertmanager", "grafana"}
    assert set(services) == wanted


def test_a_key_that_the_specification_does_not_know_is_refused(services: dict[str, Any], tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text(encoding="utf-8").replace("read_only: true", "read_onli: true"), "utf-8")
    with pytest.raises(ServiceError, match="read_onli"):
        loaded("compose", wrong)


def test_what_is_mounted_is_there(services: dict[str, Any]) -> None:
    mounts = [mount for service in services.values() for mount in service.get("volumes", ())]
    bound = [Path(mount["source"]) for mount in mounts if mount["type"] == "bind"]
    assert bound
    assert [path for path in bound if not path.exists()] == []


def test_ports_are_open_on_loopback_only(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}
    published = [port["published"] for port in ports]
    assert len(published) == len(set(published))


def test_every_image_has_a_version(services: dict[str, Any]) -> None:
    tags = {service["image"].partition(":")[2] for service in services.values()}
    assert not tags & {"", "latest"}


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_confined(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_stop_takes_longer_than_the_grace(services: dict[str, Any]) -> None:
    assert services["ctxscore"]["stop_grace_period"] == "30s"


def test_a_service_is_reached_by_a_name_that_there_is(services: dict[str, Any]) -> None:
    files = [COMPOSE, *(DEPLOY / "compose").iterdir()]
    hosts = re.compile(r"(?<![\w./-])([a-z][a-z-]+):(?:4317|4318|9090|9092|9093|9464|16686)\b")
    named = {host for file in files for host in hosts.findall(file.read_text(encoding="utf-8"))}
    named |= {host for file in files for host in re.findall(r"http://([a-z-]+):\d+", file.read_text(encoding="utf-8"))}
    assert named - {"localhost"} <= set(services)


def test_the_data_sources_have_the_ids_of_the_provisioned_ones() -> None:
    def ids(path: Path) -> set[str]:
        return {one["uid"] for one in yaml.safe_load(path.read_text(encoding="utf-8"))["datasources"]}

    ours = ids(DEPLOY / "compose" / "datasources.yaml")
    assert ours < ids(ROOT / "dashboards" / "provisioning" / "datasources.yaml")


# ---- Dockerfile: no builder checks it, so what matters is looked for ----------------------------------------------


def stages() -> list[str]:
    return re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)[1:]


def test_both_stages_begin_from_the_same_pinned_base() -> None:
    assert [stage.split()[1] for stage in stages()] == ["${BASE}", "${BASE}"]
    [base] = re.findall(r"^ARG BASE=(.*)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", base)


def test_the_last_stage_is_not_root_and_installs_nothing() -> None:
    last = stages()[1]
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert "pip install" not in last
    assert "apt-get" not in DOCKERFILE


def test_nothing_is_installed_without_its_hash() -> None:
    installs = re.findall(r"pip .*?install (.*?)(?:&&|$)", " ".join(stages()[0].replace("\\\n", " ").split()))
    from_outside = [one for one in installs if "/dist/" not in one]
    assert len(from_outside) == 2
    assert all("--require-hashes --no-deps --only-binary=:all:" in one for one in from_outside)


@pytest.mark.slow
def test_the_steps_of_the_first_stage_give_a_program_that_starts(tmp_path: Path) -> None:
    places = {"/opt/otel-ctxscore": str(tmp_path / "opt"), "/dist": str(tmp_path / "dist")}
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "base")], check=True)
    path = f"{tmp_path / 'base' / 'bin'}:{os.environ['PATH']}"
    for step in re.findall(r"^RUN (.*?)(?<!\\)$", stages()[0], re.MULTILINE | re.DOTALL):
        for place, here in places.items():
            step = step.replace(place, here)
        done = subprocess.run(
            ["bash", "-euc", step],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    said = subprocess.run([tmp_path / "opt" / "bin" / "otel-ctxscore", "version"], capture_output=True, check=True)
    assert said.stdout.startswith(b"otel-ctxscore ")


def test_what_is_copied_is_there_and_goes_to_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    copied = [
        words
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
        for words in shlex.split(line)[:-1]
    ]
    assert sorted(copied) == sorted(sent)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_sample_application_lies_where_compose_starts_it(services: dict[str, Any]) -> None:
    path = services["sample-app"]["entrypoint"][1]
    assert f"COPY deploy/sample-app/app.py {path}\n" in DOCKERFILE
