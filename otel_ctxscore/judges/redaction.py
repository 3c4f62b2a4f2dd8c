"""What must not leave the process is taken out of the text before a prompt is built from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from otel_ctxscore.plugins import imported
from otel_ctxscore.ports import ConfigError

Redaction = Callable[[str], str]

_PLUGIN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PLACEHOLDER = "[redacted]"


def redaction(rules: Iterable[str]) -> Redaction:
    """One function that applies all rules in order.

    A rule of the form `package.module:function` is a function of text to text (a plain pattern of that form is
    written with `[:]`); any other is a regular expression whose matches become `[redacted]`. A function that
    raises stops the judging of that run: text is never sent unredacted. Raises ConfigError for a rule that is
    neither.
    """
    steps = [_rule(rule, f"redact[{place}]") for place, rule in enumerate(rules)]

    def redact(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return redact


def _rule(rule: str, key: str) -> Redaction:
    if _PLUGIN.fullmatch(rule):
        return imported(rule, key)
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise ConfigError(f"{key}: {rule!r} is no regular expression: {error}") from None
    return lambda text: pattern.sub(_PLACEHOLDER, text)
