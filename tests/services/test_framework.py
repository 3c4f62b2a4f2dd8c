"""Installing into the cache, running a process, the policy and the marker: without any real server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.services import catalogue, fixtures
from tests.services.__main__ import main
from tests.services.cache import BUILDING, Artefact, cache_root
from tests.services.config import merged
from tests.services.debian import DebianPrograms
from tests.services.errors import TAIL_LINES, ServiceError
from tests.services.process import Server, free_port, wait_until
from tests.services.tools import check, run


class Shell(Server):
    """A server that is a shell script, ready when it has printed `ready`."""

    name = "shell"
    start_timeout = 5

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(folder)
        self.script = script

    def command(self) -> list[str | Path]:
        return ["sh", "-c", self.script]

    def ready(self) -> bool:
        return "ready" in self.log_text()

    def endpoints(self) -> dict[str, str]:
        return {}


def alive(pid: int) -> bool:
    """Whether the process runs (a dead one that nobody waits for does not)."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test."""
    monkeypatch.setenv("CTXSCORE_SERVICES_CACHE", str(tmp_path / "cache"))
    return cache_root()


def test_cache_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CTXSCORE_SERVICES_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "otel-ctxscore-services"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path.home() / ".cache" / "otel-ctxscore-services"


def test_artefact_folder_follows_what_it_is_built_from(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "go.sum"
    source.write_text("1")
    artefact = Artefact("a", "build", lambda _: None, (source,))
    first = artefact.install()
    assert (first / "go.sum").read_text() == "1"
    source.write_text("2")
    assert not artefact.installed()
    assert artefact.install() != first
    assert replace(artefact, recipe="other").folder != artefact.folder
    assert artefact.folder.parent == cache


def test_artefact_is_built_once_by_many(cache: Path) -> None:
    built: list[Path] = []

    def build(folder: Path) -> None:
        built.append(folder)
        time.sleep(0.1)

    artefact = Artefact("a", "slow", build)
    with ThreadPoolExecutor(4) as pool:
        folders = {future.result() for future in [pool.submit(artefact.install) for _ in range(4)]}
    assert folders == {artefact.folder}
    assert len(built) == 1


def test_failed_build_leaves_nothing(cache: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").touch()
        raise ServiceError("no")

    left_by_a_killed_one = cache / f"{BUILDING}a-1"
    left_by_a_killed_one.mkdir(parents=True)
    artefact = Artefact("a", "fails", build)
    with pytest.raises(ServiceError, match="no"):
        artefact.install()
    assert not artefact.installed()
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_needs_are_installed_before_the_lock_is_held(cache: Path) -> None:
    tool = Artefact("tool", "t", lambda _: None)
    artefact = Artefact("a", "needs", lambda _: tool.install(), before=tool.install)
    assert artefact.install().is_dir()
    assert tool.installed()


def test_server_starts_restarts_and_stops_with_its_children(tmp_path: Path) -> None:
    with Shell(tmp_path, "sleep 60 & echo $!; echo ready; wait") as server:
        first, child = server.pid, int(server.log_text().split()[0])
        assert alive(child)
        with pytest.raises(ServiceError, match="already"):
            server.start()
        server.restart()
        assert server.pid != first
        assert not alive(child)
        child = int(server.log_text().split()[0])
    assert not server.running
    wait_until(lambda: not alive(child), 5, "end of the child")


def test_server_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    server = Shell(tmp_path, "trap '' TERM; echo ready; while true; do sleep 0.1; done").start()
    pid = server.pid
    server.stop(grace=0.2)
    assert not alive(pid)
    with pytest.raises(ServiceError, match="not running"):
        assert server.pid
    server.stop()  # once more does no harm


def test_server_that_ends_shows_its_log(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="ended with 3 while starting") as caught:
        Shell(tmp_path, "seq 1 100; echo the reason; exit 3").start()
    assert "the reason" in str(caught.value)
    assert str(tmp_path / "shell.log") in str(caught.value)
    assert str(caught.value).count("\n") == TAIL_LINES


def test_server_that_does_not_get_ready_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shell, "start_timeout", 0.2)
    server = Shell(tmp_path, "echo waiting; sleep 60")
    with pytest.raises(ServiceError, match=r"(?s)no readiness of shell within.*waiting"):
        server.start()
    assert not server.running


def test_server_does_not_see_the_tests_settings_for_opentelemetry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "tests")
    with Shell(tmp_path, "echo ready $OTEL_SERVICE_NAME; sleep 60") as server:
        assert server.log_text() == "ready\n"


