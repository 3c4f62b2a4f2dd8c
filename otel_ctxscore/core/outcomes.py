"""What can become of a trace, why there is no score, and why a trace was closed: the closed sets of words."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class TraceOutcome(StrEnum):
    """What became of a trace. Each trace that reaches the assembler has exactly one."""

    SCORED = "scored"
    PARTLY_SCORED = "partly_scored"
    UNSCORED = "unscored"
    NOT_SAMPLED = "not_sampled"
    NOT_RAG = "not_rag"
    OWN_EVALUATION = "own_evaluation"
    SCREENED = "screened"
    OVER_BUDGET = "over_budget"
    REDELIVERED = "redelivered"


class Reason(StrEnum):
    """Why there is no score. In the order of precedence: of several reasons the first one is a trace's reason."""

    NO_CONTEXTS = "no_contexts"
    NO_CONTENT = "no_content"
    NO_QUERY = "no_query"
    NO_RESPONSE = "no_response"
    DOCUMENTS_WITHOUT_TEXT = "documents_without_text"
    DOCUMENTS_INCOMPLETE = "documents_incomplete"
    REDACTED = "redacted"
    UNRANKED = "unranked"
    EXTRACTOR_ERROR = "extractor_error"
    JUDGE_INCOMPLETE = "judge_incomplete"
    JUDGE_TRUNCATED = "judge_truncated"
    JUDGE_UNREADABLE = "judge_unreadable"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_REJECTED = "judge_rejected"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    INTERNAL_ERROR = "internal_error"


REASON_ORDER = {reason: place for place, reason in enumerate(Reason)}


class Closed(StrEnum):
    """Why the assembler closed a trace."""

    ROOT_SEEN = "root_seen"
    IDLE = "idle"
    MAX_AGE = "max_age"
    EVICTED = "evicted"
    DRAINED = "drained"


def first_reason(reasons: Iterable[Reason]) -> Reason | None:
    """Of several reasons the one that stands first in the table, None where there is none."""
    return min(reasons, key=REASON_ORDER.__getitem__, default=None)
