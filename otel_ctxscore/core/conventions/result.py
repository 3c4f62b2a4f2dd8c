"""What extraction takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import Literal

from otel_ctxscore.core.conventions.mapping import Mapping
from otel_ctxscore.core.model import RagRun
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Trace


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration section `extraction`. `retrieval_tools` are names of tools that retrieve whatever their
    names say; `prompt_separator` parts the contexts that stand joined in a prompt. With `own_contexts` an extractor
    of the user's own gives the contexts: a turn with a query is a run also where no retrieval is recognised."""

    retrievals: Literal["each", "merge", "last"] = "each"
    query_from: Literal["user", "retrieval"] = "user"
    min_document_score: float | None = None
    max_contexts: int | None = None
    prompt_separator: str | None = None
    retrieval_tools: tuple[str, ...] = ()
    mappings: tuple[Mapping, ...] = ()
    own_contexts: bool = False


@dataclass(frozen=True, slots=True)
class Considered:
    """Something in a span that might have been part of a run, and why it is not."""

    span_id: str
    what: str
    why_not: str


@dataclass(frozen=True, slots=True)
class SpanRead:
    """What was made of a span: the dialect that knew it, its role in a word, and what was read there as
    (part, attribute)."""

    dialect: str
    role: str
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in a trace of `service`.

    `outcome` and `reason` are None where at least one run can be judged by some scorer. `hint`: what to switch on
    or set, where that would help. `reads`: by span id, what was made of each span that some dialect knows.
    """

    convention: str | None = None
    runs: tuple[RagRun, ...] = ()
    considered: tuple[Considered, ...] = ()
    outcome: TraceOutcome | None = None
    reason: Reason | None = None
    hint: str | None = None
    reads: MappingOf[str, SpanRead] = field(default_factory=dict)
    service: str = UNKNOWN_SERVICE


Plugin = Callable[[Trace, Options], Extraction | None]
"""A convention of the user's own: an extraction, or None for a trace that it does not know."""
