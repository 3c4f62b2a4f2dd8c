"""What must not leave the process is taken out of the text before a prompt is built from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from otel_ctxscore.core.patterns import Expression
from otel_ctxscore.plugins import imported
from otel_ctxscore.ports import ConfigError

Redaction = Callable[[str], str]

_PLUGIN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PLACEHOLDER = "[redacted]"


def redaction(rules: Iterable[str]) -> Redaction:
    """One function that applies all rules in order.

    A rule of the form `package.module:function` is a function of text to text (a plain pattern of that form is
    written with `[:]`); any other is a regular expression whose matches become `[redacted]`. A function that
    raises, and a pattern that takes too long on a text (TimeoutError), stop the judging of that run: text is never
    sent unredacted. Raises ConfigError for a rule that is neither.
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
        expression = Expression(rule, key)
    except ValueError as error:
        raise ConfigError(f"{key}: {rule!r} {error}") from None
    return lambda text: expression.replaced(text, _PLACEHOLDER)
