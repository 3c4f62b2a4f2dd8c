"""The retrievals of one turn: what was found, what of it counts, and why the rest does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from otel_ctxscore.core.conventions.document_fields import Document
from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.tools import failed, retrieves, returned
from otel_ctxscore.core.conventions.tree import Tree
from otel_ctxscore.core.conventions.turns import Turn
from otel_ctxscore.core.conventions.values import is_cut, is_redacted, whole
from otel_ctxscore.core.conventions.vocabulary import Question, Reading, Role
from otel_ctxscore.core.model import Kind
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.spans import Span

RANK = {
    kind: place for place, kind in enumerate((Kind.RERANKER, Kind.RETRIEVER, Kind.TOOL, Kind.VECTOR_DB, Kind.PROMPT))
}
KINDS = {
    Role.RERANKER: Kind.RERANKER,
    Role.RETRIEVER: Kind.RETRIEVER,
    Role.VECTOR_DB: Kind.VECTOR_DB,
    Role.TOOL: Kind.TOOL,
}
MAX_CANDIDATES = 500
"""Retrievals of one turn that are looked at; a turn with more is no turn."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a retrieval of the turn. `reason` says why it has no contexts that count.

    `given`: what a reranker chose from. `place`: in the order of the tree.
    """

    span: Span
    kind: Kind
    listed: Documents
    question: Question | None
    dialect: str
    place: int
    reason: Reason | None = None
    given: frozenset[str] = frozenset()
    ranked: bool = True

    @property
    def usable(self) -> bool:
        return self.reason is None

    @property
    def texts(self) -> frozenset[str]:
        return self.listed.texts


@dataclass(frozen=True, slots=True)
class Rejected:
    candidate: Candidate
    why: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """The retrievals of a turn and what was put aside."""

    kept: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]


def candidates_in(turn: Turn, seen: Seen, added: tuple[str, ...]) -> tuple[Candidate, ...]:
    """What the spans of a turn hold of retrievals, in the order of the tree."""
    found: list[Candidate] = []
    for span in turn.spans:
        found += _of_span(span, seen, added)[: MAX_CANDIDATES - len(found)]
        if len(found) >= MAX_CANDIDATES:
            break
    return joined_by_id(tuple(_reranked(found, seen, turn)), seen, turn)


def _reranked(found: Sequence[Candidate], seen: Seen, turn: Turn) -> Iterator[Candidate]:
    """The candidates; a reranker that wrote no documents is given those that the turn handed on after it, where these
    are a choice from what was retrieved."""
    known = {key for c in found for key in c.listed.ids | c.texts}
    passed = [(span, one) for span in turn.spans for one in seen.of(span.span_id).passed or ()]
    chosen = next(((s, one) for s, one in passed if one.has_text and (one.ids or one.texts) <= known), None)
    for candidate in found:
        if candidate.kind is not Kind.RERANKER or candidate.listed.documents or chosen is None:
            yield candidate
            continue
        span, listed = chosen
        documents = tuple(replace(document, span=span.span_id) for document in listed.documents)
        yield replace(candidate, listed=replace(listed, documents=documents), reason=reason_of(listed))


def _of_span(span: Span, seen: Seen, added: tuple[str, ...]) -> list[Candidate]:
    reading = seen.of(span.span_id)
    kind = KINDS.get(reading.role) or (Kind.RETRIEVER if reading.documents is not None else None)
    if kind is None:
        return []
    lists = _tool_lists(span, reading, added) if kind is Kind.TOOL else _lists(reading)
    return [_candidate(span, kind, listed, reading, seen.tree.place[span.span_id]) for listed in lists]


def _lists(reading: Reading) -> Sequence[Documents]:
    """The lists of a retriever; an empty one where it wrote none."""
    return (Documents((), ""),) if reading.documents is None else reading.documents


def _tool_lists(span: Span, reading: Reading, added: tuple[str, ...]) -> Sequence[Documents]:
    named = retrieves(reading.name, added) or (reading.name is None and retrieves(span.name, added))
    if reading.documents is not None:
        return reading.documents
    if reading.result is None or failed(reading.result) or reading.failed:
        return (Documents((), ""),) if named else ()
    return returned(reading.result, named=named) or ()


def _candidate(span: Span, kind: Kind, listed: Documents, reading: Reading, place: int) -> Candidate:
    given = frozenset(key for one in reading.candidates or () for key in one.texts | one.ids)
    reason = reason_of(listed, silent=_is_silent(reading, listed))
    asked = reading.question
    return Candidate(span, kind, listed, asked, reading.dialect, place, reason, given, ranked=not listed.joined)


def _is_silent(reading: Reading, listed: Documents) -> bool:
    return not listed.at and ((reading.silent and not reading.has_content) or reading.role is Role.VECTOR_DB)


def reason_of(listed: Documents, *, silent: bool = False) -> Reason | None:
    """Why a list has no contexts that count, None where it has some."""
    texts = [d.text for d in listed.documents if d.text is not None and d.text.strip()]
    if any(is_redacted(text) for text in texts):
        return Reason.REDACTED
    if listed.incomplete or any(is_cut(text) for text in texts):
        return Reason.DOCUMENTS_INCOMPLETE
    if not listed.documents:
        return Reason.NO_CONTENT if silent else Reason.NO_CONTEXTS
    if not texts:
        return Reason.DOCUMENTS_WITHOUT_TEXT
    return Reason.DOCUMENTS_INCOMPLETE if any(d.text is None for d in listed.documents) else None


def joined_by_id(candidates: Sequence[Candidate], seen: Seen, turn: Turn) -> tuple[Candidate, ...]:
    """Documents without text get that of another list of the turn that has their id."""
    if not any(_lacks_text(c.listed) for c in candidates):
        return tuple(candidates)
    known = dict(reversed([*_with_text(turn, seen, candidates)]))
    return tuple(_filled(c, known) if _lacks_text(c.listed) else c for c in candidates)


def _with_text(turn: Turn, seen: Seen, candidates: Sequence[Candidate]) -> Iterator[tuple[str, Document]]:
    """Documents with an id and a text that the turn holds anywhere, each with the span it was read in."""
    lists = [(c.span.span_id, c.listed) for c in candidates]
    for span in turn.spans:
        reading = seen.of(span.span_id)
        lists += [(span.span_id, listed) for listed in (*(reading.candidates or ()), *(reading.passed or ()))]
    for span_id, listed in lists:
        yield from ((d.id, replace(d, span=span_id)) for d in listed.documents if d.id and d.text and d.text.strip())


def _lacks_text(listed: Documents) -> bool:
    return any(d.text is None for d in listed.documents)


def _filled(candidate: Candidate, known: dict[str, Document]) -> Candidate:
    def filled(document: Document) -> Document:
        twin = known.get(document.id or "") if document.text is None else None
        return replace(document, text=twin.text, at=twin.at, span=twin.span) if twin else document

    listed = replace(candidate.listed, documents=tuple(map(filled, candidate.listed.documents)))
    return replace(candidate, listed=listed, reason=reason_of(listed))


def settled(candidates: Iterable[Candidate], tree: Tree) -> Sorted:
    """Which candidates are the retrievals of a turn.

    Reranked lists before retrievers', tools' and databases'; the outer before the inner of the same kind. What
    holds the same documents again is put aside, and so is an empty list in or around one that is not.
    """
    kept: list[Candidate] = []
    rejected: list[Rejected] = []
    for candidate in sorted(candidates, key=_precedence):
        why = next((why for other in kept if (why := _covered(candidate, other, tree))), "")
        if why:
            rejected.append(Rejected(candidate, why))
        else:
            kept = _without_stages(kept, candidate, rejected, tree)
    kept.sort(key=lambda c: c.place)
    return Sorted(tuple(kept), tuple(rejected))


def _precedence(candidate: Candidate) -> tuple[bool, int, bool, int]:
    return (
        not candidate.usable,
        RANK[candidate.kind],
        candidate.listed.joined or (len(candidate.texts) == 1 and candidate.kind is Kind.TOOL),
        candidate.place,
    )


def _without_stages(kept: list[Candidate], last: Candidate, rejected: list[Rejected], tree: Tree) -> list[Candidate]:
    """`kept` and `last`, without the rerankers whose output `last` ranked again."""
    earlier = [
        c for c in kept if c.kind is last.kind is Kind.RERANKER and last.texts and last.texts <= c.texts and last.usable
    ]
    rejected += [Rejected(c, "ranked again by a later reranker") for c in earlier]
    return [c for c in kept if c not in earlier] + [last]


def _covered(candidate: Candidate, other: Candidate, tree: Tree) -> str:
    """Why `candidate` says nothing that `other` does not, '' where it does."""
    nested = tree.nested(candidate.span.span_id, other.span.span_id) and candidate.span is not other.span
    if not candidate.usable:
        return _covered_empty(candidate, other, nested=nested)
    if nested and RANK[other.kind] <= RANK[candidate.kind]:
        return f"nested with the {other.kind.value} {other.span.name!r}, whose documents count"
    shared = candidate.texts & other.texts
    if other.kind is Kind.RERANKER and candidate.kind is not Kind.RERANKER:
        chosen = shared or (candidate.texts | candidate.listed.ids) & other.given
        return "ranked again by the reranker" if chosen else ""
    if candidate.span.span_id == other.span.span_id:
        return ""
    twice = candidate.span.scope.name != other.span.scope.name or candidate.kind is not other.kind
    if twice and (candidate.texts == other.texts or _holds_all(candidate, other)):
        return f"the same documents as in the {other.kind.value} {other.span.name!r}"
    return ""


def _covered_empty(candidate: Candidate, other: Candidate, *, nested: bool) -> str:
    if nested:
        return f"nested with the {other.kind.value} {other.span.name!r}"
    if not other.usable:
        return ""
    if candidate.kind is Kind.RERANKER or (candidate.kind is Kind.VECTOR_DB and candidate.reason is Reason.NO_CONTENT):
        return f"says nothing that the {other.kind.value} {other.span.name!r} does not"
    twice = candidate.reason is Reason.DOCUMENTS_WITHOUT_TEXT or candidate.span.scope.name != other.span.scope.name
    if twice and candidate.listed.ids and candidate.listed.ids <= other.listed.ids:
        return f"the same documents as in the {other.kind.value} {other.span.name!r}"
    return "a failed call beside one that succeeded" if candidate.span.status_code == 2 else ""


def _holds_all(candidate: Candidate, other: Candidate) -> bool:
    """Whether a joined text is made of the other's documents, or a list is part of the other's."""
    if candidate.kind is other.kind:
        return False
    if candidate.texts < other.texts:
        return True
    together = whole(" ".join(candidate.texts))
    return bool(other.texts) and all(text in together for text in other.texts)
