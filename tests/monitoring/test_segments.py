"""Each value of a segment against the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.hours import SumsKey, SumsRow, Window
from otel_ctxscore.core.stats import Sums, TraceTotals, WeightedScore
from otel_ctxscore.monitoring.segments import segments
from tests.web.fakes import NoPast

EVER = Window(0.0, 1e12)
RUN = st.builds(WeightedScore, st.floats(1.0, 20.0), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
TRAFFIC = st.dictionaries(st.sampled_from(["", "eu", "us", "asia"]), st.lists(RUN, min_size=1, max_size=20), min_size=1)


class Kept(NoPast):
    """Judged runs of one series by the value of a segment."""

    def __init__(self, traffic: dict[str, list[WeightedScore]]) -> None:
        self.traffic = traffic

    async def segments(self, window: Window, *, segment: str | None = None, scorer: str | None = None) -> list[SumsRow]:
        return [
            SumsRow(
                0.0,
                SumsKey("shop", "index", value, "p", "v1", "judged"),
                sum((TraceTotals.of([run]).judged for run in runs), Sums()),
            )
            for value, runs in self.traffic.items()
        ]


def mean(runs: list[WeightedScore]) -> float | None:
    weight = sum(run.weight for run in runs)
    return sum(run.weight * run.score for run in runs) / weight if weight else None


@given(TRAFFIC)
async def test_the_rest_is_all_that_has_another_value(traffic: dict[str, list[WeightedScore]]) -> None:
    found = await segments(Kept(traffic), EVER)
    assert {view.value for view in found} == set(traffic)
    assert sum(view.share for view in found) == pytest.approx(1.0)
    for view in found:
        others = [run for value, runs in traffic.items() if value != view.value for run in runs]
        assert view.now.mean == pytest.approx(mean(traffic[view.value]))
        assert view.rest.mean == (pytest.approx(mean(others)) if others else None)
        assert view.n == len(traffic[view.value])
    below = [view.difference.value if view.difference else 0.0 for view in found]
    assert below == sorted(below)
