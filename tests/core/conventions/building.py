"""Traces built by hand for tests: spans in a few words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from otel_ctxscore.core.conventions import Extraction, Options, extract
from otel_ctxscore.core.model import RagRun
from otel_ctxscore.core.spans import Attributes, Event, LogRecord, Resource, Scope, Span, Trace, Value

TRACE_ID = b"\x11" * 16
QUERY = "How long is the warranty on the Aurora kettle?"
ANSWER = "It has a 24 month warranty."
KETTLE = "The Aurora kettle comes with a 24 month limited warranty."
RETURNS = "Returns are accepted within 30 days of purchase."
TOASTER = "The Solis toaster has six browning levels."


@dataclass
class Built:
    """A trace that grows span by span, each a second after the one before."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)

    def span(
        self,
        name: str = "span",
        parent: bytes = b"",
        attributes: Attributes | None = None,
        *events: Event,
        scope: str = "",
        status: int = 0,
        dropped: int = 0,
        dropped_events: int = 0,
    ) -> bytes:
        """Adds a span and gives its id."""
        number = len(self.spans) + 1
        span_id = number.to_bytes(8, "big")
        self.spans.append(
            Span(
                TRACE_ID,
                span_id,
                parent,
                name,
                1,
                number * 10**9,
                number * 10**9 + 1,
                attributes or {},
                events,
                status_code=status,
                resource=Resource({"service.name": "shop"}),
                scope=Scope(scope),
                dropped_attributes_count=dropped,
                dropped_events_count=dropped_events,
            )
        )
        return span_id

    def log(self, span_id: bytes, name: str, body: Value = None, attributes: Attributes | None = None) -> None:
        self.logs.append(LogRecord(TRACE_ID, span_id, name, body, attributes or {}, time_ns=len(self.logs) + 1))

    def extraction(self, options: Options | None = None) -> Extraction:
        return extract(Trace(TRACE_ID, tuple(self.spans), tuple(self.logs)), options or Options())

    def run(self, options: Options | None = None) -> RagRun:
        """The only run of the trace."""
        (run,) = self.extraction(options).runs
        return run


def typed(kind: str, given: object = None, gave: object = None, **more: Value) -> dict[str, Value]:
    """Attributes of an OpenInference span; what is no text is written as JSON."""
    values: dict[str, Value] = {"openinference.span.kind": kind, **more}
    for name, value in (("input.value", given), ("output.value", gave)):
        if value is not None:
            values[name] = value if isinstance(value, str) else json.dumps(value)
    return values


def listed(*texts: str, prefix: str = "retrieval.documents") -> dict[str, Value]:
    """A flattened list of documents."""
    return {f"{prefix}.{rank}.document.content": text for rank, text in enumerate(texts)}


def messages(*turns: tuple[str, str]) -> str:
    """Messages of the GenAI conventions, as the JSON of an attribute."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in turns])


def chat(*heard: tuple[str, str], said: str | None = None, **more: Value) -> dict[str, Value]:
    """Attributes of a GenAI model call."""
    answer = {} if said is None else {"gen_ai.output.messages": messages(("assistant", said))}
    return {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages(*heard), **answer, **more}


def texts(run: RagRun) -> list[list[str]]:
    """The texts of each retrieval of a run."""
    return [[context.text for context in retrieval.contexts] for retrieval in run.retrievals]
