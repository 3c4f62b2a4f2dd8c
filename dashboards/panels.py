"""The kinds of panel that the boards are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from otel_ctxscore.telemetry import catalogue as c

Panel = Builder[model.Panel]
SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The data source that is chosen on the board: no uid of any installation."""
DASHED = [model.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [8, 8]})]


@dataclass(frozen=True, slots=True)
class Query:
    """One expression of a panel. `exemplars`: show the dots that lead to traces."""

    expression: str
    legend: str = ""
    exemplars: bool = False


def metric(entry: c.Metric, where: str = "", suffix: str = "") -> str:
    """A selector of a metric of the catalogue."""
    return entry.full_name + suffix + (f"{{{where}}}" if where else "")


def lines(
    title: str, description: str, *queries: Query, unit: str = "short", width: int = 12, most: float | None = None
) -> timeseries.Panel:
    """Series over time. Gaps stay gaps: nothing is drawn where nothing is known."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([_target(query, place) for place, query in enumerate(queries)])
        .unit(unit)
        .min(0)
        .span(width)
        .height(8)
        .line_width(1)
        .fill_opacity(0)
        .show_points(common.VisibilityMode.AUTO)
        .span_nulls(False)
        .legend(
            common_builders.VizLegendOptions()
            .show_legend(True)
            .placement(common.LegendPlacement.BOTTOM)
            .display_mode(common.LegendDisplayMode.LIST)
        )
    )
    return panel if most is None else panel.max(most)


def band(title: str, description: str, *queries: Query, width: int = 12) -> timeseries.Panel:
    """Lines of which `upper` and `lower` become a filled band, and `target` and `reference` are dashed."""
    hidden = [model.DynamicConfigValue("custom.lineWidth", 0), model.DynamicConfigValue("color", _fixed("blue"))]
    fill = [model.DynamicConfigValue("custom.fillBelowTo", "lower"), model.DynamicConfigValue("custom.fillOpacity", 20)]
    return (
        lines(title, description, *queries, unit="none", width=width, most=1)
        .override_by_name("mean", [model.DynamicConfigValue("color", _fixed("blue"))])
        .override_by_name("upper", [*hidden, *fill])
        .override_by_name("lower", hidden)
        .override_by_name("target", [*DASHED, model.DynamicConfigValue("color", _fixed("red"))])
        .override_by_name("reference", [*DASHED, model.DynamicConfigValue("color", _fixed("green"))])
    )


def stacked(title: str, description: str, *queries: Query, unit: str = "short", width: int = 12) -> timeseries.Panel:
    """Bars on top of each other."""
    return (
        lines(title, description, *queries, unit=unit, width=width)
        .draw_style(common.GraphDrawStyle.BARS)
        .fill_opacity(70)
        .stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    )


def heat(title: str, description: str, query: Query, *, width: int = 12) -> heatmap.Panel:
    """Buckets of a histogram over time."""
    return (
        heatmap.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .with_target(_target(query, 0).format(PromQueryFormat.HEATMAP))
        .span(width)
        .height(8)
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(HeatmapColorMode.SCHEME)
            .scheme("Blues")
            .fill("blue")
            .scale(HeatmapColorScale.EXPONENTIAL)
            .exponent(0.5)
            .steps(64)
        )
        .y_axis(heatmap.YAxisConfig().unit("none").axis_placement(common.AxisPlacement.LEFT))
        .exemplars_color("rgba(255,0,255,0.7)")
        .show_value(common.VisibilityMode.NEVER)
    )


def number(title: str, description: str, *queries: Query, unit: str = "short", width: int = 4) -> stat.Panel:
    """The latest value, large."""
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([_target(query, place) for place, query in enumerate(queries)])
        .unit(unit)
        .span(width)
        .height(4)
        .no_value("nothing yet")
        .graph_mode(common.BigValueGraphMode.NONE)
        .color_mode(common.BigValueColorMode.VALUE)
    )


def joined(title: str, description: str, *queries: Query, hidden: Sequence[str] = (), width: int = 24) -> table.Panel:
    """The latest values by labels, one column a query, named by its legend; lowest first column first."""
    columns = {f"Value #{_letter(place)}": query.legend for place, query in enumerate(queries)}
    organised = {"excludeByName": dict.fromkeys(("Time", *hidden), True), "renameByName": columns}
    return (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([_target(query, place).instant().format(PromQueryFormat.TABLE) for place, query in enumerate(queries)])
        .with_transformation(model.DataTransformerConfig("merge", options={}))
        .with_transformation(model.DataTransformerConfig("organize", options=organised))
        .with_transformation(
            model.DataTransformerConfig("sortBy", options={"fields": {}, "sort": [{"field": queries[0].legend}]})
        )
        .decimals(3)
        .span(width)
        .height(8)
    )


def _target(query: Query, place: int) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(SOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
        .exemplar(query.exemplars)
        .range()
        .ref_id(_letter(place))
    )


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _fixed(color: str) -> dict[str, str]:
    return {"mode": "fixed", "fixedColor": color}
