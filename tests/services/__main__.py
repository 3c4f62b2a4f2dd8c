"""Install and start the services by hand: `python -m tests.services {list,install,start} [NAME...]`."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.services.cache import cache_root
from tests.services.catalogue import SERVICES, Service
from tests.services.errors import ServiceError


def show(services: Sequence[Service]) -> None:
    """One line a service."""
    print(f"cache: {cache_root()}")
    for one in services:
        state = "installed" if one.installed() else "-"
        print(f"{one.name:<13} {state:<10} {one.source}")


def install(services: Sequence[Service]) -> None:
    """Install what is missing, one after the other."""
    for one in services:
        if one.installed():
            print(f"{one.name}: is installed")
            continue
        print(f"{one.name}: installing from {one.source} ...", flush=True)
        begin = time.monotonic()
        one.install()
        print(f"{one.name}: installed in {time.monotonic() - begin:.0f} s", flush=True)


def start(services: Sequence[Service]) -> None:
    """Install what is missing, start all, print the endpoints, and stay until Ctrl-C or SIGTERM."""
    if programs := [one.name for one in services if one.start is None]:
        raise ServiceError(f"not a server but a program that tests run: {', '.join(programs)}")
    install([one for one in services if not one.installed()])
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        stack.enter_context(_interrupted_by_signals())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ctxscore-services-"))
        for one in services:
            _start(one, Path(folder), stack)
        print("Ctrl-C stops all and removes their data.", flush=True)
        while True:
            time.sleep(3600)


def _start(one: Service, folder: Path, stack: contextlib.ExitStack) -> None:
    assert one.start is not None
    server = stack.enter_context(one.start(folder / one.name))
    for what, where in {**server.endpoints(), "log": str(server.log)}.items():
        print(f"{one.name:<13} {what:<15} {where}", flush=True)


@contextlib.contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    # SIGINT as well: a shell's background command starts with it ignored.
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, 1 if a service could not be had (the reason on standard error), 2 for a usage error."""
    parser = argparse.ArgumentParser(prog="python -m tests.services", description="The real servers of the tests.")
    parser.add_argument("command", choices=("list", "install", "start"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SERVICES)}; default: all")
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.names) - set(SERVICES)):
        parser.error(f"unknown: {', '.join(unknown)}")
    if parsed.command == "start" and not parsed.names:
        parser.error("start needs at least one NAME")
    chosen = [SERVICES[name] for name in parsed.names or SERVICES]
    try:
        {"list": show, "install": install, "start": start}[parsed.command](chosen)
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
