"""What a scripted judge is asked: the parts of the prompt, read back from the request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

_BLOCK = re.compile(
    r"^<<<(?P<mark>[0-9a-f]{32}) (?P<title>[^\n]*)\n(?P<text>.*?)\n(?P=mark)>>>$", re.DOTALL | re.MULTILINE
)
_CONTEXT = re.compile(r"context \[(\d+)\]")
_QUERY_OF = re.compile(r"query of context \[(\d+)\]")
_MARK = re.compile(r"^Boundary: ([0-9a-f]{32})$", re.MULTILINE)


class Call(dict[str, Any]):
    """One request of the judge: the parsed JSON of its body, with what the prompt holds. `headers` have lower-case
    names, `at` is the monotonic time of arrival."""

    def __init__(self, body: Mapping[str, Any], headers: Mapping[str, str], at: float) -> None:
        super().__init__(body)
        self.headers = headers
        self.at = at

    @property
    def body(self) -> Mapping[str, Any]:
        """The parsed JSON: the call itself."""
        return self

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(str(message["content"]) for message in self["messages"])

    @property
    def mark(self) -> str:
        """The boundary of this call; empty where the prompt names none."""
        match = _MARK.search(str(self["messages"][-1]["content"]))
        return match[1] if match else ""

    @cached_property
    def quoted(self) -> tuple[tuple[str, str], ...]:
        """Title and text of each quoted block, in order. Only blocks between this call's own boundary count."""
        text = str(self["messages"][-1]["content"])
        return tuple((m["title"], m["text"]) for m in _BLOCK.finditer(text) if m["mark"] == self.mark)

    @property
    def outside(self) -> str:
        """All that is addressed to the model: the messages without what is quoted in them."""
        return _BLOCK.sub(lambda m: "" if m["mark"] == self.mark else m[0], self.prompt)

    @property
    def contexts(self) -> list[str]:
        """The contexts to be judged, by label."""
        return [text for title, text in self.quoted if _CONTEXT.match(title)]

    @property
    def queries(self) -> list[str]:
        """The query that each context is judged against."""
        own = [text for title, text in self.quoted if _QUERY_OF.match(title)]
        return own or [self.query] * len(self.contexts)

    @property
    def query(self) -> str:
        return self._only("query") or ""

    @property
    def response(self) -> str | None:
        return self._only("response")

    @property
    def history(self) -> list[tuple[str, str]]:
        """Earlier (role, text) of the conversation."""
        title = "earlier message of "
        return [
            (name.removeprefix(title).partition(" ")[0], text) for name, text in self.quoted if name.startswith(title)
        ]

    def _only(self, name: str) -> str | None:
        return next((text for title, text in self.quoted if title.partition(" (")[0] == name), None)
