"""Runs, judgements, scores and evaluations: what is read out of a trace and what leaves.

Everything here is a frozen standard-library dataclass. Ids are lower-case hex, as every output writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Literal, TypeVar, cast

from otel_ctxscore.core.outcomes import Reason, TraceOutcome, first_reason
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Attributes

T = TypeVar("T")

YES = 0.5
"""A probability of at least this is a yes."""


class Kind(StrEnum):
    """Where a ranked list of contexts was read."""

    RERANKER = "reranker"
    RETRIEVER = "retriever"
    TOOL = "tool"
    VECTOR_DB = "vector_db"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a part was read: the span (hex id) and `KEY`, `event:NAME/KEY` or `log:NAME/KEY`, then `#PATH` for
    what lies inside JSON (`gen_ai.input.messages#[1].parts[0].content`)."""

    span_id: str | None
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """One retrieved passage. `document_score` is the retriever's own number: a similarity, a distance, anything;
    it never orders. `source` is a name for where the document comes from, such as a file or URL."""

    text: str
    id: str | None = None
    document_score: float | None = None
    source: str | None = None
    read_from: Provenance | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One ranked list: `contexts` in the order of rank. Plain strings are taken as contexts; TypeError for all else.

    `ranked` is false for one joined text, whose parts have no order. `refused` says why the list cannot be
    scored as it stands (`no_contexts`, `documents_incomplete`, ...); it is found where it is not given. `query` is
    the retriever's own query, which may be a rewrite of the user's.
    """

    contexts: Sequence[Context]
    query: str | None = None
    ranked: bool = True
    span_id: str | None = None
    kind: Kind = Kind.RETRIEVER
    refused: Reason | None = None
    query_read_from: Provenance | None = None

    def __post_init__(self) -> None:
        given = cast("Sequence[Context | str]", self.contexts)
        _refuse_one_text("contexts", given)
        contexts = tuple(_context(c) for c in given)
        object.__setattr__(self, "contexts", contexts)
        if self.refused is None and not any(c.text.strip() for c in contexts):
            empty = Reason.DOCUMENTS_WITHOUT_TEXT if contexts else Reason.NO_CONTEXTS
            object.__setattr__(self, "refused", empty)


@dataclass(frozen=True)
class RagRun:
    """One user turn: what was asked, what was retrieved for it, what was answered.

    `history` holds earlier (role, text) of the conversation, oldest first. `span_id` is the anchor: the span that
    run-level scores are about. `probability` is the product of the inclusion probabilities of the run, in (0, 1];
    published means weigh by its inverse. `complete` is false, with `incomplete_reason`, where a part is missing.
    `attributes` are those of the anchor span over those of its resource (for rules and segments), `trace_state` is
    the anchor span's. `query_from` and `precision_over` are the extraction settings `query_from` and `retrievals`.
    """

    query: str | None
    retrievals: Sequence[Retrieval]
    response: str | None = None
    history: Sequence[tuple[str, str]] = ()
    trace_id: str | None = None
    span_id: str | None = None
    service: str = UNKNOWN_SERVICE
    session: str | None = None
    convention: str | None = None
    query_read_from: Provenance | None = None
    response_read_from: Provenance | None = None
    complete: bool = True
    incomplete_reason: Reason | None = None
    query_from: Literal["user", "retrieval"] = "user"
    precision_over: Literal["each", "merge", "last"] = "each"
    probability: float = 1.0
    attributes: Attributes = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0
    error: bool = False
    trace_state: str = ""
    redelivered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "retrievals", _all_of(Retrieval, "retrievals", self.retrievals))
        object.__setattr__(self, "history", tuple(map(_turn, self.history)))

    @cached_property
    def _distinct(self) -> dict[tuple[str | None, str], Context]:
        """The contexts that are judged, by what makes them distinct, in the order of first appearance."""
        found: dict[tuple[str | None, str], Context] = {}
        for retrieval in self.retrievals:
            if retrieval.refused is not None:
                continue
            for context in retrieval.contexts:
                found.setdefault(self.key(retrieval, context), context)
        return found

    def key(self, retrieval: Retrieval, context: Context) -> tuple[str | None, str]:
        """What makes a context distinct: its text and, with `query_from: retrieval`, the retrieval's query."""
        return (self.question(retrieval) if self.query_from == "retrieval" else None, context.text)

    def question(self, retrieval: Retrieval) -> str | None:
        """The query that contexts of `retrieval` are judged against."""
        return (retrieval.query or self.query) if self.query_from == "retrieval" else self.query

    @cached_property
    def judged(self) -> tuple[Context, ...]:
        """The distinct contexts of the turn in order of first appearance: what one judge call sees."""
        return tuple(self._distinct.values())

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The query of each context in `judged`: all the user's, or each the retrieval's own."""
        return tuple(own or self.query or "" for own, _ in self._distinct)

    def places(self, retrieval: Retrieval) -> tuple[int, ...]:
        """For each context of `retrieval`, in rank order, its index in `judged`."""
        index = {key: place for place, key in enumerate(self._distinct)}
        return tuple(index[self.key(retrieval, context)] for context in retrieval.contexts)

    @cached_property
    def refused(self) -> Reason | None:
        """Why no scorer at all can score this run, or None. Such a run never reaches a judge."""
        usable = any(retrieval.refused is None for retrieval in self.retrievals)
        reasons = [] if usable else [r.refused for r in self.retrievals if r.refused is not None]
        if self.query is None or not self.query.strip():
            return first_reason([*reasons, self.incomplete_reason or Reason.NO_QUERY])
        return None if usable else first_reason(reasons) or self.incomplete_reason or Reason.NO_CONTEXTS


def _context(given: object) -> Context:
    context = Context(given) if isinstance(given, str) else given
    if not isinstance(context, Context) or not isinstance(cast("object", context.text), str):
        raise TypeError(f"contexts must be Context or str, each with a text that is a str, not {given!r}")
    if context.document_score is None or type(context.document_score) is float:
        return context
    try:
        return replace(context, document_score=float(context.document_score))
    except (TypeError, ValueError):
        raise TypeError(f"document_score must be a number, not {context.document_score!r}") from None


def _turn(given: object) -> tuple[str, str]:
    if isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(part, str) for part in given):
        return given[0], given[1]
    raise TypeError(f"each of history must be a pair (role, text), not {given!r}")


def _is_probability(p: float) -> bool:
    try:
        return 0 <= p <= 1
    except TypeError:  # a word or a list; any kind of number compares
        return False


def _all_of(kind: type[T], name: str, given: Iterable[T]) -> tuple[T, ...]:
    """What is given, as a tuple. Raises TypeError for anything of another kind: it would fail far from its cause."""
    found = tuple(given)
    wrong = next((one for one in found if not isinstance(one, kind)), None)
    if wrong is not None:
        raise TypeError(f"each of {name} must be a {kind.__name__}, not {wrong!r}")
    return found


def _refuse_one_text(name: str, given: object) -> None:
    """Raises TypeError for a bare string, which would be taken for the list of its characters."""
    if isinstance(given, str | bytes):
        raise TypeError(f"{name} must be a list of them, not a single {type(given).__name__}")


Level = Literal["high", "medium", "low", "none"]


LEVELS: tuple[Level, ...] = ("high", "medium", "low", "none")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one context. A field that the judge does not fill is None.

    `useful`: does it help to give a right answer to the query; `relevance`: how directly it answers the query;
    `used`: does the response use its content. `useful` and `used` may be probabilities in 0..1: yes is >= 0.5.
    Raises ValueError for anything else: a level or number out of range would score as a plain no.
    """

    useful: bool | float | None = None
    relevance: Level | None = None
    used: bool | float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name, p in (("useful", self.useful), ("used", self.used)):
            if p is not None and not _is_probability(p):
                raise ValueError(f"{name} must be true, false or a probability in 0..1, not {p!r}")
            if p is not None and type(p) not in (bool, float):
                object.__setattr__(self, name, float(p))  # numpy's numbers compare to booleans that are none
        if self.relevance is not None and self.relevance not in LEVELS:
            raise ValueError(f"relevance must be one of {', '.join(LEVELS)}, not {self.relevance!r}")

    @property
    def is_useful(self) -> bool | None:
        return None if self.useful is None else self.useful >= YES

    @property
    def is_used(self) -> bool | None:
        return None if self.used is None else self.used >= YES

    @property
    def p_useful(self) -> float | None:
        return None if self.useful is None else float(self.useful)


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Who judged and what it took. `model` and `version` are those that really answered, after any fallback.

    `cost_usd` is None where the price is unknown. `seconds` is the time of the calls. `cut_contexts` counts
    contexts that were shortened to fit. `cached` marks a verdict that was known already.
    """

    tier: str
    model: str
    version: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    repaired: bool = False
    cached: bool = False
    cut_contexts: int = 0
    criterion: str | None = None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judgement a run, for all scorers: a verdict for each context of `run.judged`, in that order.

    `missing`: what the query needs and no context holds; None where the judge does not fill it, () where nothing
    is missing. `judged_by` is None for a judgement built by hand.
    """

    verdicts: Sequence[Verdict]
    missing: Sequence[str] | None = None
    judged_by: JudgedBy | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdicts", _all_of(Verdict, "verdicts", self.verdicts))
        if self.missing is not None:
            _refuse_one_text("missing", self.missing)
            object.__setattr__(self, "missing", tuple(self.missing))


