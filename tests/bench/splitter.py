"""What a Collector's load-balancing exporter does, for the benchmark: every span of a trace to the same replica."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def replica_of(trace_id: bytes, replicas: int) -> int:
    """By another hash than the service samples by."""
    return crc32(trace_id) % replicas


def split(body: bytes, replicas: int) -> Sequence[bytes]:
    """The request of each replica, in their order; empty where it gets nothing."""
    parts = [ExportTraceServiceRequest() for _ in range(replicas)]
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            own = {}
            for span in scope.spans:
                to = replica_of(span.trace_id, replicas)
                if to not in own:
                    written = parts[to].resource_spans.add(resource=resource.resource, schema_url=resource.schema_url)
                    own[to] = written.scope_spans.add(scope=scope.scope, schema_url=scope.schema_url)
                own[to].spans.append(span)
    return [part.SerializeToString() for part in parts]
