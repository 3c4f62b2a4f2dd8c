"""Two replicas whose metrics a real Prometheus scrapes, and the shipped rules at a test's pace."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from otel_ctxscore.telemetry import Metrics
from tests.services.process import HOST, wait_until
from tests.services.prometheus import Prometheus

SHIPPED = Path(__file__).parents[3] / "deploy" / "prometheus"
SCRAPED = "ctxscore_closed_traces_total"


@contextlib.contextmanager
def exposed(*replicas: Metrics) -> Iterator[list[str]]:
    """Serve the metrics of each; gives their addresses, HOST:PORT."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(_served(metrics)) for metrics in replicas]


@contextlib.contextmanager
def _served(metrics: Metrics) -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, content_type = asyncio.run(metrics.render(self.headers.get("Accept", "")))
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # a scrape that was given up
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((HOST, 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"{HOST}:{server.server_port}"
        server.shutdown()


def quick_rules(folder: Path, *, wait: str | None = None) -> list[Path]:
    """The shipped rules, evaluated as often as the server says; alerts wait for `wait` where it is given."""
    files = []
    for shipped in sorted(SHIPPED.glob("*ing*.yml")):
        content: dict[str, Any] = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        for group in content["groups"]:
            del group["interval"]
            for rule in group["rules"]:
                if "alert" in rule and wait is not None:
                    rule["for"] = wait
        file = folder / shipped.name
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        files.append(file)
    return files


def wait_for_scrapes(prometheus: Prometheus, replicas: int) -> None:
    """Until every replica was scraped, so that what is counted from now on is an increase."""
    counted = f'count(count by (instance) ({SCRAPED}{{closed="idle"}})) == {replicas}'
    wait_until(lambda: prometheus.query(counted), 30, "a scrape of every replica")


def recorded(prometheus: Prometheus, names: Sequence[str], window: str) -> dict[str, dict[frozenset[Any], float]]:
    """The values of records of one window, all of the same evaluation: by name, then by the labels."""
    pattern = "|".join(names)
    series = prometheus.query(f'{{__name__=~"ctxscore:({pattern}):{window}"}}[30s]')
    moments = sorted({float(time) for one in series for time, _ in one["values"]})
    moment = moments[-2]  # the last evaluation may be under way
    found: dict[str, dict[frozenset[Any], float]] = {name: {} for name in names}
    for one in series:
        labels = dict(one["metric"])
        name = labels.pop("__name__").split(":")[1]
        values = {float(time): float(value) for time, value in one["values"]}
        if moment in values:
            found[name][frozenset(labels.items())] = values[moment]
    return found
