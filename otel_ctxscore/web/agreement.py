"""How far a person and the judge say the same of a run."""

from __future__ import annotations

from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.records import Record
from otel_ctxscore.monitoring.labels import VERDICT_FIELDS


def agreement(run: Record, label: Record) -> Record:
    """For each of useful, relevance and used: of how many contexts both speak (`of`), and of how many they say the same
    (`same`)."""
    judged = {context["index"]: context for context in judged_contexts(run)}
    found: Record = {}
    for name in VERDICT_FIELDS:
        pairs = [
            (verdict[name], judged[verdict["index"]][name])
            for verdict in label["contexts"]
            if verdict["index"] in judged
        ]
        both = [(one, other) for one, other in pairs if one is not None and other is not None]
        found[name] = {"same": sum(one == other for one, other in both), "of": len(both)}
    return found


def with_agreement(run: Record) -> list[Record]:
    """The labels of a run, each with its agreement with the judge."""
    return [{**label, "agreement": agreement(run, label)} for label in run["labels"]]
