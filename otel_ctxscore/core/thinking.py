"""Where a reply thinks: what stands there is no answer. Each family of models marks it in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WORD = (
    r"(?:\w{1,12}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis|monologue|antthinking)"
)
_MARK = re.compile(
    rf"(?P<start><{_WORD}(?:\s[^<>]{{0,200}})?>|◁{_WORD}▷|\[THINK\]|<\|(?:begin_of|start)_{_WORD}\|>|<unused94>"
    r"|<\|channel\|>(?:analysis|commentary)\b[^<>]{0,200}<\|message\|>)"
    rf"|</{_WORD}>|◁/{_WORD}▷|\[/THINK\]|<\|end(?:_of)?_{_WORD}\|>|<unused95>"
    r"|<\|channel\|>final\b[^<>]{0,200}<\|message\|>|assistantfinal",
    re.IGNORECASE,
)
"""Qwen, DeepSeek, Claude, Kimi, Magistral, Command, MedGemma and others by their tags; gpt-oss by its channels, also
where a server dropped the tokens around `assistant` and `final`."""
_SIGNS = ("<", "◁", "[THINK]", "[/THINK]", "assistantfinal")
"""A text without any of these has no mark."""


def thinking(text: str, apart: Iterable[range] = ()) -> list[range]:
    """The stretches of a text that are thinking, marks included, in order. `apart` are stretches whose marks are text,
    in order.

    One that was begun and not ended runs to the end of the text. One that is ended and was not begun runs from the
    beginning: many servers put the first mark into the prompt.
    """
    if not any(sign in text for sign in _SIGNS):
        return []
    found: list[range] = []
    begun: int | None = None
    for mark in _outside(_MARK.finditer(text), apart):
        if mark["start"]:
            begun = mark.start() if begun is None else begun
        elif begun is None:
            found = [range(mark.end())]
        else:
            found.append(range(begun, mark.end()))
            begun = None
    return found if begun is None else [*found, range(begun, len(text))]


def said(text: str) -> str:
    """The text without its thinking, and without space around it."""
    return "".join(text[part.start : part.stop] for part in spoken(text, thinking(text))).strip()


def spoken(text: str, thought: Iterable[range]) -> Iterator[range]:
    """The stretches between those that are `thought`."""
    at = 0
    for stretch in thought:
        yield range(at, stretch.start)
        at = stretch.stop
    yield range(at, len(text))


def _outside(marks: Iterable[re.Match[str]], apart: Iterable[range]) -> Iterator[re.Match[str]]:
    stretches = iter(apart)
    stretch = next(stretches, None)
    for mark in marks:
        while stretch is not None and stretch.stop <= mark.start():
            stretch = next(stretches, None)
        if stretch is None or mark.start() not in stretch:
            yield mark
