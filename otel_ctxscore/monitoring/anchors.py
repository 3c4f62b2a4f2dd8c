"""Anchors: labelled runs with kept scores. Judged again, only the judge can have moved."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.spans import UNKNOWN_SERVICE
from otel_ctxscore.core.stats import kept_score
from otel_ctxscore.core.stats.anchors import PASSES
from otel_ctxscore.monitoring.labels import LabelledRun, parse
from otel_ctxscore.monitoring.store import UNREADABLE, Store
from otel_ctxscore.telemetry.metrics import ratio

log = logging.getLogger(__name__)

KIND = "anchor"
Evaluator = tuple[str, str]
"""Scorer and version."""
Judging = Callable[[RagRun], Awaitable[Evaluation]]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A labelled run and the score, 0..1, that each evaluator gave it when it was pinned: the mean of three."""

    id: str
    labelled: LabelledRun
    kept: Mapping[Evaluator, float]

    @classmethod
    def of(cls, labelled: LabelledRun) -> Anchor:
        """An anchor that is not pinned. The same run gives the same id."""
        run = labelled.run
        texts = [run.service, run.query, [context.text for context in run.judged], run.response]
        return cls(hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12], labelled, {})

    def speaks_of(self, service: str) -> bool:
        """Whether the run is like those of a service: it is of that service, or was given without one."""
        return self.labelled.run.service in (service, UNKNOWN_SERVICE)

    def as_dict(self) -> dict[str, Any]:
        """The line with its kept scores."""
        kept = [
            {"scorer": scorer, "version": version, "score": score} for (scorer, version), score in self.kept.items()
        ]
        return {**self.labelled.line, "id": self.id, "kept": kept}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Anchor:
        """What `as_dict` wrote. Raises ValueError, KeyError or TypeError for anything else."""
        line = {key: value for key, value in state.items() if key not in ("id", "kept")}
        kept = {(one["scorer"], one["version"]): float(one["score"]) for one in state["kept"]}
        return cls(str(state["id"]), parse(line), kept)


async def known(store: Store) -> list[Anchor]:
    """The anchors that are kept."""
    found: list[Anchor] = []
    for name, state in (await store.all(KIND)).items():
        try:
            found.append(Anchor.restored(state))
        except UNREADABLE as error:
            log.error("state: anchor %s cannot be read and is left out: %s", name, error)
    return found


def keep(store: Store, anchor: Anchor) -> None:
    """Keep an anchor, in place of the one with the same id."""
    store.put(KIND, anchor.id, anchor.as_dict())


def scores(evaluation: Evaluation) -> dict[Evaluator, float]:
    """The mean score of each evaluator; one that gave none is absent."""
    found: dict[Evaluator, list[float]] = {}
    for score in evaluation.scores:
        value = ratio(score)
        if value is not None:
            found.setdefault((score.name, score.version), []).append(value)
    return {evaluator: sum(values) / len(values) for evaluator, values in found.items()}


def pinned(anchor: Anchor, passes: Iterable[Evaluation]) -> Anchor:
    """The anchor with the scores of three passes kept, beside those of other versions. An evaluator that did not give
    a score each time keeps none."""
    each = [scores(evaluation) for evaluation in passes]
    whole = set.intersection(*(set(one) for one in each)) if len(each) >= PASSES else set()
    return replace(anchor, kept={**anchor.kept, **{e: kept_score([one[e] for one in each]) for e in sorted(whole)}})


def differences(anchor: Anchor, evaluation: Evaluation) -> dict[Evaluator, float]:
    """Score now minus kept score, of each evaluator that the anchor was pinned for."""
    now = scores(evaluation)
    return {evaluator: score - anchor.kept[evaluator] for evaluator, score in now.items() if evaluator in anchor.kept}
