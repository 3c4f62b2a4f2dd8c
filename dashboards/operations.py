"""The board of the service: what becomes of traces, what judging costs, and whether anything lags."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from dashboards.board import SERVICE, board
from dashboards.panels import Panel, Query, lines, metric, number, stacked
from otel_ctxscore.telemetry import catalogue as c

_EVERY = "$__rate_interval"


def operations() -> dashboard.Dashboard:
    """The board."""
    built = board("operations", "ctxscore: operations", "The service itself.", [SERVICE])
    for title, panels in _rows().items():
        built = built.with_row(dashboard.Row(title))
        for panel in panels:
            built = built.with_panel(panel)
    return built


def _rows() -> dict[str, list[Panel]]:
    return {
        "From traces to scores": [*_funnel(), _outcomes(), _reasons(), _coverage(), _emitted()],
        "Judge": [*_cost(), _calls(), _latency(), _tokens(), _spent_by_hour()],
        "Ingest and assembly": [_requests(), _spans(), _open(), _closed()],
        "Lag and limits": [_waiting(), _lag(), _budget(), _capped()],
    }


def _total(entry: c.Metric, where: str = "") -> str:
    return f"sum(increase({metric(entry, where)}[$__range]))"


def _by(label: str, entry: c.Metric, where: str = "") -> str:
    return f"sum by ({label}) (increase({metric(entry, where)}[{_EVERY}]))"


def _funnel() -> list[Panel]:
    """Judged, screened, left out: totals over the time that is shown."""
    steps = {
        "Traces": ("All that reached the assembler.", ""),
        "Judged": ("Scored, wholly or partly.", "scored|partly_scored"),
        "Screened": ("Seen by the local judge only; they count in the estimate.", "screened|over_budget"),
        "Unscored": ("A run, but no value: see the reasons.", "unscored"),
        "Not RAG": ("No retrieval recognised.", "not_rag"),
        "Not sampled": ("Left out by the sampling rules.", "not_sampled"),
    }
    where = 'service=~"$service"'
    return [
        number(title, text, Query(_total(c.TRACES, f'{where}, outcome=~"{outcome}"' if outcome else where)), width=4)
        for title, (text, outcome) in steps.items()
    ]


def _outcomes() -> Panel:
    return stacked(
        "Traces by outcome",
        "Each trace has one.",
        Query(_by("outcome", c.TRACES, 'service=~"$service"'), "{{outcome}}"),
    )


def _reasons() -> Panel:
    return stacked(
        "Unscored by reason",
        "What got no value, and why.",
        Query(_by("scorer, reason", c.UNSCORED, 'service=~"$service"') + " > 0", "{{scorer}} {{reason}}"),
    )


def _coverage() -> Panel:
    return lines(
        "Coverage",
        "Share of what was to be scored in the last hour that has a value.",
        Query('ctxscore:coverage:1h{service=~"$service"}', "{{service}} {{scorer}}"),
        unit="percentunit",
        most=1,
    )


def _emitted() -> Panel:
    return stacked(
        "Evaluations by sink",
        "What became of them there.",
        Query(_by("sink, result", c.EVALUATIONS), "{{sink}} {{result}}"),
    )


def _cost() -> list[Panel]:
    cached = _total(c.JUDGE_CALLS, 'result="cached"')
    return [
        number(
            "Cost",
            "Judge calls of the time shown, where the price is known.",
            Query(_total(c.JUDGE_COST)),
            unit="currencyUSD",
            width=6,
        ),
        number("Judgements", "Asked for in the time shown.", Query(_total(c.JUDGE_CALLS)), width=6),
        number(
            "From the cache",
            "Share of judgements that needed no call.",
            Query(f"{cached} / ({_total(c.JUDGE_CALLS)} > 0)"),
            unit="percentunit",
            width=6,
        ),
        number("In flight", "Judgements under way.", Query(f"sum({metric(c.JUDGE_IN_FLIGHT)})"), width=6),
    ]


def _calls() -> Panel:
    gained = _by("tier, model, result", c.JUDGE_CALLS)
    return stacked(
        "Judgements by result", "Failures have the reason as result.", Query(f"{gained} > 0", "{{model}} {{result}}")
    )


def _latency() -> Panel:
    buckets = f"sum by (tier, model, le) (rate({metric(c.JUDGE_DURATION, suffix='_bucket')}[{_EVERY}]))"
    return lines(
        "Time of a judgement",
        "Over all its calls; half and 95 % are quicker.",
        *(Query(f"histogram_quantile({share}, {buckets})", f"{{{{model}}}} {share}") for share in (0.5, 0.95)),
        unit="s",
    )


def _tokens() -> Panel:
    return stacked("Tokens", "Of judge calls.", Query(_by("model, kind", c.JUDGE_TOKENS), "{{model}} {{kind}}"))


def _spent_by_hour() -> Panel:
    rate = f"3600 * sum by (model) (rate({metric(c.JUDGE_COST)}[{_EVERY}]))"
    return lines("Cost an hour", "At the present rate.", Query(rate, "{{model}}"), unit="currencyUSD")


def _requests() -> Panel:
    return stacked(
        "Requests and records",
        "By what became of them.",
        Query(_by("source, result", c.REQUESTS), "{{source}} {{result}}"),
    )


def _spans() -> Panel:
    return stacked(
        "Spans", "By what intake did with them.", Query(_by("source, result", c.SPANS), "{{source}} {{result}}")
    )


def _open() -> Panel:
    return lines(
        "Traces that wait for spans",
        "Kept as bytes until they are due.",
        Query(f"sum({metric(c.OPEN_TRACES)})", "traces"),
        Query(f"sum({metric(c.OPEN_BYTES)})", "bytes"),
    ).override_by_name(
        "bytes", [DynamicConfigValue("unit", "bytes"), DynamicConfigValue("custom.axisPlacement", "right")]
    )


def _closed() -> Panel:
    return stacked(
        "Closed traces",
        "`evicted`: the assembler was full. Split: spans of one trace came on several partitions.",
        Query(_by("closed", c.CLOSED_TRACES), "{{closed}}"),
        Query(f"sum(increase({metric(c.SPLIT_TRACES)}[{_EVERY}]))", "split"),
    )


def _waiting() -> Panel:
    return lines(
        "Age of the oldest waiting run",
        "Waits for judge or sink; and what the Kafka consumer waits for.",
        Query(f"max by (instance) ({metric(c.OLDEST_WAITING)})", "{{instance}}"),
        Query(f"max by (instance) ({metric(c.SINCE_POLL)})", "since last read, {{instance}}"),
        Query(f"max by (instance) ({metric(c.OLDEST_UNCOMMITTED)})", "oldest uncommitted record, {{instance}}"),
        unit="s",
    )


def _lag() -> Panel:
    return lines(
        "Kafka lag", "Records behind the end.", Query(f"max by (instance) ({metric(c.KAFKA_LAG)})", "{{instance}}")
    )


def _budget() -> Panel:
    return lines(
        "Budget",
        "Share spent; open 0: the fuse blew.",
        Query(f"max by (window) ({metric(c.BUDGET_USED)})", "spent of the {{window}}"),
        Query(f"min by (window) ({metric(c.BUDGET_OPEN)})", "open, {{window}}"),
        unit="percentunit",
    )


def _capped() -> Panel:
    return stacked(
        "Label values dropped",
        "Counted as `other` beyond `metrics.max_values`.",
        Query(_by("label", c.DROPPED_VALUES), "{{label}}"),
    )
