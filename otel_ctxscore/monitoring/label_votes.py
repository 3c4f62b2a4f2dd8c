"""Labels of several people on the same run: one voice a context, and how far people agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

from otel_ctxscore.core.model import LEVELS
from otel_ctxscore.core.stats.agreement import Interval, Pair, agreement, quadratic_kappa
from otel_ctxscore.monitoring.labels import VERDICT_FIELDS, LabelledRun, parse

Said = Mapping[str, Mapping[str, Any]]
"""What one person says of a run: verdict fields by the text of the context."""


@dataclass(frozen=True, slots=True)
class People:
    """How far people agree with each other, over all pairs of people who looked at the same context: no judge can be
    asked to agree with them more. `runs` are those that several people labelled, `contexts` those of which at least
    two say whether they are useful. Kappa is None where nothing can be said; `relevance` is the quadratic one."""

    people: int
    runs: int
    contexts: int
    useful: Interval | None
    used: Interval | None
    relevance: float | None


@dataclass(frozen=True, slots=True)
class Votes:
    """Labels with one voice a context. `runs` has each labelled run once, in the order in which they first stand.
    `replaced` counts lines in whose place the same person said something later; `tied` verdicts that are left open,
    since as many people say one thing as another. `people` is None where no run has labels by two."""

    runs: Sequence[LabelledRun]
    people: People | None
    replaced: int
    tied: int


def count_votes(labelled: Iterable[LabelledRun]) -> Votes:
    """The voices of all lines. Of each person the latest line of a run counts, by `at`, then by its place; lines that
    nobody signed are one person's. Of a context, what most people say holds, and a tie leaves it open."""
    by_run: dict[Hashable, dict[str, list[LabelledRun]]] = {}
    for one in labelled:
        by_run.setdefault(_run_of(one), {}).setdefault(str(one.line.get("who") or ""), []).append(one)
    latest = [[sorted(lines, key=_at)[-1] for lines in people.values()] for people in by_run.values()]
    merged = [_merged(lines) for lines in latest]
    return Votes(
        runs=[run for run, _ in merged if run is not None],
        people=_people([lines for lines in latest if len(lines) > 1]),
        replaced=sum(len(lines) - 1 for people in by_run.values() for lines in people.values()),
        tied=sum(tied for _, tied in merged),
    )


def _run_of(labelled: LabelledRun) -> Hashable:
    """The same for lines of the same run: its id, else all its text."""
    run, known = labelled.run, labelled.line.get("run_id")
    texts = known if isinstance(known, str) and known else tuple(context.text for context in run.judged)
    return run.service, run.query, run.response, texts


def _at(line: LabelledRun) -> float:
    return _seconds(line.line.get("at"))


def _seconds(at: object) -> float:
    """Unix seconds; a line that does not say when is the earliest."""
    try:
        when = datetime.fromisoformat(at) if isinstance(at, str) else None
        return when.replace(tzinfo=when.tzinfo or UTC).timestamp() if when is not None else float("-inf")
    except (ValueError, OverflowError):
        return float("-inf")


def _merged(lines: Sequence[LabelledRun]) -> tuple[LabelledRun | None, int]:
    """One label of those of several people, and how many verdicts a tie left open. None where that leaves nothing."""
    if len(lines) == 1:
        return lines[0], 0
    said = [_said(line) for line in lines]
    contexts: dict[str, Any] = {}
    for line in sorted(lines, key=lambda line: -len(line.run.judged)):  # the order is that of the longest list
        for context in line.line["contexts"]:
            contexts.setdefault(context["text"], context)
    votes = {(text, name): _most(_voices(said, text, name)) for text in contexts for name in VERDICT_FIELDS}
    merged = [
        {**context, **{name: votes[text, name][0] for name in VERDICT_FIELDS}, "note": None}
        for text, context in contexts.items()
    ]
    tied = sum(is_tie for _, is_tie in votes.values())
    if not any(vote is not None for vote, _ in votes.values()):
        return None, tied
    who = ", ".join(sorted(str(line.line["who"]) for line in lines if line.line.get("who")))
    return parse({**lines[0].line, "who": who or None, "contexts": merged}), tied


def _said(line: LabelledRun) -> Said:
    return {context["text"]: context for context in line.line["contexts"]}


def _voices(said: Iterable[Said], text: str, name: str) -> list[Any]:
    given = (one.get(text, {}).get(name) for one in said)
    return [value for value in given if value is not None]


def _most(voices: Sequence[Any]) -> tuple[Any, bool]:
    """What most say, and whether a tie left it open."""
    ranked = Counter(voices).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return None, True
    return (ranked[0][0] if ranked else None), False


def _people(together: Sequence[Sequence[LabelledRun]]) -> People | None:
    if not together:
        return None
    ranks = {level: rank for rank, level in enumerate(LEVELS)}
    runs = [[_said(line) for line in lines] for lines in together]
    levels = [(ranks[a], ranks[b]) for said in runs for a, b in _pairs(said, "relevance")]
    return People(
        people=len({str(line.line.get("who") or "") for lines in together for line in lines}),
        runs=len(together),
        contexts=sum(len(_voices(said, text, "useful")) > 1 for said in runs for text in _texts(said)),
        useful=_kappa(runs, "useful"),
        used=_kappa(runs, "used"),
        relevance=quadratic_kappa(levels),
    )


def _kappa(runs: Sequence[Sequence[Said]], name: str) -> Interval | None:
    """Of all pairs, each in both orders, so that nobody is the measure of the other; the interval is over runs."""
    return agreement([[Pair(float(a), b) for a, b in _pairs(said, name)] for said in runs]).kappa


def _pairs(said: Sequence[Said], name: str) -> Iterator[tuple[Any, Any]]:
    """What each two people say of the same context."""
    for text in _texts(said):
        yield from permutations(_voices(said, text, name), 2)


def _texts(said: Sequence[Said]) -> list[str]:
    return list(dict.fromkeys(text for one in said for text in one))
