"""A model that does what a test says, in process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from otel_ctxscore.completion import Answer, CompletionError, Fault, Question
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.testing import Call, verdicts

Script = Callable[[Call], Answer | CompletionError]


def said(content: object, **more: Any) -> Answer:
    """An answer with this content; anything but a string is written as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return Answer(text=text, **{"finish_reason": "stop", "prompt_tokens": 900, "completion_tokens": 90, **more})


def down() -> CompletionError:
    return CompletionError(Fault.DOWN, "InternalServerError 500")


def agreeing(call: Call) -> Answer:
    """Everything is useful."""
    return said(verdicts([True] * len(call.contexts)))


def in_order(*answers: Answer | CompletionError) -> Script:
    """One after the other, the last one again and again."""
    left = list(answers)
    return lambda call: left.pop(0) if len(left) > 1 else left[0]


class ScriptedCompletion:
    """Takes `latency` seconds a call; ends a call that takes longer than allowed, as the real one does."""

    input_limit: int | None = None
    output_limit: int | None = None

    def __init__(self, script: Script = agreeing, *, model: str = "openai/scripted", latency: float = 0.0) -> None:
        self.model = model
        self.script = script
        self.latency = latency
        self.questions: list[Question] = []
        self.started: list[float] = []

    @property
    def calls(self) -> list[Call]:
        return [call_of(question) for question in self.questions]

    async def complete(self, question: Question, seconds: float) -> Answer:
        self.questions.append(question)
        self.started.append(asyncio.get_running_loop().time())
        answer = self.script(call_of(question))
        latency = self.latency
        await asyncio.sleep(min(latency, seconds))
        if latency > seconds:
            raise CompletionError(Fault.DOWN, "no whole answer in time")
        if isinstance(answer, CompletionError):
            raise answer
        return answer


def call_of(question: Question) -> Call:
    return Call({"messages": question.messages, "max_tokens": question.max_tokens}, {}, 0.0)


def run_of(*contexts: str, query: str = "Which port does the ledger listen on?", response: str | None = None) -> RagRun:
    return RagRun(query, [Retrieval([Context(text) for text in contexts])], response)


TWO: Sequence[str] = ("The ledger service listens on port 7443.", "The canteen opens at noon.")
