"""`docs/metrics.md`, made from the catalogue."""

from __future__ import annotations

from otel_ctxscore.telemetry.catalogue import CATALOGUE, Label, Metric
from otel_ctxscore.telemetry.labels import MAX_LENGTH, OTHER

_INTRODUCTION = f"""\
# Metrics

Made from `otel_ctxscore/telemetry/catalogue.py`. The service answers `/metrics` at its admin address, as OpenMetrics
with exemplars (`trace_id`, `span_id` of the judged span) where the scraper asks for it, else as Prometheus text.

* A family appears once something feeds it. Closed label sets then stand there with 0, so that `increase()` sees the
  first event; series that bear a service begin when the service is first seen.
* The values of a label marked *capped* come from outside. The first `metrics.max_values` are kept, the rest is counted
  as `{OTHER}` and in `ctxscore_label_values_dropped_total`. Values longer than {MAX_LENGTH} characters are cut and end
  in `~` and a hash; control characters become U+FFFD.
* A run that is redelivered, judged again or backfilled enters no score, weight, reason or estimator sum.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *map(_section, CATALOGUE)])


def _section(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    lines = [f"## `{metric.full_name}`", "", f"{metric.help}. ({metric.kind}{unit})", ""]
    if metric.buckets:
        lines += [f"Buckets: {', '.join(f'{edge:g}' for edge in metric.buckets)}.", ""]
    lines += [_label(label) for label in metric.labels]
    return "\n".join(lines + [""] * bool(metric.labels))


def _label(label: Label) -> str:
    values = ": " + ", ".join(f"`{value}`" for value in label.values) if label.values else ""
    return f"* `{label.name}`{' (capped)' if label.capped else ''}: {label.help}{values}"
