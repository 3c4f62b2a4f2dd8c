"""Small OTLP/JSON requests for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def span(
    trace: int, number: int, parent: int | None, attributes: Mapping[str, object], **fields: object
) -> dict[str, Any]:
    """A span of OTLP/JSON with small ids; `fields` are further ones of the span."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": "1760000000000000000",
        "endTimeUnixNano": "1760000001000000000",
        "attributes": [{"key": key, "value": value(one)} for key, one in attributes.items()],
        **fields,
    }


def at(seconds: float, spans: Iterable[Mapping[str, object]]) -> list[dict[str, Any]]:
    """The spans as if they had ended at a moment (Unix seconds)."""
    end = int(seconds * 1e9)
    return [{**one, "startTimeUnixNano": str(end - 10**9), "endTimeUnixNano": str(end)} for one in spans]


def value(one: object) -> dict[str, Any]:
    """An AnyValue."""
    if isinstance(one, bool):
        return {"boolValue": one}
    if isinstance(one, int):
        return {"intValue": str(one)}
    if isinstance(one, float):
        return {"doubleValue": one}
    if isinstance(one, list):
        return {"arrayValue": {"values": [value(inner) for inner in one]}}
    return {"stringValue": str(one)}


def request(spans: Iterable[Mapping[str, object]], service: str = "shop") -> bytes:
    """The request of these spans, as JSON."""
    resource = {"attributes": [{"key": "service.name", "value": value(service)}]}
    scope = {"scope": {"name": "test"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()


def rag(
    trace: int = 1, documents: Iterable[str] = ("a", "b"), query: str = "Which port?", response: str = "7443."
) -> list[dict[str, Any]]:
    """Root and retriever of one trace, in OpenInference's attributes."""
    texts = {f"retrieval.documents.{n}.document.content": text for n, text in enumerate(documents)}
    chain = {"openinference.span.kind": "CHAIN", "input.value": query, "output.value": response}
    retriever = {"openinference.span.kind": "RETRIEVER", "input.value": query, **texts}
    return [span(trace, 1, None, chain), span(trace, 2, 1, retriever)]
