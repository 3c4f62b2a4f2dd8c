"""The catalogue as families of the client library, in a registry of their own."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase, disable_created_metrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from otel_ctxscore.telemetry.catalogue import CATALOGUE, Metric

_log = logging.getLogger(__name__)
_REFUSED = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)
Rows = Iterable[tuple[tuple[str, ...], float]]
"""Label values and the number of each series of a gauge."""


class Families:
    """Families by catalogue entry. One appears on the page when it is first used, so that none stands there empty."""

    def __init__(self) -> None:
        # Series that only tell when another began would double the page; rates need the zero, which is there.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry(auto_describe=False)
        self._families: dict[str, MetricWrapperBase] = {}
        self._children: dict[tuple[str, ...], MetricWrapperBase] = {}
        self._readings = _Readings()
        self._registry.register(self._readings)
        ProcessCollector(registry=self._registry)

    def of(self, metric: Metric, *labels: str) -> Any:
        """The child of these label values, in the order of the catalogue; made with the value 0 where it is new."""
        key = metric.name, *labels
        child = self._children.get(key)  # the client library takes several times as long to find it
        if child is None:
            family = self._families.get(metric.name)
            if family is None:
                family = self._families[metric.name] = _family(metric, self._registry)
            child = self._children[key] = family.labels(*labels) if metric.labels else family
        return child

    def total(self, metric: Metric, by: str, **where: str) -> dict[str, float]:
        """Sum of a counter for each value of one of its labels, over the series whose labels are as `where` says."""
        sums: dict[str, float] = {}
        family = self._families.get(metric.name)
        for found in family.collect() if family else ():
            for sample in found.samples:
                if where.items() <= sample.labels.items():
                    sums[sample.labels[by]] = sums.get(sample.labels[by], 0.0) + sample.value
        return sums

    def watch(self, metric: Metric, read: Callable[[], float | None], *labels: str) -> None:
        """Show what `read` returns at each scrape; None leaves the series out."""
        self.watch_rows(metric, lambda: [(labels, value)] if (value := read()) is not None else [])

    def watch_rows(self, metric: Metric, read: Callable[[], Rows]) -> None:
        """Show the series that `read` returns at each scrape: those that it leaves out are gone."""
        self._readings.add(metric, read)

    def samples(self) -> Iterator[tuple[Metric, Sample]]:
        """Every sample of the counters, histograms and infos as they are now, family by family."""
        for metric in CATALOGUE:
            family = self._families.get(metric.name)
            if family is not None and metric.kind != "gauge":
                for found in family.collect():
                    yield from ((metric, sample) for sample in found.samples)

    async def render(self, accept: str) -> tuple[bytes, str]:
        """Body and content type for an Accept header: OpenMetrics with exemplars where it is asked for.

        Watched values are read on the event loop, where their owners live; the text is made in a thread.
        """
        self._readings.read()
        encoder, content_type = choose_encoder(_wanted(accept))
        return await asyncio.to_thread(encoder, self._registry), content_type


def _wanted(accept: str) -> str:
    """An Accept header without what it refuses (`;q=0`), which the client library does not look at."""
    return ",".join(part for part in accept.split(",") if not _REFUSED.search(part))


def _family(metric: Metric, registry: CollectorRegistry) -> MetricWrapperBase:
    common: dict[str, Any] = {"labelnames": metric.label_names, "registry": registry}
    name = metric.full_name
    match metric.kind:
        case "counter":
            return Counter(name, metric.help, **common)
        case "gauge":
            raise ValueError(f"{name} is read at each scrape: watch it")
        case "histogram":
            return Histogram(name, metric.help, unit=metric.unit, buckets=metric.buckets, **common)
        case "info":
            return Info(name.removesuffix("_info"), metric.help, **common)


class _Readings(Collector):
    """Gauges whose values are read when they are asked for."""

    def __init__(self) -> None:
        self._sources: list[tuple[Metric, Callable[[], Rows]]] = []
        self._families: list[GaugeMetricFamily] = []

    def add(self, metric: Metric, read: Callable[[], Rows]) -> None:
        self._sources.append((metric, read))

    def read(self) -> None:
        families: dict[str, GaugeMetricFamily] = {}
        for metric, source in self._sources:
            for labels, value in _rows(metric, source):
                if metric.name not in families:
                    families[metric.name] = GaugeMetricFamily(
                        metric.full_name, metric.help, labels=metric.label_names, unit=metric.unit
                    )
                families[metric.name].add_metric(labels, value)
        self._families = list(families.values())

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


def _rows(metric: Metric, source: Callable[[], Rows]) -> Rows:
    try:
        return list(source())
    except Exception:  # one broken reading must not take the whole page with it
        _log.exception("cannot read %s", metric.full_name)
        return []
