"""From a record to a delivery: which encoding it is in, what it holds, and what its headers add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from otel_ctxscore.core.codec import Malformed, Taken, sniff, take_any, take_logs, unframed
from otel_ctxscore.core.model import KeptLog, KeptSpan, Origin, Resource, Scope

ENCODINGS = {"otlp_proto": "proto", "otlp_json": "json"}
Headers = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads the values of records. `encoding` is `auto`, `otlp_proto` or `otlp_json`; `headers_as_resource` names
    the headers that become resource attributes `kafka.header.NAME`."""

    encoding: str = "auto"
    headers_as_resource: frozenset[str] = frozenset()

    def read(self, value: bytes, headers: Headers, keeps: Callable[[bytes], bool], *, logs: bool) -> Taken:
        """What the record holds. Raises Malformed: such a record goes to the dead letters."""
        body = unframed(value)
        encoding = ENCODINGS.get(self.encoding) or sniff(body)
        if encoding not in ("proto", "json"):
            raise Malformed(f"unknown encoding {encoding}")
        taken = (take_logs if logs else take_any)(body, "json" if encoding == "json" else "proto", keeps)
        chosen = {
            f"kafka.header.{k}": v.decode("utf-8", "replace") for k, v in headers if k in self.headers_as_resource
        }
        if not chosen or not (taken.spans or taken.logs):
            return taken
        return _with_resource(taken, chosen)


def _with_resource(taken: Taken, attributes: dict[str, str]) -> Taken:
    """The same with further resource attributes; origins stay shared."""
    wrapped: dict[int, Origin] = {}

    def origin_of(kept: KeptSpan | KeptLog) -> Origin:
        origin = kept.origin
        if id(origin) not in wrapped:

            def decode() -> tuple[Resource, Scope]:
                resource, scope = origin.decoded
                return Resource({**resource.attributes, **attributes}), scope

            wrapped[id(origin)] = Origin(decode, json=origin.json)
        return wrapped[id(origin)]

    return replace(
        taken,
        spans=[replace(span, origin=origin_of(span)) for span in taken.spans],
        logs=[replace(record, origin=origin_of(record)) for record in taken.logs],
    )
