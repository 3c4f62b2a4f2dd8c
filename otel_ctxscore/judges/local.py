"""The built-in judge: no key, no network, no model download. It says what was useful and what was used."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from otel_ctxscore.core.model import JudgedBy, Judgement, Level, RagRun, Verdict
from otel_ctxscore.judges.calibration import Calibration

LEVEL_CUTS: tuple[tuple[float, Level], ...] = ((0.65, "high"), (0.35, "medium"), (0.15, "low"), (0.0, "none"))
"""Lowest probability of each derived level. Fixed cuts: their agreement with graded human labels is weak (quadratic
kappa of .16 to .25), which is why levels are off by default and have a definition of their own."""


class Lexical(Protocol):
    """The trained model that judges: probabilities for the contexts of one query."""

    @property
    def version(self) -> str: ...

    def useful(self, query: str, contexts: list[str]) -> list[float]: ...

    def used(self, query: str, contexts: list[str], response: str) -> list[float] | None:
        """None where the response does not let it tell, such as a refusal to answer."""


def level(p: float) -> Level:
    """The level derived from a probability of being useful."""
    return next((name for lowest, name in LEVEL_CUTS if p >= lowest), "none")


class LocalJudge:
    """Judges by a trained lexical model in this process, on a thread of its own.

    Fills `useful` and `used` with probabilities and, with `derive_levels`, `relevance` from fixed cuts of `useful`;
    never `missing`. `calibration` is a file as `calibrate` writes it. Raises ConfigError where that cannot be read.
    """

    tier = "local"
    model = "lexical"

    def __init__(
        self,
        *,
        derive_levels: bool = False,
        calibration: str | Path | None = None,
        lexical: Lexical | None = None,
    ) -> None:
        self._lexical = lexical or shipped()
        self._calibration = Calibration.read(calibration) if calibration is not None else Calibration()
        self._derive_levels = derive_levels
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-judge")
        self.fills = frozenset({"useful", "used"} | ({"relevance"} if derive_levels else set()))
        self.version = self._fingerprint()

    def _fingerprint(self) -> str:
        parts = [self._lexical.version, LEVEL_CUTS, self._calibration.a, self._calibration.b]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]

    async def judge(self, run: RagRun) -> Judgement:
        """Probabilities for each context of `run.judged`, each against its own question."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, run)

    def _judge(self, run: RagRun) -> Judgement:
        started = time.perf_counter()
        verdicts: dict[int, Verdict] = {}
        for question, places in by_question(run).items():
            texts = [run.judged[place].text for place in places]
            verdicts.update(zip(places, self._verdicts(question, texts, run.response), strict=True))
        took = time.perf_counter() - started
        judged_by = JudgedBy(self.tier, self.model, self.version, calls=1, cost_usd=0.0, seconds=took)
        return Judgement([verdicts[place] for place in range(len(run.judged))], judged_by=judged_by)

    def _verdicts(self, question: str, texts: list[str], response: str | None) -> list[Verdict]:
        useful = [self._calibration(p) for p in self._lexical.useful(question, texts)]
        used = used_by(self._lexical, question, texts, response)
        return [
            Verdict(
                useful=p,
                relevance=level(p) if self._derive_levels else None,
                used=used[place] if used is not None else None,
            )
            for place, p in enumerate(useful)
        ]


def by_question(run: RagRun) -> dict[str, list[int]]:
    """Places of `run.judged` by the query they are judged against."""
    places: dict[str, list[int]] = {}
    for place, question in enumerate(run.questions):
        places.setdefault(question, []).append(place)
    return places


def used_by(lexical: Lexical, question: str, texts: list[str], response: str | None) -> list[float] | None:
    """For each context the probability that the response used it; None without a response, and for a refusal."""
    return lexical.used(question, texts, response) if response and response.strip() else None


def shipped() -> Lexical:
    """The model that comes with the package."""
    from otel_ctxscore.judges.lexical import LexicalModel

    return LexicalModel.load()
