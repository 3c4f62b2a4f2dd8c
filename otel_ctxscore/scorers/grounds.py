"""Grounds to give no score, as far as several scorers share them."""

from __future__ import annotations

from collections.abc import Set

from otel_ctxscore.core.model import Judgement, RagRun
from otel_ctxscore.core.outcomes import Reason

PER_CONTEXT = ("useful", "relevance", "used")


def incomplete(judgement: Judgement, needs: Set[str], contexts: int) -> Reason | None:
    """`judge_incomplete` where there is not one verdict a context, or where a needed field is absent from any."""
    wanted = [name for name in PER_CONTEXT if name in needs]
    complete = (
        len(judgement.verdicts) == contexts
        and all(getattr(verdict, name) is not None for verdict in judgement.verdicts for name in wanted)
        and not ("missing" in needs and judgement.missing is None)
    )
    return None if complete else Reason.JUDGE_INCOMPLETE


def no_response(run: RagRun) -> Reason | None:
    """`no_response` where there is none, or a blank one."""
    return None if (run.response or "").strip() else Reason.NO_RESPONSE


def cut_list(run: RagRun) -> Reason | None:
    """`documents_incomplete` where any list of the turn is: what stands for the whole turn cannot be known then."""
    cut = any(retrieval.refused is Reason.DOCUMENTS_INCOMPLETE for retrieval in run.retrievals)
    return Reason.DOCUMENTS_INCOMPLETE if cut else None
