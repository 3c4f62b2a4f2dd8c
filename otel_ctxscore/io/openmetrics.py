"""The history of the metrics of evaluations of the past, as OpenMetrics with the times of their traces.

`promtool tsdb create-blocks-from openmetrics` takes it: past and present then stand in one Prometheus. The counters are
those of the live service, under their names and labels; whatever `Metrics` counts of an evaluation is in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, TextIO

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import UNKNOWN_SERVICE
from otel_ctxscore.evaluation import trace_outcome
from otel_ctxscore.monitoring.sums import EstimatorSums
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.telemetry.catalogue import Metric
from otel_ctxscore.telemetry.metrics import Evaluator

STEP_SECONDS = 60
GAP_SECONDS = 240
"""A series that stands still is repeated this often: Prometheus forgets one after 5 minutes."""
JOB = 'job="otel-ctxscore-backfill"'
_Key = tuple[str, str]
_Line = Mapping[str, Any]


@dataclass(slots=True)
class _Series:
    lines: list[str] = field(default_factory=list)
    last: float = math.nan
    seen: float = -math.inf
    written: float = -math.inf


class History:
    """Feed `metrics` in the order of time, calling `at` before each; then `write`.

    Times are Unix seconds. A sample stands for all that happened up to its time, in steps of STEP_SECONDS.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._families: dict[str, tuple[Metric, dict[_Key, _Series]]] = {}
        self._next: float | None = None

    def at(self, now: float) -> None:
        """What is counted from here on happened at `now`."""
        step = math.floor(now / STEP_SECONDS) * STEP_SECONDS
        if self._next is None:
            self._snap(step)  # the zeros from which the first increase is seen
            self._next = step + STEP_SECONDS
        while self._next <= now:
            self._snap(self._next)
            self._next += STEP_SECONDS

    def write(self, out: TextIO) -> None:
        """All of it, with the last step complete."""
        if self._next is not None:
            self._snap(self._next)
            self._snap(self._next + STEP_SECONDS)
        for metric, series in self._families.values():
            name = metric.full_name.removesuffix("_total").removesuffix("_info")
            out.write(f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n")
            for one in series.values():
                out.writelines(one.lines)
        out.write("# EOF\n")

    def _snap(self, now: float) -> None:
        for metric, sample in self._metrics.samples():
            family = self._families.setdefault(metric.name, (metric, {}))[1]
            labels = ",".join([JOB, *(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())])
            series = family.setdefault((sample.name, labels), _Series())
            self._sample(series, f"{sample.name}{{{labels}}}", sample.value, now)

    def _sample(self, series: _Series, name: str, value: float, now: float) -> None:
        changed = value != series.last
        if not changed and now - series.written < GAP_SECONDS:
            series.seen = now
            return
        if changed and series.written < series.seen:  # it stood still up to here
            series.lines.append(_line(name, series.last, series.seen))
        series.lines.append(_line(name, value, now))
        series.last, series.seen, series.written = value, now, now


def _line(name: str, value: float, when: float) -> str:
    return f"{name} {value!r} {when:.3f}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


# ---- from the lines of a backfill ---------------------------------------------------------------------------------


def history(lines: Iterable[_Line], metrics: Metrics) -> History:
    """The metrics of these lines, in the order of their times. What has no time is left out."""
    past = History(metrics)
    traces = sorted(
        ((_time(group[0]), group) for group in _traces(lines) if group[0].get("time")), key=lambda one: one[0]
    )
    for _, group in traces:
        _begin(metrics, group)
    for when, group in traces:
        past.at(when)
        _count(metrics, group)
    return past


def _traces(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """The lines of each trace."""
    for trace_id, group in groupby(lines, key=lambda line: line.get("trace_id")):
        together = list(group)
        yield from [together] if trace_id else [[line] for line in together]


def _time(line: _Line) -> float:
    return datetime.fromisoformat(str(line["time"])).timestamp()


def _begin(metrics: Metrics, group: list[_Line]) -> None:
    """Begin at 0 what will be counted: the first increase is one, too."""
    for line in group:
        metrics.service(str(line.get("service") or UNKNOWN_SERVICE))
        for score, by in _scores(line):
            if score.value is not None and by is not None:
                metrics.declare_evaluator(
                    Evaluator(score.name, score.version, by.tier, by.model, score.definition, stages=("judged",))
                )


def _count(metrics: Metrics, group: list[_Line]) -> None:
    service = str(group[0].get("service") or UNKNOWN_SERVICE)
    if not group[0].get("retrievals") and not group[0].get("scores"):
        metrics.trace_done(service, TraceOutcome(group[0]["outcome"]))
        if group[0]["reason"]:
            metrics.refused(service, Reason(group[0]["reason"]))
        return
    evaluations = [_evaluation(line) for line in group]
    for evaluation in evaluations:
        metrics.evaluated(evaluation)
    EstimatorSums(metrics, segments={}).add(evaluations)
    metrics.trace_done(service, trace_outcome(evaluations)[0])


def _scores(line: _Line) -> list[tuple[Score, JudgedBy | None]]:
    judge = line.get("judge") or {}
    by = JudgedBy(judge["tier"], judge["model"], "") if judge.get("tier") else None
    return [
        (Score(**{**one, "unscored": Reason(one["unscored"]) if one["unscored"] else None}), by)
        for one in line["scores"]
    ]


def _evaluation(line: _Line) -> Evaluation:
    """As much of an evaluation as metrics ask for."""
    weight = line.get("weight") or 1.0
    retrievals = [
        Retrieval([Context(str(place)) for place, _ in enumerate(one["contexts"])]) for one in line["retrievals"]
    ]
    run = RagRun(None, retrievals, service=str(line.get("service") or UNKNOWN_SERVICE), probability=1 / weight)
    scores = _scores(line)
    reason = Reason(line["reason"]) if line["reason"] else None
    by = scores[0][1] if scores else None
    return Evaluation(run, None, [score for score, _ in scores], TraceOutcome(line["outcome"]), reason, by)
