"""The parts of the traffic beside each other: each value of a segment against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from otel_ctxscore.core.hours import SumsOf, SumsRow, Window
from otel_ctxscore.core.stats import Difference, Estimate, Sums, difference
from otel_ctxscore.monitoring.past import Past, Stages, added, estimated, truncated_pieces
from otel_ctxscore.monitoring.series import Series

ByValue = dict[str, dict[SumsOf, Sums]]


@dataclass(frozen=True, slots=True)
class SegmentView:
    """One value of a segment in one series. `value` is "" for runs without the attribute. `share` is that of the
    judged traffic, by weight; `rest` are all other values together, and `difference` is to them."""

    series: Series
    segment: str
    value: str
    share: float
    n: int
    now: Estimate
    rest: Estimate
    difference: Difference | None


async def segments(
    past: Past, window: Window, *, segment: str | None = None, scorer: str | None = None
) -> list[SegmentView]:
    """Each value of each segment, the lowest below the rest first."""
    rows = await past.segments(window, segment=segment, scorer=scorer)
    truncated = bool(truncated_pieces(await past.counts(replace(window, services=()))))
    found = [
        view
        for (series, name), values in by_value(rows).items()
        for view in _views(series, name, values, truncated=truncated)
    ]
    return sorted(
        found, key=lambda it: (it.difference.value if it.difference else 0.0, it.series, it.segment, it.value)
    )


def by_value(rows: Sequence[SumsRow]) -> dict[tuple[Series, str], ByValue]:
    """Sums by series and segment, then by value and stage."""
    found: dict[tuple[Series, str], ByValue] = {}
    for row in rows:
        key = row.key
        values = found.setdefault((Series(key.service, key.scorer, key.version), key.segment), {})
        stages = values.setdefault(key.value, {})
        stages[key.stage] = stages.get(key.stage, Sums()) + row.sums
    return found


def _views(series: Series, segment: str, values: ByValue, *, truncated: bool) -> list[SegmentView]:
    whole = added(values.values()).get("judged", Sums()).w
    found = []
    for (value, stages), others in zip(values.items(), _rests(list(values.values())), strict=True):
        judged = stages.get("judged", Sums())
        now, rest = estimated(stages, truncated=truncated), estimated(others, truncated=truncated)
        share = judged.w / whole if whole > 0 else 0.0
        found.append(SegmentView(series, segment, value, share, round(judged.n), now, rest, difference(now, rest)))
    return found


def _rests(parts: Sequence[Stages]) -> list[Stages]:
    """For each part all others together. They are added up, for a difference of sums would keep their rounding."""
    nothing: Stages = {}
    before = list(accumulate(parts, lambda a, b: added((a, b)), initial=nothing))
    after = list(accumulate(reversed(parts), lambda a, b: added((a, b)), initial=nothing))[::-1]
    return [added((early, late)) for early, late in zip(before[:-1], after[1:], strict=True)]
