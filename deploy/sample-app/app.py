"""A sample application: the demo's assistant, whose traces go by OTLP/gRPC to an endpoint until SIGTERM.

    python app.py http://collector:4317 --rate 2 --break-after 900

After `--break-after` seconds its retrieval breaks: the passage that is wanted stands last, or is not in the list.
"""

from __future__ import annotations

import argparse
import signal
import threading

from otel_ctxscore.demo.traffic import SERVICE, Traffic


def main() -> None:
    """Send turns until told to stop."""
    parser = argparse.ArgumentParser(description=f"Sends traces of the service {SERVICE!r}.")
    parser.add_argument("endpoint", help="where OTLP/gRPC goes, such as http://collector:4317")
    parser.add_argument("--rate", type=float, default=2.0, help="turns a second")
    parser.add_argument("--break-after", type=float, help="seconds until retrieval breaks; without, never")
    arguments = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    traffic = Traffic([arguments.endpoint], rate=arguments.rate)
    traffic.start()
    if not stop.wait(arguments.break_after):
        traffic.retriever.broken = True
        stop.wait()
    traffic.stop()


if __name__ == "__main__":
    main()
