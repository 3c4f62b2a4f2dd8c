"""What a judge asks of a language model and what may come back: the port between the judges and `io`.

It knows one call and nothing of retries: how often, how fast and where else to ask is the judges' own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Fault(StrEnum):
    """Why a call gave no answer, as far as it matters for what to do next."""

    BUSY = "busy"
    """Told to slow down (429): ask again after a pause that all calls keep."""
    DOWN = "down"
    """5xx, time-out or no connection: ask again; many in a row are an outage."""
    REFUSED = "refused"
    """The provider's content filter: final for this request."""
    REJECTED = "rejected"
    """Bad request, unknown model, too long: final for this request."""
    UNAUTHORISED = "unauthorised"
    """Key missing, wrong or without permission: final for every request."""

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed later."""
        return self in (Fault.BUSY, Fault.DOWN)


class CompletionError(Exception):
    """A call without an answer. `detail` is short and holds no secret; `retry_after` is the stated pause in seconds."""

    def __init__(self, fault: Fault, detail: str, retry_after: float | None = None) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Question:
    """One call: chat messages (`role`, `content`), the JSON schema of the wanted reply and the longest reply."""

    messages: Sequence[Mapping[str, str]]
    schema: Mapping[str, object]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `text` is the content or the arguments of the tool call; `reasoning` the reasoning channel.

    `finish_reason` is OpenAI's word (`stop`, `length`, `content_filter`, `tool_calls`), empty where there was no
    choice at all, `malformed` where what came was no completion. Tokens are None where the provider states none.
    `model` is the name the provider answers under.
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    model: str = ""


class Completion(Protocol):
    """One model at one provider."""

    @property
    def model(self) -> str:
        """The configured name, such as `openai/gpt-4.1-mini`."""

    @property
    def input_limit(self) -> int | None:
        """Tokens that a prompt may have, None where that is not known."""

    @property
    def output_limit(self) -> int | None:
        """Tokens that a reply may have, None where that is not known. No call asks for more."""

    async def complete(self, question: Question, seconds: float) -> Answer:
        """Ask once, for at most `seconds` whatever trickles in. Raises CompletionError, and nothing else."""
