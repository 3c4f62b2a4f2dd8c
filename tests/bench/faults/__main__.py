"""`python -m tests.bench.faults`: which judge sees which retrieval fault, and how soon. Needs scikit-learn.

Healthy traffic made from labelled data, then one of six faults; the same under the local judge, `sampled`, `cascade`
and a full judge. Writes `tests/bench/RESULTS-faults.md`; `--quick` prints a short run and writes nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation, fmean

from otel_ctxscore.judges.lexical import LexicalModel
from tests.bench.faults.alarms import (
    LONGEST,
    LOOK,
    MARGIN,
    RATE,
    REFERENCE,
    TICK,
    Pool,
    Score,
    Seen,
    Way,
    alarms,
    drawing,
    learned,
    of,
    runs_until,
    stream,
    watched,
)
from tests.bench.faults.judges import SENSITIVITY, SPECIFICITY, full_verdicts, judged, kappa, local_judges
from tests.bench.faults.traffic import FAULTS, Fault, Found, Query, healthy, queries

SEED = 20240601
RESULTS = Path(__file__).parents[1] / "RESULTS-faults.md"
WAYS: tuple[Way, ...] = ("local", "sampled", "cascade", "full")
NOTHING = "nothing"
SOON = 1000
SCORES: dict[Score, str] = {"precision": "context_precision", "share": "share_useful"}
HEADER = f"""# Which judge sees which retrieval fault

Written by `python -m tests.bench.faults` (seed {SEED}) from {{queries}} labelled queries of `tools/judge/data`, with
{{streams}} streams a cell. The local judge was fitted on other data sets than it judges here. `sampled` and `cascade` draw
by the product's own rules at rate {RATE}; their mean is the prediction-powered one. How far a mean moves is taken from
{{runs}} runs. Each stream has a reference of its own, learned from {REFERENCE:,} healthy runs. Both alarms test the same
floor, {MARGIN} and 1.645 standard errors below it. Plain: the 95 % interval of all runs since the fault lies below the
floor, looked at every {LOOK} runs; its healthy streams are {LONGEST:,} runs long, and the longer it watches, the more often
it is wrong. Sequential: the product's own, in ticks of {TICK} runs, which may watch as long as it likes. The median of the
streams; at most {LONGEST:,} runs.
"""
Lists = list[tuple[Query, list[Found]]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated."""

    queries: int
    streams: int
    runs: int


def lists(asked: list[Query], fault: Fault, name: str) -> Lists:
    """What a retrieval finds for each query."""
    draw = random.Random(f"{SEED} {name}")
    return [(query, fault(query, draw)) for query in asked]


def pool(found: Lists, models: dict[str, LexicalModel]) -> Pool:
    return [judged(query, one, models[query.family], SEED) for query, one in found]


@dataclass(frozen=True, slots=True)
class Row:
    """One way of judging under one fault: how far the mean moves by people and by the judge, the share of runs that is
    judged, and the runs until each alarm, one a stream."""

    fault: str
    way: Way
    people: float
    moves: float
    judged: float
    plain: list[int | None]
    sequential: list[int | None]

    def line(self) -> str:
        shown = _false if self.fault == NOTHING else _runs
        cells = [self.fault, f"{self.people:+.3f}", self.way, f"{1000 * self.judged:.0f}", f"{self.moves:+.3f}"]
        return f"| {' | '.join([*cells, shown(self.plain), shown(self.sequential)])} |"


def row(score: Score, calm: Pool, fault: str, found: Pool, way: Way, size: Size) -> Row:
    """Streams of a pool, each against a reference learned from healthy runs of its own."""

    def stream_of(turn: int) -> Seen:
        reference = learned(calm, way, score, random.Random(f"{SEED} {way} healthy {turn}"))
        draw = random.Random(f"{SEED} {way} {fault} {turn}")
        return alarms(stream(found, way, score, draw), reference, helped=drawing(way) is not None)

    before, _ = watched(calm, way, score, random.Random(f"{SEED} before"), size.runs)
    after, judged = watched(found, way, score, random.Random(f"{SEED} after"), size.runs)
    seen = [stream_of(turn) for turn in range(size.streams)]
    return Row(
        fault,
        way,
        people=_mean(found, score) - _mean(calm, score),
        moves=(after.estimate.mean or 0.0) - (before.estimate.mean or 0.0),
        judged=judged / size.runs,
        plain=[one.plain for one in seen],
        sequential=[one.sequential for one in seen],
    )


