"""The splitter of the benchmark loses no span and parts no trace."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench.splitter import replica_of, split
from tests.bench.traces import SPANS, Traces


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_spans_of_a_trace_go_one_way_whatever_request_they_come_in(replicas: int) -> None:
    traces, ways, spans = Traces(), dict[bytes, set[int]](), 0
    runs = [traces.rag(traces.trace_id()) for _ in range(40)]
    for bodies in zip(*runs, strict=True):
        for number, part in enumerate(split(b"".join(bodies), replicas)):
            for resource in ExportTraceServiceRequest.FromString(part).resource_spans:
                assert resource.resource.attributes[0].value.string_value == "shop-0"
                for span in resource.scope_spans[0].spans:
                    ways.setdefault(span.trace_id, set()).add(number)
                    spans += 1
    assert spans == 40 * SPANS
    assert ways == {trace_id: {replica_of(trace_id, replicas)} for trace_id in ways}
    assert len({number for found in ways.values() for number in found}) == replicas
