"""What keeps text from a sink of the user's own while `content.emit` is off."""

from __future__ import annotations

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.core.withheld import without_text
from otel_ctxscore.ports import Sink


class WithoutText:
    """A sink that hands evaluations on with placeholders for all text."""

    def __init__(self, sink: Sink) -> None:
        self.name = sink.name
        self._sink = sink

    async def emit(self, evaluation: Evaluation) -> None:
        await self._sink.emit(without_text(evaluation))

    async def close(self) -> None:
        await self._sink.close()
