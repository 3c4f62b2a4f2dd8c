"""A cross-encoder as judge: what a reranker thinks of each context, as a calibrated probability."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from otel_ctxscore.core.model import JudgedBy, Judgement, RagRun, Verdict
from otel_ctxscore.judges.calibration import Calibration, logistic
from otel_ctxscore.judges.local import Lexical, by_question, shipped, used_by
from otel_ctxscore.judges.pair_model import PairModel


class Pairs(Protocol):
    """The model that judges a query with each of its contexts."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def log_odds(self, query: str, texts: Sequence[str]) -> tuple[list[float], int]: ...


class CrossEncoderJudge:
    """Judges by a cross-encoder exported to ONNX, in this process, on a thread of its own.

    Fills `useful` with probabilities; `used` comes from the local judge's lexical model. Never `relevance` or
    `missing`. `model` is a folder or a name in the hub's local cache, `calibration` a file as `calibrate` writes it:
    without one, a model's own level is taken, which for rerankers is often far from a person's yes. Needs the extra
    `cross-encoder`. Raises ConfigError.
    """

    tier = "cross_encoder"
    fills = frozenset({"useful", "used"})

    def __init__(
        self,
        model: str | Pairs,
        *,
        calibration: str | Path | None = None,
        lexical: Lexical | None = None,
    ) -> None:
        self._pairs = PairModel(model) if isinstance(model, str) else model
        self._lexical = lexical or shipped()
        self._calibration = Calibration.read(calibration) if calibration is not None else Calibration()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cross-encoder-judge")
        self.model = self._pairs.name
        parts = [self._pairs.version, self._lexical.version, self._calibration.a, self._calibration.b]
        self.version = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]

    async def judge(self, run: RagRun) -> Judgement:
        """Probabilities for each context of `run.judged`, each against its own question."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, run)

    def _judge(self, run: RagRun) -> Judgement:
        started = time.perf_counter()
        verdicts: dict[int, Verdict] = {}
        cut = 0
        for question, places in by_question(run).items():
            texts = [run.judged[place].text for place in places]
            odds, shortened = self._pairs.log_odds(question, texts)
            cut += shortened
            used: Sequence[float | None] = used_by(self._lexical, question, texts, run.response) or [None] * len(texts)
            for place, z, share in zip(places, odds, used, strict=True):
                verdicts[place] = Verdict(useful=self._calibration(logistic(z)), used=share)
        took = time.perf_counter() - started
        judged_by = JudgedBy(self.tier, self.model, self.version, calls=1, cost_usd=0.0, seconds=took, cut_contexts=cut)
        return Judgement([verdicts[place] for place in range(len(run.judged))], judged_by=judged_by)
