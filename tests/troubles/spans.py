"""The cases of `cases.jsonl`: what went wrong elsewhere, with input and the right answer.

Spans stand there in a shorthand; `request` writes them as an OTLP/JSON request, as any exporter would.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

Shorthand = dict[str, Any]

EPOCH_MS = 1_760_000_000_000
"""What `start_ms`, `end_ms` and `time_ms` count from."""


@cache
def cases() -> dict[str, Shorthand]:
    """All cases by id."""
    lines = (Path(__file__).parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def request(spans: list[Shorthand]) -> bytes:
    """An ExportTraceServiceRequest in JSON: one ResourceSpans for each resource, in the order of the spans."""
    resources: dict[str, list[Shorthand]] = {}
    for span in spans:
        resource = span.get("resource", {"service.name": "shop"})
        resources.setdefault(json.dumps(resource, sort_keys=True), []).append(span)
    groups = [_group(json.loads(resource), listed) for resource, listed in resources.items()]
    return json.dumps({"resourceSpans": groups}).encode()


def _group(resource: Shorthand, spans: list[Shorthand]) -> Shorthand:
    scoped = {"scope": {"name": "case"}, "spans": list(map(_span, spans))}
    return {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scoped]}


def _span(span: Shorthand) -> Shorthand:
    return {
        "traceId": span["trace"],
        "spanId": _id(span["span"]),
        "parentSpanId": _id(span.get("parent") or ""),
        "name": span.get("name", "span"),
        "kind": 1,
        "startTimeUnixNano": _nanos(span.get("start_ms", 0)),
        "endTimeUnixNano": _nanos(span.get("end_ms", 1)),
        "attributes": _attributes(span.get("attrs", {})),
        "droppedAttributesCount": span.get("droppedAttributesCount", 0),
        "events": list(map(_event, span.get("events", []))),
        "status": {},
    }


def _event(event: Shorthand) -> Shorthand:
    return {
        "name": event["name"],
        "timeUnixNano": _nanos(event.get("time_ms", 0)),
        "attributes": _attributes(event.get("attrs", {})),
    }


def _id(short: str) -> str:
    """An id is filled up on the left; none stays none."""
    return short.rjust(16, "0") if short else ""


def _nanos(milliseconds: int | None) -> str:
    return "0" if milliseconds is None else str((EPOCH_MS + milliseconds) * 1_000_000)


def _attributes(values: Shorthand) -> list[Shorthand]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: Any) -> Shorthand:
    """A plain value as an AnyValue; `{"$bytes_hex": ...}` and the like name the other types."""
    match value:
        case None | {"$empty": _}:
            return {}
        case {"$bytes_hex": str(digits)}:
            return {"bytesValue": base64.b64encode(bytes.fromhex(digits)).decode()}
        case {"$kvlist": dict(entries)}:
            return {"kvlistValue": {"values": _attributes(entries)}}
        case {"$array": list(elements)} | list(elements):
            return {"arrayValue": {"values": list(map(any_value, elements))}}
        case bool():
            return {"boolValue": value}
        case {"$int": number} | int(number):
            return {"intValue": str(number)}
        case float():
            return {"doubleValue": value}
        case {"$string": str(text)} | str(text):
            return {"stringValue": text}
    raise ValueError(f"no value of the shorthand: {value!r}")
