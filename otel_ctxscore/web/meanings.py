"""What each outcome and reason means, in a sentence for people, and what to do about it."""

from __future__ import annotations

from otel_ctxscore.core.outcomes import Reason, TraceOutcome

OUTCOMES = {
    TraceOutcome.SCORED: "Every scorer that is on gave a value.",
    TraceOutcome.PARTLY_SCORED: "At least one scorer gave a value, and at least one could not.",
    TraceOutcome.UNSCORED: "No scorer could give a value.",
    TraceOutcome.NOT_SAMPLED: "A sampling rule left it out: see sampling.rules.",
    TraceOutcome.NOT_RAG: "No retrieval was recognised in its spans.",
    TraceOutcome.OWN_EVALUATION: "Its spans are those of an evaluator, which are never judged.",
    TraceOutcome.SCREENED: "The local judge saw it, and the LLM was not drawn for it: it counts in the estimate.",
    TraceOutcome.OVER_BUDGET: "The budget left it out: see budget.",
    TraceOutcome.REDELIVERED: "It was read again after a restart and is known to be evaluated.",
}
REASONS = {
    Reason.NO_CONTEXTS: "The retrieval returned nothing, so there is nothing to judge.",
    Reason.NO_CONTENT: "The spans bear no text: switch on the capture of content in the instrumentation.",
    Reason.NO_QUERY: "The user's question was found in no span.",
    Reason.NO_RESPONSE: "The answer was found in no span.",
    Reason.DOCUMENTS_WITHOUT_TEXT: "The retrieval names documents and bears none of their text.",
    Reason.DOCUMENTS_INCOMPLETE: "Part of the retrieved list is missing or cut.",
    Reason.REDACTED: "The text was replaced by a placeholder before it came here.",
    Reason.UNRANKED: "The contexts stand joined in a prompt: they have no order that precision could judge.",
    Reason.EXTRACTOR_ERROR: "The extractor of the configuration failed or was late: see the log.",
    Reason.JUDGE_INCOMPLETE: "The judge left out what the scorer needs.",
    Reason.JUDGE_TRUNCATED: "The judge's reply was cut before its end.",
    Reason.JUDGE_UNREADABLE: "The judge's reply could not be read, nor could the one after it.",
    Reason.JUDGE_REFUSED: "The judge declined to answer.",
    Reason.JUDGE_REJECTED: "The provider rejected the call, as too long or as not allowed.",
    Reason.JUDGE_UNAVAILABLE: "The judge did not answer in time.",
    Reason.INTERNAL_ERROR: "A fault of otel-ctxscore or of a plug-in: the log has its trace back.",
}


def meaning(name: str | None) -> str:
    """What the outcome or reason of this name means; nothing for another name, and for none."""
    return _BY_NAME.get(name or "", "")


_BY_NAME = {str(name): said for table in (OUTCOMES, REASONS) for name, said in table.items()}
