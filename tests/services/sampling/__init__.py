"""A Collector with tail sampling and the filter processor, which cannot be had at the release of ../otelcol."""

from __future__ import annotations

from pathlib import Path

from tests.services import tools
from tests.services.cache import Artefact
from tests.services.otelcol.collector import Collector

HERE = Path(__file__).parent

SAMPLING = Artefact(
    "sampling-collector",
    "go build -trimpath without cgo",
    lambda folder: tools.go_build(folder, ".", "otelcol"),
    (HERE / "go.mod", HERE / "go.sum", HERE / "main.go"),
    tools.go,
)


class SamplingCollector(Collector):
    """As Collector, with other components: see main.go."""

    name = "sampling-collector"
    artefact = SAMPLING
