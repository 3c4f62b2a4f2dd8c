"""A judge that takes its time and always says the same: `judge: {type: custom, judge: "tests...:factory"}`."""

from __future__ import annotations

import asyncio

from otel_ctxscore.core.model import JudgedBy, Judgement, RagRun, Verdict


class SlowJudge:
    tier, model, version = "custom", "slow", "1"
    fills = frozenset({"useful"})

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def judge(self, run: RagRun) -> Judgement:
        await asyncio.sleep(self._seconds)
        by = JudgedBy(self.tier, self.model, self.version, calls=1)
        return Judgement([Verdict(useful=True)] * len(run.judged), judged_by=by)


def factory(seconds: float = 0.0) -> SlowJudge:
    return SlowJudge(seconds)
