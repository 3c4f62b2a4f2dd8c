"""What the alerts must do: when each fires, stays silent and resolves. Every check names all alerts that fire then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.promtool import (
    ALIVE,
    SCORER,
    Phase,
    Scenario,
    alert,
    recorded,
    scenario_file,
    series,
    service,
    values,
)

NOT_A_NUMBER = " ".join(["NaN"] * 90)
GOOD = Phase(60, 13)
FALLEN = (alert("CtxscoreBadRunsBurnRate", service="shop"), alert("CtxscoreBelowTarget", service="shop"))


def quality() -> Iterator[Scenario]:
    """The estimates' own alerts."""
    yield Scenario("no series at all", {}, {20: [], 40: [alert("CtxscoreNoData")]})
    yield Scenario("just started", ALIVE, {60: []})
    yield Scenario("two scores, both 0", ALIVE | service("shop", Phase(5), Phase(1, 2, 0.0), Phase(100)), {60: []})
    yield Scenario(
        "one bad run an hour", ALIVE | service("shop", *[Phase(59), Phase(1, 1, 0.0)] * 3), {60: [], 150: []}
    )
    yield Scenario("200 scores, mean .25", ALIVE | service("shop", Phase(5), Phase(25, 13, 0.25)), {4: [], 30: FALLEN})
    yield Scenario("200 scores, mean .875", ALIVE | service("shop", Phase(5), Phase(60, 13)), {30: [], 60: []})
    yield Scenario(
        "a few bad among many good",
        ALIVE | service("shop", *[Phase(9, 10, 1.0), Phase(1, 10, 0.0)] * 12),
        {60: [], 116: []},
    )
    yield Scenario(
        "one service quiet, another bad",
        ALIVE | service("quiet", GOOD, Phase(120)) | service("shop", GOOD, Phase(120, 100, 0.25)),
        {140: FALLEN},
    )
    yield Scenario(
        "a restart in the middle of good traffic",
        ALIVE | service("shop", GOOD, Phase(60, 13, restart=True)),
        {62: [], 90: []},
    )
    yield Scenario(
        "a restart in the middle of bad traffic",
        ALIVE | service("shop", Phase(60, 13, 0.25), Phase(60, 13, 0.25, restart=True)),
        {58: FALLEN, 62: FALLEN, 66: FALLEN, 110: FALLEN},
    )
    yield Scenario(
        "good again",
        ALIVE | service("shop", Phase(60, 13, 0.25), Phase(110, 50, 0.9375)),
        {58: FALLEN, 100: [FALLEN[1]], 170: []},
    )
    broken = dict.fromkeys(service("shop", GOOD), NOT_A_NUMBER)
    yield Scenario("every number is NaN", ALIVE | broken, {60: [], 90: []})


def alarm() -> Iterator[Scenario]:
    """The alarm that the process computes."""
    labels = {"service": "shop", **SCORER}
    pair = series(c.ALARM_RATIO, "0.5x20 1.5x20 0.4x20 0.05x60", **labels, instance="a")
    pair |= series(c.ALARM_RATIO, "0.5x20 1x20 0.4x20 0.05x60", **labels, instance="b")
    raised = [alert("CtxscoreAlarm", service="shop")]
    yield Scenario("the alarm", ALIVE | pair, {20: [], 25: raised, 45: raised, 61: raised, 69: raised, 80: []})
    alone = series(c.ALARM_RATIO, "1.5x60", **labels, instance="a") | series(
        c.ALARM_RATIO, "0x60", **labels, instance="b"
    )
    yield Scenario("evidence of one replica of two, below the threshold together", ALIVE | alone, {30: []})
    gap = series(c.ALARM_RATIO, "1.5x20 _x5 1.5x20", **labels)
    yield Scenario("the alarm over a restart", ALIVE | gap, {15: raised, 23: raised, 30: raised})
    yield Scenario("the alarm is NaN", ALIVE | series(c.ALARM_RATIO, NOT_A_NUMBER, **labels), {30: []})


def traffic() -> Iterator[Scenario]:
    """Coverage, empty retrievals, silence."""
    unscored = [alert("CtxscoreUnscored", service="shop")]
    half = service("shop", GOOD, Phase(60, 5, unscored=10), Phase(120, 20))
    yield Scenario("two of three unscored, then none", ALIVE | half, {60: [], 110: unscored, 230: []})
    one = ALIVE | service("shop", Phase(30), Phase(1, unscored=1), Phase(60))
    yield Scenario("one unscored run", one, {50: []})
    ten = service("shop", Phase(10), Phase(1, 1, unscored=9), Phase(40))
    yield Scenario("nine of ten unscored", ALIVE | ten, {30: unscored})
    empty = [alert("CtxscoreEmptyRetrievals", service="shop")]
    gone = service("shop", GOOD, Phase(60, 5, empty=5), Phase(120, 13))
    yield Scenario("half of the retrievals empty, then none", ALIVE | gone, {60: [], 110: empty, 230: []})
    yield Scenario("one empty retrieval", ALIVE | service("shop", Phase(30), Phase(1, empty=1), Phase(60)), {50: []})
    silent = [alert("CtxscoreNoData", service="shop")]
    stops = service("shop", GOOD, Phase(120), Phase(30, 13))
    traces = series(c.TRACES, "0+13x300", service="shop", outcome="not_rag")
    yield Scenario("traces come, none is scored", ALIVE | traces | stops, {60: [], 110: [], 170: silent, 200: []})
    yield Scenario("traffic stops on the first day", ALIVE | stops, {170: []})


