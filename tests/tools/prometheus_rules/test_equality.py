"""The recording rules on a real Prometheus give what the Python code gives on the same sums.

Two replicas are scraped; whatever `increase()` made of their counters is the input of both sides.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from otel_ctxscore.config.model import Target
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.stats import (
    CELLS,
    Baseline,
    Estimate,
    Stage,
    Sums,
    TraceTotals,
    WeightedScore,
    compare,
    estimate,
)
from otel_ctxscore.core.stats.drift import POINTS
from otel_ctxscore.core.stats.quantiles import chi_square
from otel_ctxscore.telemetry import Evaluator, Metrics
from otel_ctxscore.telemetry import catalogue as c
from tests.services.fixtures import need
from tests.services.process import wait_until
from tests.services.prometheus import Prometheus
from tests.tools.prometheus_rules.replicas import exposed, quick_rules, recorded, wait_for_scrapes
from tools.prometheus_rules.series import WINDOWS

SCORER, VERSION = "context_precision", "v1"
CASES, USUAL = 45, 15
ESTIMATES = ("estimate_mean", "estimate_lower", "estimate_upper", "estimate_n_eff", "estimate_lambda")
FLAGS = ("estimate_low_n", "estimate_truncated")


@dataclass(frozen=True)
class Case:
    """One series: traces as runs (weight when screened, weight when judged or 0, y, f), and whether f is there."""

    traces: Sequence[Sequence[tuple[float, float, float, float]]]
    two_judges: bool

    @property
    def stages(self) -> tuple[Stage, ...]:
        return ("screened", "judged") if self.two_judges else ("judged",)

    def sums(self, stage: Stage, replica: int) -> Sums:
        """The sums of the traces that the replica had."""
        total = Sums()
        for runs in self.traces[replica::2]:
            if stage == "screened":
                total += TraceTotals.of(WeightedScore(w, cheap=f) for w, _, _, f in runs).screened
            else:
                kept = [WeightedScore(w, y, f if self.two_judges else 0) for _, w, y, f in runs if w]
                total += TraceTotals.of(kept).judged
        return total


HUNDREDTHS = st.integers(0, 100).map(lambda n: n / 100)
SCORES = st.one_of(st.sampled_from([0.0, 1.0]), HUNDREDTHS)
WEIGHTS = st.sampled_from([1.0, 1.0, 2.0, 5.0, 20.0, 1000.0])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Few or many traces; scores all alike, or not; a cheap score that follows, is constant, or is nonsense."""
    dice = draw(st.randoms(use_true_random=False))
    many = draw(st.sampled_from([1, 3, 12, 40, 100, 300]))
    scores = draw(st.lists(SCORES, min_size=1, max_size=5))
    weights = draw(st.lists(WEIGHTS, min_size=1, max_size=3))
    follows = draw(st.sampled_from([-1.0, 0.0, 0.5, 1.5, 1.5]))
    noise = draw(st.sampled_from([0.0, 0.2, 1.0]))
    rate = draw(st.sampled_from([1, 2, 10]))
    traces = []
    for number in range(many):
        w, judged = dice.choice(weights), number % rate == 0
        runs = []
        for _ in range(dice.choice([1, 1, 3])):
            y = dice.choice(scores)
            f = round(abs(0.4 + follows * y + noise * dice.random()), 3)
            runs.append((w, w * rate * judged, y, f))
        traces.append(runs)
    return Case(traces, draw(st.booleans()))


def drawn(number: int) -> list[Case]:
    """As many cases in one batch."""
    found: list[Case] = []

    once = settings(max_examples=number, phases=[Phase.generate], derandomize=True, database=None, deadline=None)

    @settings(once, suppress_health_check=list(HealthCheck))
    @given(cases())
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found[:number]


def usual(seed: int) -> Case:
    """What two judges give: a cheap score that knows something, and an LLM for one trace in four."""
    dice = random.Random(seed)
    traces = []
    for number in range(120):
        w, y = dice.choice([1.0, 1.0, 5.0]), dice.choice([0.0, 0.5, 0.8333, 1.0, 1.0])
        f = round(0.3 * y + dice.random(), 3)
        traces.append([(w, w * 4 * (number % 4 == 0), y, f)])
    return Case(traces, True)