def table(rows: list[Row]) -> Iterator[str]:
    yield "| what happens | by people | judge | judged of 1,000 | mean moves | plain alarm after | sequential after |"
    yield "|---|--:|---|--:|--:|--:|--:|"
    yield from (row.line() for row in rows)


def summary(rows: list[Row]) -> Iterator[str]:
    """Which faults each way of judging sees soon, by either score."""
    for way in WAYS:
        mine = [row for row in rows if row.way == way and row.fault != NOTHING]
        soon = [row.fault for row in mine if (runs_until(row.plain) or LONGEST) <= SOON]
        named = [fault for fault in FAULTS if fault in soon]
        yield f"* `{way}`: {', '.join(named) or 'none'}"


def _mean(found: Pool, score: Score) -> float:
    return fmean(of(one.people, score) for one in found if one is not None)


def _runs(seen: list[int | None]) -> str:
    middle = runs_until(seen)
    if middle is not None:
        return f"{middle:,.0f} runs"
    some = sum(one is not None for one in seen)
    return f"not in {LONGEST:,}" + (f" ({some} of {len(seen)})" if some else "")


def _false(seen: list[int | None]) -> str:
    return f"false in {sum(one is not None for one in seen)} of {len(seen)}"


def emptiness(found: Pool) -> str:
    """What tells of an empty index: no score does, for a run without contexts has none."""
    share = sum(one is None for one in found) / len(found)
    return (
        f"An empty index moves no score: runs without contexts are unscored (`no_contexts`). It shows in"
        f' `ctxscore_retrievals_total{{result="empty"}}`: the share of empty retrievals goes from 0 to {share:.2f}'
        f" at once, and three empty ones, which {3 / share:.0f} runs bring, are more than chance at a share of 1 %."
    )


def quality(calm: Lists, found: Pool) -> str:
    """How good the judges are on the healthy lists."""
    kept = [one for one in found if one is not None]
    full = kappa(
        [pair for q, one in calm for pair in zip([f.useful for f in one], full_verdicts(q, one, SEED), strict=True)]
    )
    said = [
        ((v.useful or 0) >= 0.5, f.useful)
        for (_, one), j in zip(calm, found, strict=True)
        if j is not None
        for f, v in zip(one, j.screened.verdicts, strict=True)
    ]
    rho = correlation([j.expected.precision for j in kept], [j.full.precision for j in kept])
    return (
        f"On the healthy lists: kappa with people {kappa(said):.2f} (local), {full:.2f} (full: sensitivity"
        f" {SENSITIVITY}, specificity {SPECIFICITY}, errors alike within a query); what the local judge lets expect of a"
        f" list correlates {rho:.2f} with the full judge's average precision."
    )


def report(size: Size) -> Iterator[str]:
    models = local_judges()
    asked = queries(size.queries, random.Random(SEED))
    calm = lists(asked, healthy, "healthy")
    quiet = pool(calm, models)
    faulty = {name: pool(lists(asked, fault, name), models) for name, fault in FAULTS.items()}
    rows = {
        score: [
            row(score, quiet, name, found, way, size)
            for name, found in {NOTHING: quiet, **faulty}.items()
            for way in WAYS
        ]
        for score in SCORES
    }
    yield HEADER.format(queries=len(asked), streams=size.streams, runs=f"{size.runs:,}")
    yield quality(calm, quiet)
    yield ""
    yield f"Seen within {SOON:,} runs by the plain alarm on either score, in the median stream:"
    yield ""
    yield from summary([one for found in rows.values() for one in found])
    yield ""
    yield emptiness(next(found for name, found in faulty.items() if name.startswith("empty")))
    for score, name in SCORES.items():
        yield f"\n## {name}\n"
        yield from table(rows[score])


def main() -> None:
    quick = "--quick" in sys.argv
    text = "\n".join(report(Size(150, 3, 2000) if quick else Size(900, 21, 50_000))) + "\n"
    if not quick:
        RESULTS.write_text(text, encoding="utf8")
    print(text)


if __name__ == "__main__":
    main()
