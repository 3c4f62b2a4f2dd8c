"""The exchange with one model about one question, until a reply is whole or it is clear that none will be.

Where a reply has no content, its reasoning channel is read in its place, by the same rules: some servers put the
answer there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from otel_ctxscore.completion import Answer, Question
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges.endpoint import Endpoint
from otel_ctxscore.judges.prices import Price
from otel_ctxscore.judges.reply import Wrong
from otel_ctxscore.judges.spending import Spending
from otel_ctxscore.judges.stopwatch import Stopwatch

T = TypeVar("T")

_CALLS = 3
"""The first, one repair and one with a larger limit."""
_CUT_OFF = {"length", "max_tokens"}
_WIDEST = 2
_FINISH_WORD = re.compile(r"[a-z_]{1,30}", re.ASCII)


class ReplyError(Exception):
    """No whole reply. `detail` quotes nothing of what the model wrote."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Dialogue:
    """One model with what it learns about it: how long its replies get, thinking included, and what it costs."""

    def __init__(self, endpoint: Endpoint, price: Price | None) -> None:
        self.endpoint = endpoint
        self._price = price
        self._width = 0

    async def until_whole(
        self,
        build: Callable[[str | None], Question],
        read: Callable[[str], T | Wrong],
        watch: Stopwatch,
        spending: Spending,
        tries: int | None,
    ) -> T:
        """What `read` makes of a whole reply to `build(what was wrong before)`. Raises ReplyError."""
        wrong: str | None = None
        begun = width = self._width
        last = Wrong(Reason.JUDGE_UNREADABLE, "")
        for _ in range(_CALLS):
            asked = _widened(build(wrong), width)
            answer, seconds = await self.endpoint.ask(asked, watch, tries=tries)
            spending.add(asked, answer, seconds, self._price)
            outcome = _whole(answer, read)
            if not isinstance(outcome, Wrong):
                self._width = max(self._width, width)
                return outcome
            last = replace(outcome, what=f"{outcome.what} (finish reason {_finish(answer)})")
            if outcome.reason is Reason.JUDGE_TRUNCATED and width == begun:
                width = begun + 1
            elif outcome.reason is not Reason.JUDGE_TRUNCATED and wrong is None:
                wrong, spending.repaired = outcome.what, True
            else:
                break
        raise ReplyError(last.reason, last.what)


def _whole(answer: Answer, read: Callable[[str], T | Wrong]) -> T | Wrong:
    if answer.refusal or answer.finish_reason == "content_filter":
        raise ReplyError(Reason.JUDGE_REFUSED, f"the model refused (finish reason {_finish(answer)})")
    if answer.finish_reason in _CUT_OFF:
        return Wrong(Reason.JUDGE_TRUNCATED, "the reply was cut off")
    return read(answer.text if answer.text.strip() else answer.reasoning)


def _widened(question: Question, width: int) -> Question:
    """Room for a reply four times as long and for thinking, for each step of width."""
    steps = min(width, _WIDEST)
    return replace(question, max_tokens=question.max_tokens * 4**steps + 4000 * steps) if steps else question


def _finish(answer: Answer) -> str:
    return answer.finish_reason if _FINISH_WORD.fullmatch(answer.finish_reason) else "none"
