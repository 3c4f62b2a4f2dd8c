"""Scores the retrieval quality of RAG systems.

This is the door for notebooks and plug-ins: the values that flow, the scorers, the judges and what a judge, scorer or
sink of your own implements. Importing it loads no model, provider or transport; the judges load when first named.

    >>> import asyncio
    >>> from otel_ctxscore import ContextPrecision, LocalJudge, RagRun, Retrieval, score_runs
    >>> run = RagRun("Which port does the ledger use?", [Retrieval(["The ledger listens on port 7443."])])
    >>> [evaluation] = asyncio.run(score_runs([run], [ContextPrecision()], LocalJudge()))
    >>> evaluation.outcome.value
    'scored'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.evaluation import score_runs
from otel_ctxscore.ports import AskingScorer, Asks, DroppedError, Judge, JudgeError, Scorer, Sink, SinkError
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance, Penalties

if TYPE_CHECKING:
    from otel_ctxscore.io.posting import Poster, TryAgain
    from otel_ctxscore.io.results import evaluation_id
    from otel_ctxscore.judges.local import LocalJudge
    from otel_ctxscore.litellm_judge import LiteLLMJudge
    from otel_ctxscore.scorers.rubric import Rubric

__all__ = [
    "AskingScorer",
    "Asks",
    "ConfigError",
    "Context",
    "ContextPrecision",
    "ContextRelevance",
    "DroppedError",
    "Evaluation",
    "Judge",
    "JudgeError",
    "JudgedBy",
    "Judgement",
    "LiteLLMJudge",
    "LocalJudge",
    "Penalties",
    "Poster",
    "RagRun",
    "Reason",
    "Retrieval",
    "Rubric",
    "Score",
    "Scorer",
    "Sink",
    "SinkError",
    "TraceOutcome",
    "TryAgain",
    "Verdict",
    "evaluation_id",
    "score_runs",
]

_WHEN_NAMED = {
    "LiteLLMJudge": "otel_ctxscore.litellm_judge",
    "LocalJudge": "otel_ctxscore.judges.local",
    "Poster": "otel_ctxscore.io.posting",
    "Rubric": "otel_ctxscore.scorers.rubric",
    "TryAgain": "otel_ctxscore.io.posting",
    "evaluation_id": "otel_ctxscore.io.results",
}


def __getattr__(name: str) -> Any:
    if name not in _WHEN_NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_NAMED[name]), name)


def __dir__() -> list[str]:
    return __all__
