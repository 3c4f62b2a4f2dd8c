"""The generated reference of the metrics."""

from __future__ import annotations

from otel_ctxscore.telemetry.catalogue import CATALOGUE
from otel_ctxscore.telemetry.page import page


def test_every_metric_and_label_is_described() -> None:
    text = page()
    for metric in CATALOGUE:
        section = text.split(f"## `{metric.full_name}`")[1].split("\n## ")[0]
        assert f"({metric.kind}" in section
        assert all(f"* `{label.name}`" in section for label in metric.labels)


def test_it_ends_in_one_line_break() -> None:
    assert page().endswith("\n")
    assert not page().endswith("\n\n")
