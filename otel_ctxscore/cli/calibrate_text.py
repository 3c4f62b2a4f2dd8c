"""What `otel-ctxscore calibrate` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from otel_ctxscore.calibrating import Recalibration, Report
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.stats.agreement import Agreement, Interval
from otel_ctxscore.core.stats.labels import MIN_RATES
from otel_ctxscore.monitoring.label_votes import People, Votes


def as_json(reports: Sequence[Report], found: Recalibration | None, votes: Votes) -> str:
    """One object: `labels`, `judges`, and `calibration` where one can be fitted."""
    calibration = None if found is None else {**asdict(found), **asdict(found.whole)}
    if calibration is not None:
        del calibration["whole"]
    labels = {
        "runs": len(votes.runs),
        "replaced": votes.replaced,
        "tied": votes.tied,
        "people": None if votes.people is None else asdict(votes.people),
    }
    judges = [_judge(report) for report in reports]
    return json.dumps({"labels": labels, "judges": judges, "calibration": calibration}, indent=2)


def _judge(report: Report) -> dict[str, Any]:
    return {
        "tier": report.judge.tier,
        "model": report.judge.model,
        "version": report.judge.version,
        "unjudged": {str(reason): count for reason, count in report.unjudged.items()},
        "useful": _agreement(report.useful),
        "share_useful": {
            "people": report.share_people,
            "judge": report.share_judge,
            "correctable": report.correctable,
        },
        "average_precision": {"people": report.ap_people, "judge": report.ap_judge, "mean_error": report.ap_error},
        "reliability": [asdict(cell) for cell in report.bins],
        "calibration_error": report.error,
        "band": None if report.band is None else asdict(report.band),
        "used": None if report.used is None else _agreement(report.used),
        "relevance": None if report.relevance is None else {"quadratic_kappa": report.relevance},
        "calls": report.calls,
        "cost_usd": report.cost_usd,
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    intervals = {"kappa": found.kappa, "sensitivity": found.sensitivity, "specificity": found.specificity}
    shown = {name: None if value is None else asdict(value) for name, value in intervals.items()}
    return {"queries": found.queries, "contexts": found.contexts, **shown}


def as_text(reports: Sequence[Report], found: Recalibration | None, votes: Votes) -> str:
    """For a person to read."""
    lines = [] if votes.people is None else [*_people(votes.people), ""]
    lines += [line for report in reports for line in (*_lines(report), "")]
    if found is not None:
        lines += [
            f"calibration        a {found.whole.a:.4f}, b {found.whole.b:+.4f}",
            f"                   ECE {found.error_now:.3f} -> {found.error_then:.3f},"
            f" log loss {found.loss_now:.3f} -> {found.loss_then:.3f} (cross-validated by query)",
        ]
    return "\n".join(lines).rstrip()


def _people(people: People) -> Iterator[str]:
    """What no judge can be asked to exceed."""
    both = f"{count(people.runs, 'run')} and {count(people.contexts, 'context')} labelled by several"
    yield f"people             {count(people.people, 'person', 'people')}, {both}: how far they agree with each other"
    yield f"kappa              {_shown(people.useful)}"
    if people.used is not None:
        yield f"used               kappa {_shown(people.used)}"
    if people.relevance is not None:
        yield f"relevance          quadratic kappa {people.relevance:.3f}"


def _lines(report: Report) -> Iterator[str]:
    useful = report.useful
    yield f"{report.judge.tier} judge, {report.judge.model}, version {report.judge.version}"
    yield f"labels             {count(useful.queries, 'query', 'queries')}, {count(useful.contexts, 'context')}"
    yield f"kappa              {_shown(useful.kappa)}"
    yield f"sensitivity        {_shown(useful.sensitivity)}  of what people call useful it finds"
    yield f"specificity        {_shown(useful.specificity)}  of the rest it leaves out"
    yield f"share useful       {report.share_judge:.3f} by the judge, {report.share_people:.3f} by people"
    yield f"                   {_note(report)}"
    yield (
        f"average precision  {report.ap_judge:.3f} by the judge, {report.ap_people:.3f} by people,"
        f" mean distance {report.ap_error:.3f}"
    )
    yield f"reliability        ECE {report.error:.3f}"
    for cell in report.bins:
        yield f"  {cell.low:.1f}-{cell.high:.1f}  n {cell.n:<5} mean p {cell.mean:.3f}  useful {cell.share:.3f}"
    if report.band is not None:
        yield (
            f"band               [{report.band.low:.2f}, {report.band.high:.2f}]: between them it is unsure;"
            f" {report.band.open_queries:.0%} of the queries have such a context"
        )
    if report.used is not None:
        yield f"used               kappa {_shown(report.used.kappa)}, {count(report.used.contexts, 'context')}"
    if report.relevance is not None:
        yield f"relevance          quadratic kappa {report.relevance:.3f}"


def _shown(value: Interval | None) -> str:
    return "-" if value is None else f"{value.value:.3f} [{value.lower:.3f}, {value.upper:.3f}]"


def _note(report: Report) -> str:
    """How the share can be corrected, and that nothing else can be."""
    if not report.correctable:
        return f"sensitivity + specificity is below {MIN_RATES}: too weak to correct a share by"
    return "a share can be corrected: (share + specificity - 1) / (sensitivity + specificity - 1)"