def test_ports_differ() -> None:
    assert len({free_port() for _ in range(20)}) == 20


def test_wait_until_says_what_and_why() -> None:
    def refuse() -> bool:
        raise ConnectionRefusedError("refused")

    with pytest.raises(ServiceError, match=r"no answer within 0 s \(refused\)"):
        wait_until(refuse, 0.1, "answer")


def test_commands_that_fail(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"(?s)`sh -c .*` ended with 1:.*why"):
        run(["sh", "-c", "echo why >&2; exit 1"], tmp_path)
    with pytest.raises(ServiceError, match=r"(?s)did not end within 0 s:.*so far"):
        check(["sh", "-c", "echo so far; exec sleep 60"], timeout=0.2)
    with pytest.raises(ServiceError, match="no-such-program"):
        check(["no-such-program"])


def test_debian_packages_are_wanted_for_a_program_or_a_library() -> None:
    assert DebianPrograms((("no-such-program", "sh"),), ("dash",), ("libc.so.6",)).installed()
    assert not DebianPrograms((("no-such-program",),), ("dash",)).installed()
    assert not DebianPrograms((("sh",),), ("dash",), ("libnone.so.1",)).installed()


def test_merged_configurations() -> None:
    base = {"a": {"b": 1, "c": [1]}, "d": 1}
    assert merged(base, {"a": {"c": [2]}, "e": {}}) == {"a": {"b": 1, "c": [2]}, "d": 1, "e": {}}
    assert base["a"] == {"b": 1, "c": [1]}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Replaces kafka by a service that is not installed, with this way to install it."""

    def replace_kafka(install: Callable[[], object]) -> None:
        there: list[bool] = []
        service = catalogue.Service("kafka", "-", lambda: bool(there), lambda: there.append(bool(install())))
        monkeypatch.setitem(catalogue.SERVICES, "kafka", service)

    return replace_kafka


def refuse() -> None:
    """An installation that fails."""
    raise ServiceError("no network")


def test_outside_ci_a_missing_service_skips(
    fake: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    fake(refuse)
    with pytest.raises(pytest.skip.Exception, match=r"`python -m tests\.services install kafka`") as caught:
        fixtures.need("kafka")
    assert "\n" not in str(caught.value)


def test_in_ci_a_missing_service_is_installed_or_fails(
    fake: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    fake(lambda: None)
    fixtures.need("kafka")
    fake(refuse)
    with pytest.raises(ServiceError, match="no network"):
        fixtures.need("kafka")
    with pytest.raises(ServiceError, match="no service 'other'"):
        fixtures.need("other")


@pytest.fixture
def built_on_a_service(services_folder: Path) -> Path:
    """Stands for a fixture of another module that uses a server."""
    return services_folder


def test_marker_follows_the_fixtures(request: pytest.FixtureRequest, built_on_a_service: Path) -> None:
    assert request.node.get_closest_marker("services")
    assert os.access(built_on_a_service, os.W_OK)


def test_no_marker_without(request: pytest.FixtureRequest) -> None:
    assert not request.node.get_closest_marker("services")


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in catalogue.SERVICES)
    for wrong in (["install", "nothing"], ["start"]):
        with pytest.raises(SystemExit, match="2"):
            main(wrong)
    assert main(["start", "chromium"]) == 1
    assert "not a server" in capsys.readouterr().err