def service_health() -> Iterator[Scenario]:
    """Judge, budget, lag, label cap."""
    model = {"tier": "llm", "model": "m"}
    failing = series(c.JUDGE_CALLS, "0+10x120", **model, result="ok")
    failing |= series(c.JUDGE_CALLS, "0x30 0+5x30 150x60", **model, result="judge_unavailable")
    yield Scenario(
        "the judge fails, then works", ALIVE | failing, {30: [], 50: [alert("CtxscoreJudgeFailing", **model)], 90: []}
    )
    once = series(c.JUDGE_CALLS, "0x30 1x60", **model, result="judge_unavailable")
    yield Scenario("one call fails, no other", ALIVE | once, {40: []})
    moved = series(c.ANCHOR_ALARM_RATIO, "0.2x30 1.2x30 0.1x30", **SCORER)
    yield Scenario("the judge moves", ALIVE | moved, {29: [], 40: [alert("CtxscoreJudgeDrift", **SCORER)], 70: []})
    fuse = series(c.BUDGET_OPEN, "1x20 0x2 1x60", window="minute", instance="a")
    fuse |= series(c.BUDGET_OPEN, "1x82", window="minute", instance="b")
    blown = [alert("CtxscoreBudgetFuse", window="minute")]
    yield Scenario("the fuse blows", ALIVE | fuse, {19: [], 30: blown, 60: []})
    late = series(c.OLDEST_WAITING, "5x20 400x30 5x30", instance="a", job="ctxscore")
    yield Scenario(
        "a run waits", ALIVE | late, {19: [], 40: [alert("CtxscoreLag", instance="a", job="ctxscore")], 60: []}
    )
    read = series(c.REQUESTS, "0+600x100", source="kafka", result="ok", job="ctxscore")
    behind = series(c.KAFKA_LAG, "100x20 90000x30 100x60", job="ctxscore")
    yield Scenario("lag", ALIVE | read | behind, {19: [], 45: [alert("CtxscoreLag", job="ctxscore")], 80: []})
    stuck = series(c.SINCE_POLL, "1x20 300x30 1x30", instance="a", job="ctxscore")
    yield Scenario(
        "the consumer stands", ALIVE | stuck, {19: [], 45: [alert("CtxscoreLag", instance="a", job="ctxscore")], 60: []}
    )
    capped = series(c.DROPPED_VALUES, "0x30 1x100", label="service")
    yield Scenario("a cap is hit", ALIVE | capped, {29: [], 50: [alert("CtxscoreLabelCap", label="service")], 110: []})


def days() -> Iterator[Scenario]:
    """What takes days: the records are the input."""
    moved = [alert("CtxscoreDrift", service="shop")]
    labels = {"service": "shop", **SCORER}
    floor = recorded("psi_floor", "6h", "0.3x2000", **labels, level="0.001")
    changed = recorded("psi", "6h", "0.05x700 0.4x500 0.05x800", **labels)
    yield Scenario("the distribution changes", ALIVE | floor | changed, {1000: [], 1100: moved, 1199: moved, 1240: []})
    single = recorded("psi", "6h", "0.05x700 0.4x300 0.05x800", **labels)
    yield Scenario("PSI is high in one window", ALIVE | floor | single, {800: [], 1080: [], 1300: []})
    noise = recorded("psi", "6h", "0.25x2000", **labels)
    yield Scenario("PSI is below its floor", ALIVE | floor | noise, {1100: []})
    small = recorded("psi_floor", "6h", "0.02x2000", **labels, level="0.001") | recorded(
        "psi", "6h", "0.08x2000", **labels
    )
    yield Scenario("PSI is certain, and small", ALIVE | small, {1100: []})
    silent = [alert("CtxscoreNoData", service="shop")]
    full, empty = "0+4x60 240x420 240-4x60", "0x900"  # office hours: 240 an hour from the second hour on
    office = " ".join([full, empty] * 2)
    yield Scenario(
        "nights are quiet", ALIVE | values(office), {500: [], 600: [], 1200: [], 1500: [], 2100: [], 2800: []}
    )
    missing = " ".join([full, "0x2400"])
    yield Scenario("yesterday's traffic is missing", ALIVE | values(missing), {1450: [], 1600: silent, 2200: []})
    gone = " ".join([full, "stale", "_x2400"])
    yield Scenario("the service's series are gone", ALIVE | values(gone), {1600: silent})
    week = " ".join(["0x1440"] * 2 + [full, empty] * 5 + ["0x1440"])
    yield Scenario(
        "a quiet day of the week",
        series(c.CLOSED_TRACES, "0+1x12000", closed="idle") | values(week),
        {7 * 1440 + 600: []},
    )


def scenario_files() -> dict[str, Callable[[], str]]:
    """The files of deploy/prometheus/tests by name."""
    alerting, both = ["../alerting.yml"], ["../recording.yml", "../alerting.yml"]
    return {
        "alerts_quality.yml": lambda: scenario_file(quality(), both, "2m"),
        "alerts_traffic.yml": lambda: scenario_file(traffic(), both, "2m"),
        "alerts_service.yml": lambda: scenario_file([*alarm(), *service_health()], alerting, "1m"),
        "alerts_days.yml": lambda: scenario_file(days(), alerting, "4m"),
    }
