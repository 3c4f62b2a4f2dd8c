"""An OTLP/HTTP receiver that may refuse for a while."""

from __future__ import annotations

from tests.posted import PostServer


class Receiver(PostServer):
    """Keeps the bodies that it took in `taken`. While `refusing` it answers 503."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.refusing = False
        self.refused = 0
        super().__init__()

    def received(self, body: bytes) -> int:
        if self.refusing:
            self.refused += 1
            return 503
        self.taken.append(body)
        return 200
