"""The SDK's OTLP exporters, as the configuration or the standard environment variables ask for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.trace.export import SpanExporter

from otel_ctxscore.config import secret
from otel_ctxscore.config.outlets import OtlpSink
from otel_ctxscore.config.section import ClientTls
from otel_ctxscore.config.values import otlp_endpoint
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.security import client_context

_log = logging.getLogger(__name__)

TIMEOUT = 10
"""Seconds an export may take, with the exporter's own retries; what lasts longer is the batcher's to try again."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """So many spans or records of a request were left out, 0 for a mere warning; `message` is the receiver's."""

    count: int
    message: str


class Rejections:
    """What was left out of the last request, by `partial_success` of its answer. Exports come one after the other."""

    def __init__(self) -> None:
        self._last: Rejected | None = None

    def take(self) -> Rejected | None:
        """What was left out since it was last asked."""
        last, self._last = self._last, None
        return last

    def of_answer(self, answer: Any) -> None:
        """Read an Export...ServiceResponse, whichever: its counts differ in name only."""
        said = {one.name: value for one, value in answer.partial_success.ListFields()}
        if said:
            message = said.pop("error_message", "")
            self._last = Rejected(sum(said.values()), message)

    def of_http(self, response: Any, **_: Any) -> None:
        """Read the answer to a request over HTTP."""
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

        if 200 <= response.status_code < 300 and response.content:
            try:
                self.of_answer(ExportTraceServiceResponse.FromString(response.content))  # that of logs has its numbers
            except DecodeError:
                _log.debug("an answer of %s is no protobuf", response.url)


@dataclass(frozen=True, slots=True)
class Exporters:
    """Where spans and log events go, None for what is not sent; and what the receiver left out of either."""

    spans: SpanExporter | None
    logs: LogRecordExporter | None
    spans_left_out: Rejections = field(default_factory=Rejections)
    logs_left_out: Rejections = field(default_factory=Rejections)


def configured(section: OtlpSink) -> Exporters:
    """Exporters for `sinks.otlp`."""
    make = _grpc if section.protocol == "grpc" else _http
    headers = {name: secret(value) or "" for name, value in section.headers.items()}
    left_out = Rejections(), Rejections()
    if section.tls is not None:  # the exporters would find out at the first export
        client_context(section.tls.ca, section.tls.cert, section.tls.key, "sinks.otlp.tls")
    spans, logs = make(section.endpoint, headers, section.tls, left_out)
    wants_logs = section.logs or section.placement == "log"
    return Exporters(spans() if section.placement != "log" else None, logs() if wants_logs else None, *left_out)


def from_environment(environ: Mapping[str, str]) -> Exporters | None:
    """Exporters as OTEL_EXPORTER_OTLP_* name them, read by the SDK itself; None where no endpoint is set.

    Without a protocol it is gRPC, as in OpenTelemetry's own Python set-up, but HTTP where the port is 4318.
    """
    endpoint = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    _check(endpoint)
    wanted = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = wanted or ("http/protobuf" if urlsplit(endpoint).port == 4318 else "grpc")
    left_out = Rejections()
    match protocol:
        case "grpc":
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

            return Exporters(_heard(Grpc(), left_out), None, left_out)
        case "http/protobuf":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

            return Exporters(Http(session=_session(left_out)), None, left_out)
    raise ConfigError(f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol} is not known; use grpc or http/protobuf")


def _check(endpoint: str) -> None:
    """Raises ConfigError for an endpoint of the environment that nothing could be sent to."""
    try:
        # The path of a URL is not looked at, unlike in the configuration: the exporter of the environment takes one.
        is_a_url = "://" in endpoint and not endpoint.startswith("unix:")
        otlp_endpoint(endpoint, "http/protobuf" if is_a_url else "grpc")
    except ValueError as error:
        raise ConfigError(f"OTEL_EXPORTER_OTLP_ENDPOINT: {error}") from None


def signal_url(endpoint: str, signal: str) -> str:
    """The URL of a signal (`traces`, `logs`): an endpoint without a path gets `/v1/SIGNAL`, one with a path is taken
    as it is, save that its own `/v1/traces` becomes `/v1/logs` for logs."""
    parts = urlsplit(endpoint)
    path = f"/v1/{signal}" if parts.path in ("", "/") else parts.path
    if path.endswith("/v1/traces"):
        path = f"{path.removesuffix('traces')}{signal}"
    return urlunsplit(parts._replace(path=path))


def _grpc(
    endpoint: str, headers: Mapping[str, str], tls: ClientTls | None, left_out: tuple[Rejections, Rejections]
) -> tuple[Any, Any]:
    import grpc
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    common: dict[str, Any] = {
        "endpoint": endpoint,
        "insecure": tls is None and not endpoint.startswith("https://"),
        "headers": {name.lower(): value for name, value in headers.items()},
        "timeout": TIMEOUT,
    }
    if tls is not None:
        read = {name: path.read_bytes() if path else None for name, path in tls}
        common["credentials"] = grpc.ssl_channel_credentials(read["ca"], read["key"], read["cert"])
    of_spans, of_logs = left_out
    return lambda: _heard(OTLPSpanExporter(**common), of_spans), lambda: _heard(OTLPLogExporter(**common), of_logs)


def _http(
    endpoint: str, headers: Mapping[str, str], tls: ClientTls | None, left_out: tuple[Rejections, Rejections]
) -> tuple[Any, Any]:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    common: dict[str, Any] = {"headers": dict(headers), "timeout": TIMEOUT}
    if tls is not None:
        named = {"certificate_file": tls.ca, "client_key_file": tls.key, "client_certificate_file": tls.cert}
        common |= {name: str(path) if path else None for name, path in named.items()}

    def spans() -> SpanExporter:
        return OTLPSpanExporter(signal_url(endpoint, "traces"), session=_session(left_out[0]), **common)

    def logs() -> LogRecordExporter:
        return OTLPLogExporter(signal_url(endpoint, "logs"), session=_session(left_out[1]), **common)

    return spans, logs


def _heard(exporter: Any, rejections: Rejections) -> Any:
    """The same gRPC exporter, which throws answers away: this listens where they pass. One that does not let it is said
    to be deaf."""
    if not all(hasattr(exporter, name) for name in ("_stub", "_channel", "_initialize_channel_and_stub")):
        _log.warning("%s does not tell what a receiver leaves out (partial_success)", type(exporter).__name__)
        return exporter
    make = exporter._stub

    def stub(channel: Any) -> Any:
        made = make(channel)
        export = made.Export

        def told(**call: Any) -> Any:
            answer = export(**call)
            rejections.of_answer(answer)
            return answer

        made.Export = told
        return made

    exporter._stub = stub
    exporter._channel.close()
    exporter._initialize_channel_and_stub()
    return exporter


def _session(rejections: Rejections) -> Any:
    """A session that reads the answers, which the exporter does not, and in which a redirect is a failure: the exporter
    does not follow it and would call it a success."""
    import requests

    def refuse_redirect(response: Any, **_: Any) -> None:
        if 300 <= response.status_code < 400:
            response.close()
            raise requests.HTTPError(f"{response.url} redirects to {response.headers.get('location')}")

    session = requests.Session()
    session.hooks["response"] += [refuse_redirect, rejections.of_http]
    return session
