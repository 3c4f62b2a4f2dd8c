"""An evaluation without the text of its run: for whoever may have the numbers and not the words."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval

WITHHELD = "[withheld]"


def without_text(evaluation: Evaluation) -> Evaluation:
    """The same with placeholders for all text of query, history, response, contexts, missing pieces and notes, and no
    attributes of the run's span. Contexts that were distinct stay distinct, so that verdicts still belong to them, and
    a query or response that is blank stays blank, so that the run lacks what it lacked."""
    judgement = evaluation.judgement
    return replace(
        evaluation,
        run=_run(evaluation.run),
        judgement=None if judgement is None else _judgement(judgement),
        detail="",
    )


def _run(run: RagRun) -> RagRun:
    return replace(
        run,
        query=_text(run.query),
        retrievals=[_retrieval(run, retrieval) for retrieval in run.retrievals],
        response=_text(run.response),
        history=[(role, WITHHELD) for role, _ in run.history],
        attributes={},
    )


def _retrieval(run: RagRun, retrieval: Retrieval) -> Retrieval:
    refused = retrieval.refused is not None
    places = [""] * len(retrieval.contexts) if refused else [f" {place}" for place in run.places(retrieval)]
    contexts = [_context(*pair) for pair in zip(retrieval.contexts, places, strict=True)]
    return replace(retrieval, contexts=contexts, query=_text(retrieval.query))


def _context(context: Context, place: str) -> Context:
    return replace(context, text=f"[withheld{place}]")


def _judgement(judgement: Judgement) -> Judgement:
    missing = judgement.missing
    return replace(
        judgement,
        verdicts=[replace(verdict, note="") for verdict in judgement.verdicts],
        missing=None if missing is None else [WITHHELD] * len(missing),
    )


def _text(text: str | None) -> str | None:
    return WITHHELD if text and text.strip() else text
