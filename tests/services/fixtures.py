"""Pytest plugin: the servers as fixtures, and the marker `services` on every test that uses one.

A service that is not installed: in CI it is installed, and a failure to do so is the test's failure; elsewhere the
test is skipped with the command that installs it. `pytest -m "not services"` leaves out all tests that use one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.services.alertmanager import Alertmanager, amtool
from tests.services.catalogue import lacking
from tests.services.certificates import Certificates
from tests.services.certificates import make as make_certificates
from tests.services.chromium import Chromium
from tests.services.config import Config
from tests.services.jaeger import Jaeger
from tests.services.kafka import PASSWORD, USER, Kafka
from tests.services.otelcol import Collector
from tests.services.prometheus import Prometheus, promtool
from tests.services.reranker import RERANKER
from tests.services.sampling import SamplingCollector
from tests.services.tools import Check

if TYPE_CHECKING:
    from playwright.sync_api import Page

MARKER = "services"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", f"{MARKER}: uses a real server (added by the fixtures of tests.services)")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a service, also through fixtures of its own: all of them rest on `services_folder`."""
    for item in items:
        if "services_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)


def need(name: str) -> None:
    """Make sure that the service is installed, or skip (outside CI).

    The fixtures call it. A test that starts a server by hand calls it too, and takes `services_folder`.
    """
    if reason := lacking(name):
        pytest.skip(reason)


class Tool(Protocol):
    """A checking program such as promtool."""

    def __call__(self, *arguments: str | Path, timeout: float = 60) -> Check:
        """Run it with these arguments."""
        ...


@pytest.fixture(scope="session")
def services_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the data and logs of the servers of this run; pytest keeps the last three."""
    return tmp_path_factory.mktemp("services", numbered=False)


@pytest.fixture
def service_folder(services_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives a new folder for a server of one test."""
    return tmp_path_factory.mktemp


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, a server's and a client's certificate, for any test of TLS. (No service.)"""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def kafka(services_folder: Path, certificates: Certificates) -> Iterator[Kafka]:
    """The broker that all tests share, with logins for USER and PASSWORD, and with TLS by `certificates`.

    Use `kafka.topic()` for a topic of one's own, and do not stop it: `start_kafka` gives one that may be stopped.
    """
    need("kafka")
    with Kafka(services_folder / "kafka", {USER: PASSWORD}, certificates=certificates) as server:
        yield server


class StartKafka(Protocol):
    """Starts a broker for one test."""

    def __call__(
        self,
        users: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        certificates: Certificates | None = None,
    ) -> Kafka:
        """See Kafka."""
        ...


@pytest.fixture
def start_kafka(service_folder: Callable[[str], Path]) -> Iterator[StartKafka]:
    """Starts brokers of one's own, stopped at the end of the test."""
    need("kafka")
    with contextlib.ExitStack() as stack:

        def start(
            users: Mapping[str, str] | None = None,
            settings: Mapping[str, str] | None = None,
            certificates: Certificates | None = None,
        ) -> Kafka:
            return stack.enter_context(Kafka(service_folder("kafka"), users, settings, certificates))

        yield start


StartCollector = Callable[[Config], Collector]


@pytest.fixture
def start_collector(service_folder: Callable[[str], Path]) -> Iterator[StartCollector]:
    """Starts Collectors with a configuration (see Collector), stopped at the end of the test."""
    need("collector")
    with contextlib.ExitStack() as stack:
        yield lambda config: stack.enter_context(Collector(service_folder("collector"), config))


@pytest.fixture
def start_sampling_collector(service_folder: Callable[[str], Path]) -> Iterator[StartCollector]:
    """The same with tail sampling and the filter processor."""
    need("sampling-collector")
    with contextlib.ExitStack() as stack:
        yield lambda config: stack.enter_context(SamplingCollector(service_folder("sampling-collector"), config))


@pytest.fixture
def collector(start_collector: StartCollector) -> Collector:
    """One that writes the spans it gets to `collector.output`."""
    return start_collector({})


@pytest.fixture(scope="session")
def jaeger(services_folder: Path) -> Iterator[Jaeger]:
    """The one that all tests share: look for traces by their id."""
    need("jaeger")
    with Jaeger(services_folder / "jaeger") as server:
        yield server


class StartPrometheus(Protocol):
    """Starts a Prometheus for one test."""

    def __call__(
        self,
        targets: Sequence[str] = (),
        rules: Sequence[Path] = (),
        alertmanager: str | None = None,
        config: Config | None = None,
    ) -> Prometheus:
        """See Prometheus."""
        ...


@pytest.fixture
def start_prometheus(service_folder: Callable[[str], Path]) -> Iterator[StartPrometheus]:
    """Starts servers that scrape, stopped at the end of the test."""
    need("prometheus")
    with contextlib.ExitStack() as stack:

        def start(
            targets: Sequence[str] = (),
            rules: Sequence[Path] = (),
            alertmanager: str | None = None,
            config: Config | None = None,
        ) -> Prometheus:
            server = Prometheus(service_folder("prometheus"), targets, rules, alertmanager, config)
            return stack.enter_context(server)

        yield start


@pytest.fixture(name="promtool", scope="session")
def promtool_fixture(services_folder: Path) -> Tool:
    """`promtool(*arguments) -> Check(ok, output)`."""
    need("prometheus")
    return promtool


class StartAlertmanager(Protocol):
    """Starts an Alertmanager for one test."""

    def __call__(self, webhook: str | None = None, config: Config | None = None) -> Alertmanager:
        """See Alertmanager."""
        ...


@pytest.fixture
def start_alertmanager(service_folder: Callable[[str], Path]) -> Iterator[StartAlertmanager]:
    """Starts servers that take alerts, stopped at the end of the test."""
    need("alertmanager")
    with contextlib.ExitStack() as stack:

        def start(webhook: str | None = None, config: Config | None = None) -> Alertmanager:
            return stack.enter_context(Alertmanager(service_folder("alertmanager"), webhook, config))

        yield start


@pytest.fixture
def alertmanager(start_alertmanager: StartAlertmanager) -> Alertmanager:
    """One that only holds what it gets."""
    return start_alertmanager()


@pytest.fixture(name="amtool", scope="session")
def amtool_fixture(services_folder: Path) -> Tool:
    """`amtool(*arguments) -> Check(ok, output)`."""
    need("alertmanager")
    return amtool


@pytest.fixture(scope="session")
def chromium(services_folder: Path) -> Chromium:
    """The browser's path and launch options, for a test that drives Playwright itself."""
    need("chromium")
    return Chromium.find()


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Page]:
    """A page of a new browser, for a test that is not async."""
    with chromium.page() as page:
        yield page


@pytest.fixture(scope="session")
def reranker(services_folder: Path) -> Path:
    """A folder with a cross-encoder exported to ONNX."""
    need("reranker")
    return RERANKER.folder
