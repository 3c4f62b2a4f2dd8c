"""The alerts. Each waits before it fires, asks for enough runs first, and is false where there is nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

from otel_ctxscore.core.stats.drift import MIN_PSI
from otel_ctxscore.core.stats.estimate import LOW_N_EFF
from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.rule import Alert
from tools.prometheus_rules.series import SERIES, increase, names, record

_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_RUNBOOK = f"{_PROJECT['urls']['Documentation']}/runbook.md"
_BY = f"by ({names(SERIES)})"
_N = "{{ $labels.scorer }} of {{ $labels.service }}"
_CHOSEN = ("service", "scorer")
_FINE = "|".join(c.JUDGE_RESULT.values[:3])


def alerts() -> list[Alert]:
    """All alerts, those that page first."""
    return [*_quality(), *_traffic(), *_judge(), *_service()]


def _alert(
    name: str,
    expression: str,
    summary: str,
    description: str,
    *,
    wait: str,
    board: str,
    severity: str = "ticket",
    shown: tuple[str, ...] = (),
) -> Alert:
    """Severity `page`: wake somebody. `ticket`: within working hours. `shown`: labels that the board is narrowed to."""
    chosen = "&".join(f"var-{label}={{{{ $labels.{label} | urlquery }}}}" for label in shown)
    link = f"/d/ctxscore-{board}" + (f"?{chosen}" if chosen else "")
    annotations = {
        "summary": summary,
        "description": description,
        "runbook_url": f"{_RUNBOOK}#{name.lower()}",
        "dashboard_url": link,
    }
    return Alert(name, expression, wait, {"severity": severity}, annotations, "10m" if severity == "page" else None)


def _quality() -> list[Alert]:
    share, n = "{{ $value | humanizePercentage }}", f"{LOW_N_EFF:g}"
    ratio = f"avg {_BY} ({c.ALARM_RATIO.full_name})"
    firing = f'on ({names(SERIES)}) ALERTS{{alertname="CtxscoreAlarm", alertstate="firing"}}'
    return [
        _alert(
            "CtxscoreAlarm",
            f"{ratio} >= 1\nor\n{ratio} >= 0.1 and {firing}",
            f"The mean of {_N} has fallen",
            'The evidence that the mean lies below its reference is {{ $value | printf "%.2f" }} times what is reached '
            "by chance once in the time set as `alarm.false_alarm`. Version {{ $labels.version }}.",
            wait="1m",
            board="quality",
            shown=_CHOSEN,
            severity="page",
        ),
        _alert(
            "CtxscoreBadRunsBurnRate",
            f"{_burning('1h', '5m', 'fast')}\nor\n{_burning('6h', '1h', 'slow')}",
            f"Too many bad runs: {_N}",
            f"{share} of the runs score below `bad_below`, over the long window and the short one.",
            wait="2m",
            board="quality",
            shown=_CHOSEN,
            severity="page",
        ),
        _alert(
            "CtxscoreBelowTarget",
            f"{record('estimate_upper', '6h')} < {record('target')} and {record('estimate_n_eff', '6h')} >= {n}",
            f"{_N} is below its target",
            "The whole 95 % interval of the last six hours lies below the target; its upper end is "
            '{{ $value | printf "%.2f" }}. This is looked at every minute and makes no promise about false alarms.',
            wait="15m",
            board="quality",
            shown=_CHOSEN,
        ),
        _alert(
            "CtxscoreDrift",
            f"{_drifted('6h')}\nor\n{_drifted('1d')}",
            f"The distribution of {_N} has changed",
            'PSI against the pinned baseline is {{ $value | printf "%.2f" }}, beyond what noise reaches in one of a '
            "thousand windows, in this window and in the one before.",
            wait="10m",
            board="drift",
            shown=_CHOSEN,
        ),
    ]


def _burning(long: str, short: str, speed: str) -> str:
    """The share of bad runs is over its limit in both windows, and in the long one surely over the budget."""
    share, n, limit = record("bad_share", long), record("estimate_n_eff", long), record(f"bad_limit_{speed}")
    sure = f"{share} - 3 * sqrt({share} * (1 - {share}) / {n}) > {record('bad_budget')}"
    enough = f"{n} >= {LOW_N_EFF:g}"
    return "\n  and ".join([f"{share} > {limit}", f"{record('bad_share', short)} > {limit}", sure, enough])


def _drifted(window: str) -> str:
    """PSI beyond its floor and beyond what matters, in two windows that do not overlap."""

    def moved(at: str) -> str:
        psi, floor = record("psi", window) + at, f'{record("psi_floor", window)}{{level="0.001"}}{at}'
        return f"{psi} > {MIN_PSI:g} and {psi} > ignoring (level) {floor}"

    return f"{moved('')}\n  and ({moved(f' offset {window}')})"


def _traffic() -> list[Alert]:
    share, n = "{{ $value | humanizePercentage }}", f"{LOW_N_EFF:g}"
    empty, coverage, asked = (record(name, "1h") for name in ("empty_share", "coverage", "asked"))
    usual = f"({record('empty_share', '1d')} offset 1d or 0 * {empty} + 0.1)"
    hour, before = f"sum by (service) ({record('values', '1h')})", f"sum by (service) ({record('values', '6h')})"
    traces = increase(c.TRACES, "1h", ("service",))
    yesterday, last_week = (f"sum by (service) ({record('values', '1h')} offset {ago})" for ago in ("1d", "1w"))
    return [
        _alert(
            "CtxscoreEmptyRetrievals",
            f"{empty} > 0.05 and {empty} > clamp_max(2 * {usual}, 0.5)\n  and {record('retrievals', '1h')} >= {n}",
            "Retrievals of {{ $labels.service }} come back empty",
            f"{share} of the retrievals of the last hour found nothing, twice the share of the day before.",
            wait="10m",
            board="quality",
            shown=("service",),
        ),
        _alert(
            "CtxscoreNoData",
            f"absent({c.CLOSED_TRACES.full_name})\nor\n"
            f"({yesterday} >= {n} unless {last_week} == 0\n"
            f"  or {before} >= 100 and {traces} >= {n})\n  unless {hour} > 0",
            "No scores{{ with $labels.service }} for {{ . }}{{ end }}",
            "Nothing was scored for an hour although traces come, or although there was traffic at this time "
            "yesterday; or the service is not scraped at all. This says nothing about quality.",
            wait="30m",
            board="operations",
        ),
        _alert(
            "CtxscoreUnscored",
            f"{coverage} < 0.8 and {asked} >= {n}\nor\n{coverage} < 0.3 and {asked} >= 10",
            f"Much is left unscored: {_N}",
            f"Only {share} of what was to be scored in the last hour has a value; the mean speaks of that part alone.",
            wait="10m",
            board="operations",
        ),
    ]


def _judge() -> list[Alert]:
    calls = f"sum by (tier, model) (increase({c.JUDGE_CALLS.full_name}{{%s}}[15m]))"
    failed, asked = calls % f'result!~"{_FINE}"', calls % 'result!="cached"'
    return [
        _alert(
            "CtxscoreJudgeFailing",
            f"{failed} / ({asked} >= 20) > 0.1",
            "The judge {{ $labels.model }} fails",
            "{{ $value | humanizePercentage }} of its judgements in the last 15 minutes failed.",
            wait="5m",
            board="operations",
        ),
        _alert(
            "CtxscoreJudgeDrift",
            f"avg by (scorer, version) ({c.ANCHOR_ALARM_RATIO.full_name}) >= 1",
            "The judge itself has moved: {{ $labels.scorer }}",
            "The judge scores the anchors differently from when they were pinned. Version {{ $labels.version }}.",
            wait="5m",
            board="drift",
            shown=("scorer",),
        ),
        _alert(
            "CtxscoreBudgetFuse",
            f"min by (window) (min_over_time({c.BUDGET_OPEN.full_name}[15m])) == 0",
            "The budget of the {{ $labels.window }} is used up",
            "Runs are left out that should have been judged. Windows that hold this time have no interval.",
            wait="1m",
            board="operations",
        ),
    ]


def _service() -> list[Alert]:
    lag, read = c.KAFKA_LAG.full_name, f'{c.REQUESTS.full_name}{{source="kafka"}}'
    return [
        _alert(
            "CtxscoreLag",
            f"{c.OLDEST_WAITING.full_name} > 300\nor\n{c.SINCE_POLL.full_name} > 120\nor\n"
            f"sum by (job) ({lag}) > 600 * sum by (job) (rate({read}[10m])) and sum by (job) ({lag}) > 0",
            "Scores come late",
            "A run waits longer than 5 minutes, the consumer has not read for 2 minutes, or the lag is more than 10 "
            'minutes of what is read. Value: {{ $value | printf "%.2f" }}.',
            wait="10m",
            board="operations",
        ),
        _alert(
            "CtxscoreLabelCap",
            f"sum by (label) (increase({c.DROPPED_VALUES.full_name}[1h])) > 0",
            "More values of {{ $labels.label }} than series are kept for",
            "Values beyond `metrics.max_values` are counted as `other` and share one mean.",
            wait="5m",
            board="operations",
        ),
    ]
