"""The board of changes: has the distribution moved, is it more than noise, and was it the judge."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard

from dashboards.board import SCORER, SELECTED, SERVICE, VERSION, WINDOW, board
from dashboards.panels import DASHED, Panel, Query, joined, lines, metric, number, stacked
from otel_ctxscore.telemetry import catalogue as c


def drift() -> dashboard.Dashboard:
    """The board, with a row for each service."""
    built = board(
        "drift",
        "ctxscore: drift",
        "Change of the distribution against the pinned baseline.",
        [SERVICE, SCORER, VERSION, WINDOW],
    )
    built = built.with_row(dashboard.Row("$service").repeat("service"))
    for panel in (_psi(), _ks(), _shares(), _cells(), _unscored(), _size(), _pinned(), *_retrieved()):
        built = built.with_panel(panel)
    return built.with_row(dashboard.Row("Judge")).with_panel(_anchors()).with_panel(_versions())


def _psi() -> Panel:
    return lines(
        "PSI beside its floor",
        "Noise alone exceeds the dashed floor in one window of a hundred. A line below it says nothing; no line means "
        "fewer than 100 effective traces.",
        Query(f"ctxscore:psi:$window{{{SELECTED}}}", "PSI {{version}}"),
        Query(f'ctxscore:psi_floor:$window{{{SELECTED}, level="0.01"}}', "floor {{version}}"),
    ).override_by_regexp("floor.*", DASHED)


def _ks() -> Panel:
    return lines(
        "KS beside its floor",
        "Greatest difference of the two distribution functions. Exceeded in less than one window of a hundred.",
        Query(f"ctxscore:ks:$window{{{SELECTED}}}", "KS {{version}}"),
        Query(f"ctxscore:ks_floor:$window{{{SELECTED}}}", "floor {{version}}"),
        most=1,
    ).override_by_regexp("floor.*", DASHED)


def _shares() -> Panel:
    return stacked(
        "Share of each cell",
        "Weighted share of the scores in each cell; exactly 0 and exactly 1 apart.",
        Query(f"sum by (bucket) (ctxscore:score_share:$window{{{SELECTED}}})", "{{bucket}}"),
        unit="percentunit",
    )


def _cells() -> Panel:
    return joined(
        "Cells, now and pinned",
        "What the window holds in each cell and what the baseline held.",
        Query(f"max by (service, version, bucket) (ctxscore:score_share:$window{{{SELECTED}}})", "now"),
        Query(f"max by (service, version, bucket) (ctxscore:baseline_share{{{SELECTED}}})", "pinned"),
        width=12,
    )


def _unscored() -> Panel:
    where = 'service=~"$service", scorer=~"$scorer"'
    gained = f"sum by (reason) (increase({metric(c.UNSCORED, where)}[$__rate_interval]))"
    return stacked("Unscored by reason", "What got no value, and why.", Query(f"{gained} > 0", "{{reason}}"))


def _size() -> Panel:
    return lines(
        "Effective traces",
        "Drift is silent below 100.",
        Query(f"ctxscore:estimate_n_eff:$window{{{SELECTED}}}", "{{version}}"),
        width=8,
    )


def _pinned() -> Panel:
    return number(
        "Baseline",
        "Effective number of runs behind the pinned baseline: `otel-ctxscore baseline pin`.",
        Query(f"ctxscore:baseline_n_eff{{{SELECTED}}}", "{{version}}"),
        unit="none",
    )


def _retrieved() -> list[Panel]:
    """What is no score, and often drifts before the scores do."""
    shown = {
        c.CONTEXTS: ("Contexts a run", "Mean number of distinct contexts of a run."),
        c.CONTEXT_CHARACTERS: ("Length of a context", "Mean number of characters of a context."),
        c.DOCUMENT_SCORE: ("Retriever score", "Mean score that the retriever gave a context, on its own scale."),
    }
    return [lines(title, text, Query(_mean(entry), "{{service}}"), width=8) for entry, (title, text) in shown.items()]


def _mean(histogram: c.Metric) -> str:
    total, count = (
        f"""sum by (service) (rate({metric(histogram, 'service=~"$service"', part)}[$window]))"""
        for part in ("_sum", "_count")
    )
    return f"{total} / ({count} > 0)"


def _anchors() -> Panel:
    ratio = metric(c.ANCHOR_ALARM_RATIO, 'scorer=~"$scorer"')
    return lines(
        "Has the judge moved?",
        "Evidence that the judge scores its anchors differently than when they were pinned; 1 is an alarm.",
        Query(f"avg by (scorer, version) ({ratio})", "{{scorer}} {{version}}"),
    )


def _versions() -> Panel:
    known = metric(c.EVALUATOR, 'scorer=~"$scorer"')
    return joined(
        "Evaluator versions",
        "What each version stands for. Scores of different versions never share a mean.",
        Query(f"max by (version, scorer, tier, model, definition) ({known})", "known"),
        width=12,
    )
