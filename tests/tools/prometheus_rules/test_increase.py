"""What the extrapolation of `increase()` does to an interval, over counters scraped every 15 seconds."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from otel_ctxscore.core.stats import Sums, TraceTotals, WeightedScore, estimate_judged
from tests.services.fixtures import need
from tests.services.prometheus import Prometheus, promtool
from tools.prometheus_rules.estimates import SERVICES, estimate_rules

SCRAPE, SCRAPES, WINDOW = 15, 120, 300
SERIES = 'service="shop",scorer="context_precision",version="v1",stage="judged"'


class Counters:
    """Cumulative sums of two replicas at each of their scrapes."""

    def __init__(self, start: float) -> None:
        dice = random.Random(1)
        self.scrapes: list[list[tuple[float, Sums]]] = []
        for _ in range(2):
            at, total, seen = start + dice.uniform(0, SCRAPE), Sums(), []
            for _ in range(SCRAPES):
                seen.append((round(at, 3), total))
                for _ in range(dice.randrange(8)):
                    weight = dice.choice([1.0, 5.0])
                    total += TraceTotals.of([WeightedScore(weight, dice.choice([0.0, 0.5, 1.0, 1.0]))]).judged
                at += SCRAPE
            self.scrapes.append(seen)

    def openmetrics(self) -> str:
        lines = ["# TYPE ctxscore_estimator_sum counter"]
        for term in Sums().terms("judged"):
            for instance, seen in enumerate(self.scrapes):
                labels = f'{{{SERIES},term="{term}",instance="{instance}"}}'
                lines += [f"ctxscore_estimator_sum_total{labels} {getattr(sums, term)!r} {at}" for at, sums in seen]
        return "\n".join([*lines, "# EOF", ""])

    def gained(self, until: float) -> Sums:
        """What lies between the first and the last scrape of the window, of both replicas."""
        total = Sums()
        for seen in self.scrapes:
            inside = [sums for at, sums in seen if until - WINDOW < at <= until]
            total += inside[-1] - inside[0]
        return total


@pytest.fixture
def counters(services_folder: Path) -> Iterator[tuple[Counters, Prometheus]]:
    need("prometheus")
    folder = services_folder / "increase"
    folder.mkdir()
    counters = Counters(time.time() - SCRAPE * SCRAPES - 600)
    (folder / "metrics").write_text(counters.openmetrics())
    made = promtool("tsdb", "create-blocks-from", "openmetrics", folder / "metrics", folder / "data")
    assert made.ok, made.output
    with Prometheus(folder) as prometheus:
        yield counters, prometheus


def test_a_window_of_twenty_scrapes_costs_five_percent_of_the_variance(
    counters: tuple[Counters, Prometheus],
) -> None:
    known, prometheus = counters
    sums = estimate_rules(SERVICES, "5m")[0]
    last = known.scrapes[0][-1][0]
    for back in range(0, SCRAPE * SCRAPES - 2 * WINDOW, 97):
        until = last - back + 0.5  # no scrape lies on the edge: versions differ in whether it counts
        answer = prometheus.get("query", query=sums.expression, time=str(until))["result"]
        rule = estimate_judged(Sums.of_terms({one["metric"]["term"]: float(one["value"][1]) for one in answer}))
        true = estimate_judged(known.gained(until))
        assert rule.variance is not None
        assert true.variance is not None
        assert rule.mean == pytest.approx(true.mean, abs=0.2 * true.variance**0.5)
        assert 0.945 <= rule.variance / true.variance <= 1.005
