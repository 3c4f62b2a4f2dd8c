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
    Way,
    alarms,
    drawing,
    learned,
    of,
    repeated,
    runs_until,
    stream,
    watched,
)
from tests.bench.faults.judges import SENSITIVITY, SPECIFICITY, full_verdicts, judged, kappa, local_judges
from tests.bench.faults.traffic import FAULTS, Fault, Found, Query, healthy, queries

SEED = 20240601
RESULTS = Path(__file__).parents[1] / "RESULTS-faults.md"
WAYS: tuple[Way, ...] = ("local", "sampled", "cascade", "full")
SCORES: dict[Score, str] = {"precision": "context_precision", "share": "share_useful"}
Lists = list[tuple[Query, list[Found]]]


def lists(asked: list[Query], fault: Fault, name: str) -> Lists:
    """What a retrieval finds for each query."""
    draw = random.Random(f"{SEED} {name}")
    return [(query, fault(query, draw)) for query in asked]


def pool(found: Lists, models: dict[str, LexicalModel]) -> Pool:
    return [judged(query, one, models[query.family], SEED) for query, one in found]


def rows(score: Score, calm: Pool, faulty: dict[str, Pool], times: int) -> Iterator[str]:
    """The table of one score."""
    references = {way: learned(calm, way, score, random.Random(f"{SEED} {way}")) for way in WAYS}
    yield "| what happens | by people | judge | judged of 1,000 | mean moves | plain alarm after | sequential after |"
    yield "|---|--:|---|--:|--:|--:|--:|"
    for name, found in {"nothing": calm, **faulty}.items():
        people = _mean(found, score) - _mean(calm, score)
        for way in WAYS:
            reference = references[way]
            window, count = watched(found, way, score, random.Random(f"{SEED} {way} {name}"), REFERENCE)
            mean = window.estimate.mean or 0.0
            plain, sequential = repeated(
                lambda turn, way=way, found=found, name=name, null=reference.null: alarms(  # type: ignore[misc]
                    stream(found, way, score, random.Random(f"{SEED} {way} {name} {turn}")),
                    null,
                    helped=drawing(way) is not None,
                ),
                times,
            )
            shown = (_false, _false) if name == "nothing" else (_runs, _runs)
            cells = [name, f"{people:+.3f}", way, f"{1000 * count / REFERENCE:.0f}", f"{mean - reference.mean:+.3f}"]
            yield f"| {' | '.join([*cells, shown[0](plain), shown[1](sequential)])} |"


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


def report(count: int, times: int) -> Iterator[str]:
    models = local_judges()
    asked = queries(count, random.Random(SEED))
    calm = lists(asked, healthy, "healthy")
    quiet = pool(calm, models)
    faulty = {name: pool(lists(asked, fault, name), models) for name, fault in FAULTS.items()}
    yield "# Which judge sees which retrieval fault"
    yield ""
    yield f"Written by `python -m tests.bench.faults` (seed {SEED}) from {len(asked)} labelled queries of `tools/judge/data`,"
    yield f"with {times} streams a cell. The local judge was fitted on other data sets than it judges here. `sampled` and"
    yield f"`cascade` draw by the product's own rules at rate {RATE}; their mean is the prediction-powered one."
    yield f"Reference: {REFERENCE:,} healthy runs. Both alarms test the same floor, {MARGIN} and 1.645 standard errors below"
    yield f"it. Plain: the 95 % interval of all runs since the fault lies below the floor, looked at every {LOOK} runs."
    yield f"Sequential: the product's own, in ticks of {TICK} runs. The median of the streams; at most {LONGEST:,} runs."
    yield ""
    yield quality(calm, quiet)
    for score, name in SCORES.items():
        yield ""
        yield f"## {name}"
        yield ""
        yield from rows(score, quiet, faulty, times)
    yield ""
    yield emptiness(next(found for name, found in faulty.items() if name.startswith("empty")))


def main() -> None:
    quick = "--quick" in sys.argv
    text = "\n".join(report(150, 3) if quick else report(900, 21)) + "\n"
    if not quick:
        RESULTS.write_text(text, encoding="utf8")
    print(text)


if __name__ == "__main__":
    main()
