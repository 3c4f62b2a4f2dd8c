"""Every command as strangers use it: without arguments, with wrong ones, with files that are none, on a narrow or
foreign terminal, broken off half-way. A clear line, an exit code that the documentation has, and never a trace back."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.monitoring import AlarmRecord
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.app import AdminServer
from tests.cli.command_lines import FILES, LINES, SERVERS, command_line, commands, file_parameters, option
from tests.cli.run import Ended, run
from tests.otlp import rag, request
from tests.services.process import wait_until
from tests.web.fakes import FakeService, NoReview

COMMANDS = commands()
FINITE = [name for name in COMMANDS if name not in SERVERS]
READING = [name for name in LINES if {"files", "labels"} & LINES[name].keys()]
PARAMETERS = [(name, parameter) for name, command in COMMANDS.items() for parameter in file_parameters(command)]


def from_standard_input(name: str) -> dict[str, list[str]]:
    """What a command that reads is about, given as `-`."""
    return {one: option(COMMANDS[name], one, "-") for one in ("files", "labels") if one in LINES[name]}


DOCUMENTED = (0, 1, 2)
PIECES = ("Traceback", "[Errno", "Error:", "_ssl.c", "object at 0x")
"""What no user should have to read."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the command lines name, and files that are none of it."""
    found = tmp_path_factory.mktemp("commands")
    kafka = {"brokers": ["127.0.0.1:9"], "dead_letter": {"file": str(found / "letters")}}
    sources = {"kafka": kafka, "otlp": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"}}
    config = {"state": {"path": str(found / "state")}, "sources": sources, "admin": {"listen": "127.0.0.1:0"}}
    (found / "config").write_text(yaml.safe_dump(config))
    (found / "traces").write_bytes(request(rag(1)))
    contexts = [{"text": "The ledger listens on port 7443.", "useful": True}, {"text": "Lunch.", "useful": False}]
    label = {"run_id": "r", "who": "ann", "query": "Which port does the ledger use?", "contexts": contexts}
    (found / "labels").write_text(json.dumps({**label, "response": "7443"}))
    scores = [{"name": "p", "version": "v", "value": 0.5, "scale": 1}]
    lines = [{"trace_id": f"{n:032x}", "service": "s", "weight": 1.0, "scores": scores} for n in range(150)]
    (found / "scored").write_text("\n".join(map(json.dumps, lines)))
    (found / "letters").write_text("")
    (found / "folder").mkdir()
    (found / "empty").write_bytes(b"")
    (found / "binary").write_bytes(bytes(range(256)) * 20)
    return found


@pytest.fixture
def values(folder: Path) -> dict[str, str]:
    """What stands for the names in the command lines; nobody answers at the URL."""
    names = ("config", "traces", "labels", "scored", "letters")
    state = folder / "state"
    if not state.exists():
        assert run("anchors", "add", str(folder / "labels"), "-c", str(folder / "config")).code == 0
    out = folder / f"out-{len(list(folder.iterdir()))}.jsonl"
    return {**{name: str(folder / name) for name in names}, "out": str(out), "url": "http://127.0.0.1:9"}


@pytest.fixture
async def admin() -> AsyncIterator[str]:
    """The URL of a service."""
    record = AlarmRecord("a1", "shop", "p", "v1", rose=3600.0, began=0.0, reference=0.8, mean=0.5)
    found = AdminServer(Admin(listen="127.0.0.1:0"), FakeService(kept={"a1": record}), Metrics(), NoReview())
    await found.start()
    yield found.url
    await found.stop()


def readable(ended: Ended) -> str:
    """What was said. Fails where it is not what a user should have to read."""
    assert ended.code in DOCUMENTED, ended
    assert not [piece for piece in PIECES if piece in ended.out + ended.err], ended
    return ended.err


def test_every_command_and_every_file_parameter_is_known() -> None:
    assert set(LINES) == set(COMMANDS)
    assert {parameter for _, parameter in PARAMETERS} <= frozenset.union(*FILES.values())


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", ["20", "400"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(name: str, width: str, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    ended = run(*name.split(), flag)
    assert (ended.code, ended.err) == (0, "")
    assert " ".join(ended.out.split()).startswith(f"Usage: otel-ctxscore {name} ")


@pytest.mark.parametrize("name", FINITE)
def test_without_arguments(name: str, values: dict[str, str]) -> None:
    """Those that ask a service are pointed to one that is not there, not to one that may run on this machine."""
    ended = run(*name.split(), *(["--url", values["url"]] if "url" in LINES[name] else []))
    said = readable(ended).splitlines()
    assert len(said) <= 3
    assert bool(said) or ended.code == 0
    assert ended.code != 2 or said[-1] == f"Try `otel-ctxscore {name} --help`." or ":" in said[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_arguments(name: str) -> None:
    wrong = [["--frobnicate"]]
    if all(one.nargs != -1 for one in COMMANDS[name].params):
        wrong.append(["one", "too", "many"])
    for arguments in wrong:
        ended = run(*name.split(), *arguments)
        said = readable(ended)
        assert (ended.code, ended.out) == (2, "")
        assert len(said.splitlines()) <= 3


# ---- files that are none ----------------------------------------------------------------------------------------


def kind_of(parameter: str) -> str:
    return next(kind for kind, names in FILES.items() if parameter in names)


BAD = {"absent": "absent", "folder": "folder", "empty": "empty", "binary": "binary", "below a file": "empty/below"}

MAY_BE_EMPTY = {("check", "file"), ("replay-dead-letters", "file")}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
async def test_files_that_are_none(
    name: str, parameter: str, bad: str, folder: Path, values: dict[str, str], admin: str
) -> None:
    kind, path = kind_of(parameter), folder / BAD[bad]
    if kind == "output" and bad in ("absent", "empty", "binary"):
        path = folder / "empty" / "below"  # it would be written
    if name in SERVERS and (parameter, bad) == ("path", "empty"):
        path = folder / "folder"  # an empty configuration is a good one, and the command would stay up
    given = option(COMMANDS[name], parameter, str(path))
    more = {"cert": option(COMMANDS[name], "cert", str(folder / "binary"))} if parameter == "key" else {}
    ended = await asyncio.to_thread(run, *command_line(name, {**values, "url": admin}, **{**more, parameter: given}))
    said = readable(ended)
    if bad == "empty" and (kind == "option" or (name, parameter) in MAY_BE_EMPTY):
        return  # an empty configuration is a good one, and says nothing of brokers or where the state is
    assert ended.code == (2 if kind == "option" or name == "check" else 1)
    assert path.name in said or "https://" in said
    assert len(said.splitlines()) <= 4


@pytest.mark.parametrize("content", [b"", bytes(range(256)), None])
@pytest.mark.parametrize("name", READING)
async def test_standard_input_that_is_nothing(
    name: str, content: bytes | None, values: dict[str, str], admin: str
) -> None:
    line = command_line(name, {**values, "url": admin}, **from_standard_input(name))
    ended = await asyncio.to_thread(run, *line, stdin=content)
    assert (ended.code, "standard input" in readable(ended)) == (1, True), ended


# ---- other terminals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FINITE)
async def test_a_narrow_terminal_costs_nothing(
    name: str, values: dict[str, str], admin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = await asyncio.to_thread(run, *command_line(name, {**values, "url": admin}))
    monkeypatch.setenv("COLUMNS", "20")
    values["out"] += "2"
    narrow = await asyncio.to_thread(run, *command_line(name, {**values, "url": admin}))
    readable(wide)
    assert (narrow.code, bool(narrow.out)) == (wide.code, bool(wide.out)), narrow


def process(name: str, values: dict[str, str], stdin: int = subprocess.DEVNULL, **more: Any) -> subprocess.Popen[str]:
    changed = more.pop("changed", {})
    line = [sys.executable, "-m", "otel_ctxscore", *command_line(name, values, **changed)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", **more}
    found: subprocess.Popen[str] = subprocess.Popen(line, stdin=stdin, **options)
    return found


OFFLINE = [name for name in FINITE if "url" not in LINES[name]]


@pytest.mark.slow
@pytest.mark.parametrize("name", OFFLINE)
def test_a_foreign_locale_costs_nothing(name: str, values: dict[str, str]) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with process(name, values, env=environment) as started:
        out, err = started.communicate(timeout=60)
    readable(Ended(started.returncode, out, err))
    assert started.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", OFFLINE)
def test_a_reader_that_has_gone_is_no_fault(name: str, values: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with process(name, values, stdout=write) as started:
        os.close(write)
        _, err = started.communicate(timeout=60)
    readable(Ended(started.returncode, "", err))
    assert started.returncode == 0
    assert "Broken pipe" not in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["version", "reference", "score", "explain"])
def test_a_full_disk_is_said(name: str, values: dict[str, str]) -> None:
    with open("/dev/full", "w") as full, process(name, values, stdout=full) as started:
        _, err = started.communicate(timeout=60)
    assert started.returncode == 1
    assert "No space left on device" in readable(Ended(1, "", err))


# ---- broken off -------------------------------------------------------------------------------------------------


ASKING = [name for name in LINES if "url" in LINES[name] and name not in READING]


def interrupted(started: subprocess.Popen[str]) -> None:
    started.send_signal(signal.SIGINT)
    code = started.wait(20)
    assert started.stderr is not None
    err = started.stderr.read()
    assert (code, "Traceback" in err) == (130, False), err


@pytest.mark.slow
@pytest.mark.parametrize("name", READING)
async def test_ctrl_c_ends_what_waits_for_input(name: str, values: dict[str, str], admin: str) -> None:
    with process(name, {**values, "url": admin}, stdin=subprocess.PIPE, changed=from_standard_input(name)) as started:
        assert started.stdin is not None
        started.stdin.write("\n")
        started.stdin.flush()
        pipe = started.stdin.fileno()
        await asyncio.to_thread(wait_until, lambda: not unread(pipe), 60, "that it reads")
        await asyncio.to_thread(interrupted, started)


def unread(pipe: int) -> int:
    """Bytes that nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKING)
def test_ctrl_c_ends_what_waits_for_a_service(name: str, values: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with process(name, {**values, "url": url}) as started, silent.accept()[0]:
            interrupted(started)


@pytest.mark.slow
def test_a_second_service_names_the_real_cause(folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        for key, section in (("admin.listen", {"admin": {"listen": listen}}), ("sources.otlp.http", {})):
            sources = {"otlp": {"grpc": None, "http": listen if not section else "127.0.0.1:0"}}
            config = {"state": {"path": str(tmp_path)}, "admin": {"listen": "127.0.0.1:0"}, "sources": sources}
            (tmp_path / "c.yaml").write_text(yaml.safe_dump({**config, **section}))
            ended = run("serve", "-c", str(tmp_path / "c.yaml"))
            assert (ended.code, ended.out) == (2, "")
            assert ended.err == f"{key}: cannot listen on {listen}: Address already in use; does it run already?\n"
    assert not (tmp_path / "state.sqlite3").exists()
