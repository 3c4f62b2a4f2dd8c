"""Every span of a trace read by the dialects that it speaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from otel_ctxscore.core.codec.evaluations import is_evaluation, is_evaluation_log
from otel_ctxscore.core.conventions.dialects import CATALOGUE
from otel_ctxscore.core.conventions.signs import session_of
from otel_ctxscore.core.conventions.tree import Tree, tree_of
from otel_ctxscore.core.conventions.values import is_redacted, text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Occurrence, Reading, Role, Sight
from otel_ctxscore.core.spans import Attributes, LogRecord, Span, Trace, Value

NOTHING = Reading()
"""What is read in a span that no dialect knows: in most of them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A trace as it was read: its tree without evaluators and what is below them, and a reading of each span.

    `evaluators` are the spans that were left out for that, `evaluated` tells of an evaluation in spans or logs.
    """

    tree: Tree
    readings: dict[bytes, Reading]
    evaluators: tuple[Span, ...]
    evaluated: bool

    def of(self, span_id: bytes) -> Reading:
        return self.readings[span_id]


def seen_in(trace: Trace, overlays: Iterable[Dialect] = ()) -> Seen:
    """`overlays` are tried on every span, before the dialects."""
    logs = _logs_by_span([log for log in trace.logs if not is_evaluation_log(log)])
    tree, evaluators = _without_evaluators(tree_of((*trace.spans, *_stand_ins(trace, logs))))
    first = tuple(overlays)
    readings = {span.span_id: _read(Sight(span, _occurrences(span, logs)), first) for span in tree.order}
    evaluated = bool(evaluators) or any(map(is_evaluation_log, trace.logs))
    return Seen(tree, readings, evaluators, evaluated)


def _without_evaluators(tree: Tree) -> tuple[Tree, tuple[Span, ...]]:
    out: set[bytes] = set()
    for span in tree.order:
        if is_evaluation(span) or tree.parents.get(span.span_id) in out:
            out.add(span.span_id)
    if not out:
        return tree, ()
    rest = tree_of([span for span in tree.order if span.span_id not in out])
    return rest, tuple(span for span in tree.order if span.span_id in out)


def _logs_by_span(logs: Sequence[LogRecord]) -> dict[bytes, list[LogRecord]]:
    """Log records of each span in the order of their times, which is that of the conversation."""
    found: dict[bytes, list[LogRecord]] = {}
    for log in dict.fromkeys(map(_Once, logs)):
        found.setdefault(log.record.span_id, []).append(log.record)
    for records in found.values():
        records.sort(key=lambda record: record.time_ns)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Once:
    """A log record that equals its repeats: the same words of the same span at the same time."""

    record: LogRecord

    def _key(self) -> tuple[object, ...]:
        record = self.record
        return (record.span_id, record.event_name, record.time_ns, text_of(record.body), _written(record.attributes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _written(attributes: Attributes) -> str:
    return text_of(dict(sorted(attributes.items())))


def _stand_ins(trace: Trace, logs: dict[bytes, list[LogRecord]]) -> Iterator[Span]:
    """Spans for log records whose own span did not come."""
    known = {span.span_id for span in trace.spans}
    for span_id, records in logs.items():
        if span_id and span_id not in known and any(_speaks(record) for record in records):
            first = records[0]
            yield Span(
                trace.trace_id, span_id, name=first.event_name, start_ns=first.time_ns, end_ns=first.time_ns,
                resource=first.resource, scope=first.scope,
            )  # fmt: skip


def _speaks(record: LogRecord) -> bool:
    return record.event_name.startswith("gen_ai.") and not record.event_name.startswith("gen_ai.evaluation")


def _occurrences(span: Span, logs: dict[bytes, list[LogRecord]]) -> tuple[Occurrence, ...]:
    events = [Occurrence(event.name, event.attributes) for event in span.events]
    records = logs.get(span.span_id, ())
    return (*events, *(Occurrence(record.event_name, _with_body(record), "log") for record in records))


def _with_body(record: LogRecord) -> dict[str, Value]:
    """The attributes of a log record and what its body holds, which says more than they do."""
    body = record.body
    entries: dict[str, Value] = dict(body) if isinstance(body, dict) else {}
    return {**record.attributes, **entries, **({} if body is None else {"body": body})}


def _read(sight: Sight, overlays: Sequence[Dialect]) -> Reading:
    dialects = (*overlays, *spoken_by(sight))
    session, failed = session_of(sight), sight.span.status_code == 2
    if not dialects:
        return Reading(session=session, failed=failed) if session or failed else NOTHING
    reading = Reading()
    for dialect in dialects:
        reading = reading.filled(dialect.read(sight))
    redacted = reading.redacted or (reading.role is not Role.OTHER and _hides(reading, sight))
    return replace(reading, session=reading.session or session, redacted=redacted, failed=reading.failed or failed)


def _hides(reading: Reading, sight: Sight) -> bool:
    """Whether placeholders stand in place of contents in a span that some dialect knows."""
    values = [*sight.span.attributes.values(), *(v for o in sight.occurrences for v in o.attributes.values())]
    said = (part.text for message in (*reading.heard, *reading.said) for part in message.texts)
    return any(is_redacted(value) for value in values if isinstance(value, str)) or any(map(is_redacted, said))


def spoken_by(sight: Sight) -> tuple[Dialect, ...]:
    """The dialects of a span: first those whose scope it has, then those whose markers it bears."""
    names = frozenset((*sight.span.attributes, *(occurrence.name for occurrence in sight.occurrences)))
    return _spoken(sight.span.scope.name, names)


@lru_cache(maxsize=1024)
def _spoken(scope: str, names: frozenset[str]) -> tuple[Dialect, ...]:
    """Remembered, for the spans of an instrumentation bear the same names again and again."""
    by_scope = [d for d in CATALOGUE if any(_is_in(scope, own) for own in d.scopes)]
    by_marker = [d for d in CATALOGUE if d not in by_scope and any(name.startswith(d.markers) for name in names)]
    return (*by_scope, *by_marker)


def _is_in(name: str, scope: str) -> bool:
    """Whether a scope is `scope` or one of its parts: `langfuse-sdk` is of `langfuse`, `airflow` not of `ai`."""
    return name.startswith(scope) and (name == scope or not scope[-1].isalnum() or not name[len(scope)].isalnum())