@dataclass(frozen=True, slots=True)
class Score:
    """One number with its reason, or `unscored` and no number.

    `value` is scaled and rounded; `ratio` is the same before scale and rounding, in 0..1: what histograms and means
    use. `definition` names the formula, `version` hashes everything that makes two scores comparable. `retrieval`
    is the index in `run.retrievals` the score is about, None for the whole run.
    """

    name: str
    definition: str
    version: str
    value: float | None
    label: str | None = None
    explanation: str | None = None
    unscored: Reason | None = None
    scale: float = 1
    retrieval: int | None = None
    ratio: float | None = None
    base: float | None = None
    usage_penalty: float | None = None
    missing_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class CheapScore:
    """What the cheaper of two judges let expect of one score: the covariate f, known before the draw.

    `name`, `version` and `retrieval` are those that the score of the dearer judge has, or would have. `value` is
    in 0..1; None where the cheap judgement says nothing.
    """

    name: str
    version: str
    retrieval: int | None
    value: float | None


@dataclass(frozen=True, slots=True)
class Screening:
    """The cheap scores of a run, one for each score that the dearer judge gives or would have given, and the
    probability with which the run was screened, in (0, 1]: that of being drawn for the dearer judge is not in it."""

    probability: float
    scores: Sequence[CheapScore]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run with what was said of it. `judgement` is None where no judge was asked, or it failed.

    `outcome` and `reason` are the run's own. `judged_by` is known also of a judge that failed. Times are Unix
    nanoseconds of the judging. `detail` is free text on a failure, for the log. `screening` is there for every run
    where two judges work together, and None where one judges all.
    """

    run: RagRun
    judgement: Judgement | None
    scores: Sequence[Score]
    outcome: TraceOutcome
    reason: Reason | None = None
    judged_by: JudgedBy | None = None
    started_ns: int = 0
    ended_ns: int = 0
    backfill: bool = False
    revision: int = 0
    detail: str = ""
    screening: Screening | None = None

    @property
    def weight(self) -> float:
        """The inverse of the run's inclusion probability."""
        return 1 / self.run.probability
