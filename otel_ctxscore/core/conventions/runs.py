"""A run from the parts of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.conventions.contexts import Candidate, Sorted
from otel_ctxscore.core.conventions.document_fields import Document
from otel_ctxscore.core.conventions.parts import Parts, Read
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.result import Options
from otel_ctxscore.core.conventions.turns import Turn
from otel_ctxscore.core.conventions.values import clean, text_of
from otel_ctxscore.core.model import Context, Provenance, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason, first_reason
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Span, Value

STATUS_ERROR = 2
LONGEST_SERVICE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What a turn gave. `candidates` are all that was found of retrievals, `sorted` those that count."""

    turn: Turn
    sorted: Sorted
    parts: Parts
    candidates: tuple[Candidate, ...]


def run_of(found: Found, seen: Seen, options: Options, trace_id: bytes, *, redelivered: bool) -> RagRun:
    """The run of a turn, complete or with the reason why not."""
    anchor = _anchor(found)
    parts = found.parts
    retrievals = tuple(_retrieval(candidate, options) for candidate in found.sorted.kept)
    missing = _missing(found, seen, retrievals)
    return RagRun(
        query=clean(parts.query.text).strip() if parts.query else None,
        retrievals=retrievals,
        response=clean(parts.response.text).strip() if parts.response else None,
        history=[(role, clean(text)) for role, text in parts.history],
        trace_id=trace_id.hex(),
        span_id=anchor.span_id.hex(),
        service=service_of(anchor.resource.attributes),
        session=_session(found, seen, anchor),
        convention=_convention(found, seen, anchor),
        query_read_from=_provenance(parts.query),
        response_read_from=_provenance(parts.response),
        complete=missing is None,
        incomplete_reason=missing,
        query_from=options.query_from,
        precision_over=options.retrievals,
        attributes={**anchor.resource.attributes, **anchor.attributes},
        start_ns=anchor.start_ns,
        end_ns=anchor.end_ns,
        error=anchor.status_code == STATUS_ERROR,
        trace_state=anchor.trace_state,
        redelivered=redelivered,
    )


def service_of(resource: Mapping[str, Value]) -> str:
    """`service.name` as one label value, whatever type it has."""
    value = resource.get("service.name")
    names = [text_of(one) for one in value] if isinstance(value, list) else [text_of(value)]
    label = clean(", ".join(sorted({name.strip() for name in names if name.strip()})))
    return label[:LONGEST_SERVICE] or UNKNOWN_SERVICE


def _anchor(found: Found) -> Span:
    """The span that holds the turn; of several roots the one that answered, asked or retrieved."""
    if found.turn.anchor is not None:
        return found.turn.anchor
    spoken = found.parts.response or found.parts.query
    return spoken.span if spoken else found.sorted.kept[0].span


def _provenance(read: Read | None) -> Provenance | None:
    return Provenance(read.span.span_id.hex(), read.at) if read else None


def _convention(found: Found, seen: Seen, anchor: Span) -> str | None:
    names = [candidate.dialect for candidate in found.sorted.kept if candidate.dialect]
    return names[0] if names else seen.of(anchor.span_id).dialect or None


def _session(found: Found, seen: Seen, anchor: Span) -> str | None:
    spans = (anchor, *found.turn.spans)
    return next((s for span in spans if (s := seen.of(span.span_id).session) is not None), None)


def _retrieval(candidate: Candidate, options: Options) -> Retrieval:
    """The ranked list. Blank documents are left out: they can be judged by nobody."""
    asked = candidate.question
    span_id = candidate.span.span_id
    contexts = () if candidate.reason else tuple(_contexts(candidate, options))
    return Retrieval(
        contexts=contexts,
        query=clean(asked.text) if asked else None,
        ranked=candidate.ranked,
        span_id=span_id.hex(),
        kind=candidate.kind,
        refused=candidate.reason,
        query_read_from=Provenance(span_id.hex(), asked.at) if asked else None,
    )


def _contexts(candidate: Candidate, options: Options) -> list[Context]:
    documents = [d for d in candidate.listed.documents if (d.text or "").strip() and passes(d, options)]
    return [_context(document, candidate.span) for document in documents[: options.max_contexts]]


def passes(document: Document, options: Options) -> bool:
    """A document without a score, or with a distance, passes any lower limit."""
    limit, score = options.min_document_score, document.score
    return limit is None or score is None or document.distance or score >= limit


def _context(document: Document, span: Span) -> Context:
    return Context(
        clean(document.text or ""),
        id=clean(document.id) if document.id is not None else None,
        document_score=document.score,
        source=clean(document.source) if document.source is not None else None,
        read_from=Provenance((document.span or span.span_id).hex(), document.at),
    )


def _missing(found: Found, seen: Seen, retrievals: Sequence[Retrieval]) -> Reason | None:
    """The first reason why a part of the run is missing, None where nothing is."""
    usable = any(retrieval.refused is None for retrieval in retrievals)
    reasons = [] if usable else [r.refused for r in retrievals if r.refused is not None]
    if found.parts.query is None:
        reasons.append(_why_unsaid(found.turn, seen, Reason.NO_QUERY))
    if found.parts.response is None:
        reasons.append(_why_unsaid(found.turn, seen, Reason.NO_RESPONSE))
    return first_reason(reasons)


def _why_unsaid(turn: Turn, seen: Seen, reason: Reason) -> Reason:
    """`reason`, or what is behind it: placeholders, or content that was never switched on."""
    readings = [seen.of(span.span_id) for span in turn.spans]
    if any(reading.redacted for reading in readings):
        return Reason.REDACTED
    silent = any(reading.silent for reading in readings)
    return Reason.NO_CONTENT if silent and not any(reading.has_content for reading in readings) else reason
