"""From a record to a delivery: which encoding it is in, what it holds, and what its headers add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.codec import Encoding, Taken, sniff, take_any, take_logs, take_traces, unframed
from otel_ctxscore.core.spans import KeptLog, KeptSpan, Origin, Resource, Scope

ENCODINGS: dict[str, Encoding] = {"otlp_proto": "proto", "otlp_json": "json"}
Headers = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads the values of records.

    `encoding` is `auto`, `otlp_proto` or `otlp_json`; `headers_as_resource` names the headers that become resource
    attributes `kafka.header.NAME`. Records of `logs_topics` hold log records, those of all other topics spans; a
    topic that stands in both lists holds either.
    """

    encoding: str = "auto"
    headers_as_resource: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    logs_topics: frozenset[str] = frozenset()

    def read(self, topic: str, value: bytes | None, headers: Headers, keeps: Callable[[bytes], bool]) -> Taken:
        """What the record holds; nothing where it is a tombstone. Raises Malformed: it belongs to the dead letters."""
        if not value:
            return Taken()
        body = unframed(value)
        encoding = ENCODINGS.get(self.encoding) or sniff(body)
        taken = self._take(topic)(body, encoding, keeps)
        chosen = {
            f"kafka.header.{k}": v.decode("utf-8", "replace") for k, v in headers if k in self.headers_as_resource
        }
        if not chosen or not (taken.spans or taken.logs):
            return taken
        return _with_resource(taken, chosen)

    def _take(self, topic: str) -> Callable[[bytes, Encoding, Callable[[bytes], bool]], Taken]:
        if topic not in self.logs_topics:
            return take_traces
        return take_any if topic in self.topics else take_logs


def reader_of(settings: Settings) -> RecordReader:
    """The reader that these settings describe."""
    return RecordReader(
        settings.encoding,
        frozenset(settings.headers_as_resource),
        frozenset(settings.topics if settings.pattern is None else ()),
        frozenset(settings.logs_topics),
    )


def _with_resource(taken: Taken, attributes: dict[str, str]) -> Taken:
    """The same with further resource attributes; origins stay shared."""
    wrapped: dict[int, Origin] = {}

    def origin_of(kept: KeptSpan | KeptLog) -> Origin:
        origin = kept.origin
        if id(origin) not in wrapped:

            def decode() -> tuple[Resource, Scope]:
                resource, scope = origin.decoded
                return Resource({**resource.attributes, **attributes}), scope

            wrapped[id(origin)] = Origin(decode, json=origin.json, size=sum(map(len, attributes.values())))
        return wrapped[id(origin)]

    return replace(
        taken,
        spans=[structs.replace(span, origin=origin_of(span)) for span in taken.spans],
        logs=[structs.replace(record, origin=origin_of(record)) for record in taken.logs],
    )
