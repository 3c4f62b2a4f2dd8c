"""What all boards share: variables, annotations, links to each other."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model

from dashboards.panels import SOURCE, metric
from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.series import WINDOWS

SELECTED = 'service=~"$service", scorer=~"$scorer", version=~"$version"'
_LINK = dashboard.DashboardLink("ctxscore").type(model.DashboardLinkType.DASHBOARDS).tags(["ctxscore"]).keep_time(True)
Variable = Builder[model.VariableModel]


def board(uid: str, title: str, description: str, variables: Sequence[Variable]) -> dashboard.Dashboard:
    """An empty board, with the data source variable first and the annotations."""
    built = (
        dashboard.Dashboard(title)
        .uid(f"ctxscore-{uid}")
        .description(description)
        .tags(["ctxscore"])
        .timezone("browser")
        .time("now-24h", "now")
        .refresh("1m")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .link(_LINK)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    for variable in variables:
        built = built.with_variable(variable)
    for annotation in _annotations():
        built = built.annotation(annotation)
    return built


def choice(name: str, label: str, values: str, *, several: bool = False) -> dashboard.QueryVariable:
    """A variable over the values of a label; `values` is METRIC{...}, LABEL."""
    variable = (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(f"label_values({values})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
    )
    if not several:
        return variable
    everything = model.VariableOption(selected=True, text=["All"], value=["$__all"])
    return variable.multi(True).include_all(True).all_value(".+").current(everything)


SERVICE = choice("service", "Service", f"{c.TRACES.full_name}, service", several=True)
SCORER = choice("scorer", "Scorer", f"{metric(c.SCORE, suffix='_count')}, scorer").current(
    model.VariableOption(selected=True, text="context_precision", value="context_precision")
)
VERSION = choice("version", "Version", f'{c.EVALUATOR.full_name}{{scorer=~"$scorer"}}, version', several=True)
WINDOW = (
    dashboard.CustomVariable("window")
    .label("Window")
    .values(",".join(WINDOWS))
    .current(model.VariableOption(selected=True, text="1h", value="1h"))
)


class _PrometheusAnnotation(model.AnnotationQuery):
    """An annotation from a query, with the text that it shows."""

    title: str = ""
    text: str = ""

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "titleFormat": self.title, "textFormat": self.text, "step": "60s"}


class _Annotation(Builder[model.AnnotationQuery]):
    def __init__(self, name: str, color: str, expression: str, title: str, text: str) -> None:
        self._built = _PrometheusAnnotation(name=name, datasource=SOURCE, icon_color=color, expr=expression)
        self._built.title, self._built.text = title, text

    def build(self) -> model.AnnotationQuery:
        return self._built


def _annotations() -> list[_Annotation]:
    known = metric(c.EVALUATOR)
    return [
        _Annotation(
            "Alarms",
            "red",
            'ALERTS{alertname=~"Ctxscore.+", alertstate="firing"}',
            "{{alertname}}",
            "{{service}} {{scorer}} {{severity}}",
        ),
        _Annotation(
            "Evaluator versions",
            "blue",
            f"max by (scorer, version, tier, model) ({known}) unless on (scorer, version) ({known} offset 5m)",
            "New version {{version}} of {{scorer}}",
            "{{tier}} {{model}}",
        ),
    ]
