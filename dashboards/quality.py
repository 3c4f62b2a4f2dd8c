"""The board of scores: how good is retrieval, how surely, where is it worst, and which traces show it."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard

from dashboards.board import SCORER, SELECTED, SERVICE, VERSION, WINDOW, board, choice
from dashboards.panels import Panel, Query, band, heat, joined, lines, metric, number
from otel_ctxscore.telemetry import catalogue as c

_KEYS = "service, scorer, version"
_VARIABLES = [
    SERVICE,
    SCORER,
    VERSION,
    WINDOW,
    choice("segment", "Segment", f"{c.SEGMENT_ESTIMATOR.full_name}, segment"),
    choice("value", "Value", f'{c.SEGMENT_ESTIMATOR.full_name}{{segment="$segment"}}, value', several=True),
]
_SEGMENT = f'{SELECTED}, segment="$segment", value=~"$value"'


def quality() -> dashboard.Dashboard:
    """The board, with a row for each service."""
    built = board("quality", "ctxscore: quality", "Scores with what is known about them.", _VARIABLES)
    built = built.with_row(dashboard.Row("All services")).with_panel(_worst()).with_panel(_bad())
    built = built.with_panel(_empty()).with_row(dashboard.Row("$service").repeat("service"))
    for panel in (_estimate(), _scores(), _low_scores(), _evidence(), *_numbers(), _segments()):
        built = built.with_panel(panel)
    return built


def _worst() -> Panel:
    chosen = 'scorer=~"$scorer", version=~"$version"'
    names = {"mean": "mean", "lower": "lower", "upper": "upper", "n_eff": "n_eff", "low_n": "rests on little"}
    queries = [Query(f"ctxscore:estimate_{name}:$window{{{chosen}}}", legend) for name, legend in names.items()]
    target = Query(f"ctxscore:target{{{chosen}}}", "target")
    return joined(
        "Worst services",
        "Means over the chosen window, lowest first, with their 95 % intervals. Below 10 effective traces there is no "
        "interval; below 30 a difference between two services means little.",
        *queries,
        target,
        hidden=("__name__",),
    )


def _bad() -> Panel:
    return lines(
        "Bad runs",
        "Share of runs below `bad_below` in the last hour, and the limit at which it pages.",
        Query(f"ctxscore:bad_share:1h{{{SELECTED}}}", "{{service}} {{version}}"),
        Query(f"ctxscore:bad_limit_fast{{{SELECTED}}}", "limit of {{service}} {{version}}"),
        unit="percentunit",
        most=1,
    )


def _empty() -> Panel:
    return lines(
        "Empty retrievals",
        "Share of retrievals that found nothing. They have no score: an empty index is seen here.",
        Query('ctxscore:empty_share:$window{service=~"$service"}', "{{service}}"),
        unit="percentunit",
    )


def _leading(record: str, where: str, keys: str) -> str:
    """The record of the version that most of the traffic has at each moment: versions never share a mean, and a new
    one is an annotation."""
    prefix = record.partition("estimate")[0]
    most = f"topk by ({keys}) (1, ctxscore:{prefix}estimate_n_eff:$window{{{where}}})"
    by = f"{keys}, version"
    return f"max by ({keys}) (ctxscore:{record}:$window{{{where}}} and on ({by}) {most})"


def _estimate() -> Panel:
    ends = [Query(_leading(f"estimate_{end}", SELECTED, "service, scorer"), end) for end in ("mean", "lower", "upper")]
    return band(
        "Mean of $scorer with its 95 % interval",
        "Mean of all traffic, weighted for sampling, with the help of the local judge where two judge. No band: fewer "
        "than 10 effective traces, or the budget's fuse blew in the window.",
        *ends,
        Query(f"max by (service, scorer) (ctxscore:target{{{SELECTED}}})", "target"),
        Query(f"max by (service, scorer) ({metric(c.REFERENCE_RATIO, SELECTED)})", "reference"),
        width=16,
    ).height(9)


def _scores() -> Panel:
    buckets = metric(c.SCORE, SELECTED, "_bucket")
    return heat(
        "Distribution of scores",
        "Judged runs by score over time, not weighted. Dots are single runs; a click leads to the trace.",
        Query(f"sum by (le) (increase({buckets}[$__rate_interval]))", "{{le}}", exemplars=True),
        width=8,
    ).height(9)


def _low_scores() -> Panel:
    buckets = metric(c.SCORE, SELECTED, "_bucket")
    return lines(
        "Lowest tenth, with traces",
        "A tenth of the judged runs score below the line. Dots are single runs; a click leads to the trace.",
        Query(
            f"histogram_quantile(0.1, sum by (le) (rate({buckets}[$__rate_interval])))", "lowest tenth", exemplars=True
        ),
        unit="percentunit",
        most=1,
    )


def _evidence() -> Panel:
    return lines(
        "Evidence of the alarm",
        "1 is an alarm. Reached by chance once in the time set as `alarm.false_alarm`, however often one looks.",
        Query(f"avg by ({_KEYS}) ({metric(c.ALARM_RATIO, SELECTED)})", "{{version}}"),
        Query(f"max by ({_KEYS}) ({metric(c.ALARM_CLIPPED_RATIO, SELECTED)})", "share of weights cut, {{version}}"),
    )


def _numbers() -> list[Panel]:
    state = f"max by ({_KEYS}) ({metric(c.ALARM_STATE, SELECTED)})"
    return [
        number(
            "Effective traces",
            "What the weighted traces of the window are worth, as many equal ones.",
            Query(_leading("estimate_n_eff", SELECTED, "service, scorer")),
            unit="none",
            width=6,
        ),
        number(
            "Coverage",
            "Share of what was to be scored that has a value.",
            Query('ctxscore:coverage:$window{service=~"$service", scorer=~"$scorer"}'),
            unit="percentunit",
            width=6,
        ),
        number("Alarm", "-1: no reference yet, 0: quiet, 1: alarm.", Query(state, "{{version}}"), unit="none", width=6),
        number(
            "Truncated",
            "1: the budget's fuse blew in the window, the mean speaks of what was judged only.",
            Query(_leading("estimate_truncated", SELECTED, "service, scorer")),
            unit="none",
            width=6,
        ),
    ]


def _segments() -> Panel:
    keys = "service, segment, value, scorer"
    ends = [Query(_leading(f"segment_estimate_{end}", _SEGMENT, keys), end) for end in ("mean", "lower", "upper")]
    return (
        band("$segment = $value", "Mean within one segment, from sums of its own.", *ends, width=8)
        .repeat("value")
        .repeat_direction("h")
        .max_per_row(3)
    )
