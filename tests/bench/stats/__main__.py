"""`python -m tests.bench.stats [--quick] [--seed N] [--only PART] [--write]`: the goals of the statistics, measured."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.bench.stats import alarms, blames, drifts, estimates, labelled
from tests.bench.stats.goal import Row, table

PARTS = {
    "estimates": estimates.rows,
    "alarms": alarms.rows,
    "drift": drifts.rows,
    "anchors": blames.rows,
    "labels": labelled.rows,
}
RESULTS = Path(__file__).parent.parent / "RESULTS-stats.md"

HEAD = """# What the statistics measured

Written by `python -m tests.bench.stats --write{options}` with seed {seed}. Scores are average precision of five contexts
with much mass at 0 and 1. Every estimate, alarm, drift and blame comes from `otel_ctxscore.core.stats`; only the data is
drawn. Where a goal is a limit on a simulated rate, two Monte Carlo standard errors are granted.
"""


def main() -> int:
    """Measure, print the table, and write it where asked. Exit 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stats", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--seed", type=int, default=20240601)
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; may be given more than once")
    parser.add_argument("--write", action="store_true", help=f"write tests/bench/{RESULTS.name}")
    options = parser.parse_args()
    rows: list[Row] = []
    sections = []
    for name in options.only or PARTS:
        started = time.monotonic()
        found = PARTS[name](options.seed, options.quick)
        rows += found
        sections.append(f"## {name.capitalize()}\n\n{table(found)}\n")
        print(f"{sections[-1]}\n{name}: {time.monotonic() - started:.0f} s\n", flush=True)
    failed = sum(row.ok is False for row in rows)
    counts = f"{sum(row.ok is True for row in rows)} goals kept, {failed} missed.\n"
    print(counts)
    if options.write:
        head = HEAD.format(options=" --quick" if options.quick else "", seed=options.seed)
        RESULTS.write_text("\n".join([head, counts, *sections]), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
