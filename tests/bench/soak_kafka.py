"""`python -m tests.bench.soak_kafka --kills 50 --runs 10000`: processes die at random moments, no run is lost.

Two or three replicas read a topic of three partitions, whose traces lie in three records each, interleaved. A random
one is killed (SIGKILL) at a random moment and started again, `--kills` times. At the end every run's evaluation must be
at the sink, and any further or changed one must bear `ctxscore.redelivered`. Exit 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path

from tests.io.kafka.trial import Found, Trial
from tests.services.catalogue import lacking
from tests.services.kafka import Kafka

RESULT = Path(__file__).parent / "RESULTS-kafka-soak.md"


def main() -> int:
    """Run the trial, print and, with --write, keep its result."""
    asked = _arguments()
    if missing := lacking("kafka"):
        sys.exit(missing)
    with tempfile.TemporaryDirectory() as folder, Kafka(Path(folder) / "kafka") as kafka:
        trial = Trial(kafka, Path(folder), asked.runs, asked.kills * 8.0, asked.replicas, seed=asked.seed)
        began = time.monotonic()
        trial.run(Trial.kill_one, asked.kills)
        found = trial.judge(trial.at_the_topic())
        found.seconds = time.monotonic() - began
    print(f"{asked.kills} kills of {asked.replicas} replicas, seed {asked.seed}: {found}")
    if asked.write:
        RESULT.write_text(_page(asked, found))
    return 0 if found.right else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 50), ("runs", 10_000), ("replicas", 2), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    return parser.parse_args()


def _page(asked: argparse.Namespace, found: Found) -> str:
    rows = {
        "runs": found.runs,
        "runs whose evaluation is not at the sink": found.missing,
        "evaluations that came again, marked `ctxscore.redelivered`": found.repeats - found.unmarked_repeats,
        "evaluations that came again without the mark": found.unmarked_repeats,
        "evaluations that changed (a part of a trace read again), marked": found.marked_changes,
        "evaluations that changed without the mark": found.unmarked_changes,
        "first evaluations that bear the mark, and so enter no sum": found.marked_firsts,
        "evaluations at the sink, repeats included": found.runs - found.missing + found.repeats,
        "traces that the counters of all processes say were scored, repeats included, as last scraped": found.counted,
    }
    return f"""# Kills under load, Kafka

`python -m tests.bench.soak_kafka --kills {asked.kills} --runs {asked.runs} --replicas {asked.replicas} --seed {asked.seed} --write`
on Apache Kafka 4.3.1, one broker, Python {platform.python_version()}, in {found.seconds:.0f} s.

{asked.replicas} replicas of `otel-ctxscore serve` read a topic of 3 partitions. Each trace lies in 3 records, between those of 39 others.
{asked.kills} times a random replica is killed (SIGKILL) at a random moment and started again. Metrics are scraped each second.

| | |
|---|---|
""" + "".join(f"| {what} | {value} |\n" for what, value in rows.items())


if __name__ == "__main__":
    sys.exit(main())