class Fleet:
    """Two replicas with the cases as services `s0`, `s1`, ... (and as segments), and one service for drift."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = {f"s{number}": case for number, case in enumerate(cases)}
        target = Target(service="drifting", scorer=SCORER, target=0.8, bad_below=0.5)
        self.replicas = [Metrics([SCORER], targets=[target]) for _ in range(2)]
        for metrics in self.replicas:
            metrics.declare_evaluator(Evaluator(SCORER, VERSION, "local", "m", "context_precision/ap", ("judged",)))
            metrics.service("drifting")
            for service, case in self.cases.items():
                for stage in case.stages:
                    self._add(metrics, service, stage, Sums())
        self.scores = [random.Random(7).choice([0.0, 0.05, 0.1, 0.3, 0.45, 0.8, 0.95, 1.0, 1.0]) for _ in range(400)]
        self.baseline = Baseline.pin([40, 10, 0, 5, 20, 20, 0, 30, 40, 60, 100, 175], 500.0)

    def _add(self, metrics: Metrics, service: str, stage: Stage, sums: Sums) -> None:
        terms = sums.terms(stage)
        metrics.estimator(service, SCORER, VERSION, stage, terms)
        metrics.segment_estimator(service, ("index", "blue"), SCORER, VERSION, stage, terms)

    def count(self) -> None:
        """Everything happens."""
        for number, metrics in enumerate(self.replicas):
            for service, case in self.cases.items():
                for stage in case.stages:
                    self._add(metrics, service, stage, case.sums(stage, number))
            scores = self.scores[number::2]
            for score in scores:
                metrics.evaluated(_evaluation(score))
            metrics.evaluated(_evaluation(None))
            judged = sum((TraceTotals.of([WeightedScore(2.0, score)]).judged for score in scores), Sums())
            metrics.estimator("drifting", SCORER, VERSION, "judged", judged.terms("judged"))
            self._pin(metrics)

    def _pin(self, metrics: Metrics) -> None:
        series = "drifting", SCORER, VERSION
        for cell, share, group in zip(CELLS, self.baseline.shares, self.baseline.groups, strict=True):
            metrics.watch(c.BASELINE_SHARE, partial(float, share), *series, cell, str(group))
        metrics.watch(c.BASELINE_N_EFF, lambda: self.baseline.n_eff, *series)
        for point in POINTS:
            metrics.watch(c.DRIFT_FLOOR, partial(chi_square, point, self.baseline.group_count - 1), *series, str(point))


def _evaluation(value: float | None) -> Evaluation:
    contexts = [] if value is None else [Context("text")]
    run = RagRun("q", [Retrieval(contexts)], service="drifting", probability=0.5)
    reason = Reason.NO_CONTEXTS if value is None else None
    score = Score(SCORER, "context_precision/ap", VERSION, value, unscored=reason, retrieval=0, ratio=value)
    return Evaluation(run, None, [score], TraceOutcome.SCORED, judged_by=JudgedBy("local", "m", VERSION))


@dataclass(frozen=True)
class Scraped:
    """What the rules recorded."""

    fleet: Fleet
    prometheus: Prometheus


@pytest.fixture(scope="module")
def scraped(services_folder: Path) -> Iterator[Scraped]:
    need("prometheus")
    fleet, folder = Fleet([*drawn(CASES), *map(usual, range(USUAL))]), services_folder / "equality"
    folder.mkdir()
    every = {"global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"}}
    with (
        exposed(*fleet.replicas) as addresses,
        Prometheus(folder / "prometheus", addresses, quick_rules(folder), config=every) as prometheus,
    ):
        wait_for_scrapes(prometheus, 2)
        fleet.count()
        seen = "count(count_over_time(ctxscore:bad_share:{window}[1m]) >= 3)"
        for window in WINDOWS:
            wait_until(partial(prometheus.query, seen.format(window=window)), 60, "records")
        yield Scraped(fleet, prometheus)


def _sums(found: dict[frozenset[Any], float]) -> dict[frozenset[Any], dict[str, Sums]]:
    """Recorded sums by series, then by stage."""
    terms: dict[frozenset[Any], dict[str, dict[str, float]]] = {}
    for labels, value in found.items():
        series = dict(labels)
        stage, term = series.pop("stage"), series.pop("term")
        terms.setdefault(frozenset(series.items()), {}).setdefault(stage, {})[term] = value
    return {series: {stage: Sums.of_terms(one) for stage, one in stages.items()} for series, stages in terms.items()}


def _close(recorded: float | None, computed: float | None) -> bool:
    if recorded is None or computed is None:
        return recorded is computed
    return math.isclose(recorded, computed, rel_tol=1e-9, abs_tol=1e-12)


def _of(found: Estimate, name: str) -> float | None:
    if found.mean is None:
        return None
    return {"estimate_mean": found.mean, "estimate_lower": found.lower, "estimate_upper": found.upper,
            "estimate_n_eff": found.n_eff, "estimate_lambda": found.lambda_}[name]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("prefix", ["", "segment_"])
def test_estimates_are_those_of_python(scraped: Scraped, prefix: str, window: str) -> None:
    names = [prefix + name for name in ("estimator_sum", *ESTIMATES)]
    found = recorded(scraped.prometheus, names, window)
    sums = _sums(found[prefix + "estimator_sum"])
    assert len(sums) >= CASES + USUAL
    wrong = []
    for series, stages in sums.items():
        computed = estimate(stages.get("screened"), stages["judged"])
        for name in ESTIMATES:
            rule, code = found[prefix + name].get(series), _of(computed, name)
            if not _close(rule, code):
                wrong.append((dict(series), name, rule, code))
    assert not wrong
    known = [estimate(stages.get("screened"), stages["judged"]) for stages in sums.values()]
    assert sum(one.lower is not None for one in known) > USUAL
    assert sum(0 < one.lambda_ < 1 for one in known) > USUAL / 2
    assert any(one.mean is not None and one.lower is None for one in known)


@pytest.mark.parametrize("window", WINDOWS)
def test_flags(scraped: Scraped, window: str) -> None:
    found = recorded(scraped.prometheus, ["estimate_n_eff", *FLAGS], window)
    assert found["estimate_low_n"] == {series: float(n < 30) for series, n in found["estimate_n_eff"].items()}
    assert found["estimate_truncated"] == dict.fromkeys(found["estimate_n_eff"], 0.0)


@pytest.mark.parametrize("window", WINDOWS)
def test_drift_is_that_of_python(scraped: Scraped, window: str) -> None:
    found = recorded(
        scraped.prometheus, ["score_weight", "estimate_n_eff", "psi", "psi_floor", "ks", "ks_floor"], window
    )
    series = frozenset({"service": "drifting", "scorer": SCORER, "version": VERSION}.items())
    weights = [found["score_weight"][series | {("bucket", cell)}] for cell in CELLS]
    drift = compare(scraped.fleet.baseline, weights, found["estimate_n_eff"][series])
    assert drift.psi_floors is not None
    assert drift.ks_floors is not None
    assert found["psi"] == {series: pytest.approx(drift.psi, rel=1e-9)}
    assert found["ks"] == {series: pytest.approx(drift.ks, rel=1e-9)}
    assert found["ks_floor"] == {series: pytest.approx(drift.ks_floors[0], rel=1e-9)}
    floors = zip(POINTS, drift.psi_floors, strict=True)
    assert found["psi_floor"] == {
        series | {("level", str(level))}: pytest.approx(floor, rel=1e-9) for level, floor in floors
    }


@pytest.mark.parametrize("window", WINDOWS)
def test_shares(scraped: Scraped, window: str) -> None:
    found = recorded(scraped.prometheus, ["coverage", "empty_share", "bad_share"], window)
    scores = scraped.fleet.scores
    bad = sum(score < 0.5 for score in scores) / len(scores)
    assert list(found["coverage"].values()) == [pytest.approx(400 / 402, rel=1e-3)]
    assert list(found["empty_share"].values()) == [pytest.approx(2 / 402, rel=1e-2)]
    assert list(found["bad_share"].values()) == [pytest.approx(bad, rel=1e-2)]


def test_nothing_is_ever_nan_or_infinite(scraped: Scraped) -> None:
    series = scraped.prometheus.query('{__name__=~"ctxscore:.+"}')
    assert len(series) > 1000
    assert not [one["metric"] for one in series if not math.isfinite(float(one["value"][1]))]
