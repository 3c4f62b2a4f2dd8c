"""The words of the two closed tables, in the order of precedence."""

from otel_ctxscore.core.outcomes import Reason, TraceOutcome

OUTCOMES = """
scored partly_scored unscored not_sampled not_rag own_evaluation screened over_budget redelivered
"""
REASONS = """
no_contexts no_content no_query no_response documents_without_text documents_incomplete redacted unranked
extractor_error judge_incomplete judge_truncated judge_unreadable judge_refused judge_rejected judge_unavailable
internal_error
"""


def test_outcomes_of_a_trace() -> None:
    assert [outcome.value for outcome in TraceOutcome] == OUTCOMES.split()


def test_unscored_reasons() -> None:
    assert [reason.value for reason in Reason] == REASONS.split()
