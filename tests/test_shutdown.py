"""The process ends by itself, in the time that was given, whatever hangs."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.otlp import rag, request
from tests.services import http
from tests.services.process import HOST, wait_until
from tests.serving import Serving

pytestmark = pytest.mark.slow
GRACE = 3.0


@pytest.fixture
def silent() -> Iterator[str]:
    """HOST:PORT of a server that takes connections and never answers."""
    with socket.create_server((HOST, 0), backlog=100) as server:
        yield f"{HOST}:{server.getsockname()[1]}"


def busy(tmp_path: Path, silent: str, protocol: str) -> Serving:
    """A service whose sink hangs, with ten evaluations that wait for it."""
    sink = {"endpoint": f"http://{silent}", "protocol": protocol}
    config = {"sinks": {"otlp": sink}, "shutdown": {"grace": f"{GRACE:g}s"}}
    service = Serving(tmp_path, config)
    service.start()
    for number in range(1, 11):
        http.post(f"{service.http}/v1/traces", request(rag(number)))
    wait_until(lambda: 'outcome="scored",service="shop"} 10.0' in service.get("/metrics") or None, 20, "ten scores")
    return service


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.trouble("C53")
def test_a_sink_that_hangs_does_not_keep_the_process(tmp_path: Path, silent: str, protocol: str) -> None:
    service = busy(tmp_path, silent, protocol)
    began = time.monotonic()
    assert service.stop() == 0, service.log
    assert time.monotonic() - began < GRACE + 5
    assert "10 traces were abandoned" in service.log or "closed with 10 evaluations" in service.log
    assert "Traceback" not in service.log


@pytest.mark.trouble("C53")
def test_a_second_signal_leaves_at_once(tmp_path: Path, silent: str) -> None:
    service = busy(tmp_path, silent, "grpc")
    process = service.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: "draining" in service.log or None, 10, "the drain")
    began = time.monotonic()
    service.stop()
    assert time.monotonic() - began < GRACE / 2


@pytest.mark.trouble("C53")
def test_it_stops_while_kafka_cannot_be_reached(tmp_path: Path, silent: str) -> None:
    sources = {"otlp": None, "kafka": {"brokers": [silent]}}
    config = {"sources": sources, "shutdown": {"grace": f"{GRACE:g}s"}}
    service = Serving(tmp_path, config)
    service.start()
    began = time.monotonic()
    assert service.stop() == 0, service.log
    assert time.monotonic() - began < GRACE + 5


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with Serving(tmp_path / "first", {}) as first:
        second = Serving(tmp_path / "second", {"sources": first.config["sources"]})
        with pytest.raises(AssertionError):
            second.start()
        assert second.process is not None
        assert second.process.wait() == 2
        assert len([line for line in second.log.splitlines() if first.grpc in line]) == 1
        assert "Traceback" not in second.log
