"""Which spans and which of their values a mapping means, and how a configuration says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import jmespath

from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.patterns import Expression
from otel_ctxscore.core.spans import Attributes, Span, Value

SPAN_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A value that must be equal, or a regular expression (`/.../`) that must be found in it."""

    text: str
    expression: Expression | None = None

    def matches(self, value: str) -> bool:
        """Raises TimeoutError where the expression takes too long over the value."""
        return self.expression.is_in(value) if self.expression else self.text == value


@dataclass(frozen=True, slots=True)
class Selector:
    """Which spans: all of what is given must match. An attribute with pattern None only has to be there."""

    name: Pattern | None = None
    kind: str | None = None
    scope: Pattern | None = None
    attributes: tuple[tuple[str, Pattern | None], ...] = ()

    def matches(self, span: Span) -> bool:
        kind = SPAN_KINDS[span.kind] if 0 <= span.kind < len(SPAN_KINDS) else ""
        return (
            (self.name is None or self.name.matches(span.name))
            and (self.kind is None or self.kind == kind)
            and (self.scope is None or self.scope.matches(span.scope.name))
            and all(_has(span.attributes, name, pattern) for name, pattern in self.attributes)
        )


ANY = Selector()


def _has(attributes: Attributes, name: str, pattern: Pattern | None) -> bool:
    if name not in attributes:
        return False
    return pattern is None or pattern.matches(text_of(attributes[name]))


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute key, then JMESPath for what lies in JSON (`app.payload#hits[*].doc`). `listed`: the key names a
    flattened list (`KEY.*`)."""

    key: str
    expression: str | None = None
    listed: bool = False

    def node(self, attributes: Attributes) -> Node | None:
        value = attributes.get(self.key)
        if value is None:
            return None
        return Node(value, self.key) if self.expression is None else searched(Node(value, self.key), self.expression)


def searched(node: Node, expression: str) -> Node | None:
    """What JMESPath finds in a value, None where it finds nothing or does not apply."""
    try:
        found = cast("Value", jmespath.search(expression, node.opened().value))
    except (jmespath.exceptions.JMESPathError, TypeError, ValueError, RecursionError):
        return None
    return None if found is None else Node(found, f"{node.at}#{expression}")


def declared_selector(declared: object, where: str) -> Selector:
    if isinstance(declared, str):
        return Selector(name=declared_pattern(declared, where))
    given = declared_map(declared, where)
    declared_known(given, where, ("name", "kind", "scope", "attributes"))
    if not given:
        raise ValueError(f"{where}: give at least one of name, kind, scope, attributes")
    return Selector(
        declared_pattern(given.get("name"), f"{where}.name"),
        _kind(given.get("kind"), f"{where}.kind"),
        declared_pattern(given.get("scope"), f"{where}.scope"),
        declared_attributes(given.get("attributes"), f"{where}.attributes"),
    )


def _kind(declared: object, where: str) -> str | None:
    if declared is None:
        return None
    kind = declared_text(declared, where).lower().removeprefix("span_kind_")
    if kind not in SPAN_KINDS:
        raise ValueError(f"{where}: {declared!r} is none of {', '.join(SPAN_KINDS)}")
    return kind


def declared_attributes(declared: object, where: str) -> tuple[tuple[str, Pattern | None], ...]:
    if declared is None:
        return ()
    given = declared_map(declared, where)
    return tuple((name, declared_pattern(value, f"{where}.{name}")) for name, value in given.items())


def declared_pattern(declared: object, where: str) -> Pattern | None:
    if declared is None:
        return None
    text = declared if isinstance(declared, str) else text_of(cast("Value", declared))
    if len(text) < 2 or not (text.startswith("/") and text.endswith("/")):
        return Pattern(text)
    try:
        return Pattern(text, Expression(text[1:-1], text))
    except ValueError as error:
        raise ValueError(f"{where}: {text} {error}") from None


def declared_path(declared: object, where: str, *, listed: bool = False) -> Path:
    text = declared_text(declared, where)
    key, mark, expression = text.partition("#")
    if listed and not mark and key.endswith(".*"):
        return Path(key.removesuffix(".*"), listed=True)
    if not key or (mark and not expression):
        raise ValueError(f"{where}: {text!r} is no attribute key with an optional #JMESPATH")
    return Path(key, _expression(expression, where) if expression else None)


def _expression(text: str, where: str) -> str:
    try:
        jmespath.compile(text)
    except (jmespath.exceptions.JMESPathError, ValueError) as error:
        raise ValueError(f"{where}: {text!r} is no JMESPath: {str(error).splitlines()[0]}") from None
    return text


def declared_optional(declared: object, where: str) -> str | None:
    return None if declared is None else declared_text(declared, where)


def declared_text(declared: object, where: str) -> str:
    if not isinstance(declared, str) or not declared.strip():
        raise ValueError(f"{where}: a text is needed" + ("" if declared is None else f", not {declared!r}"))
    return declared


def declared_map(declared: object, where: str) -> Mapping[str, object]:
    if not isinstance(declared, Mapping):
        raise ValueError(f"{where}: a map of names is needed" + ("" if declared is None else f", not {declared!r}"))
    return declared


def declared_known(given: Mapping[str, object], where: str, names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{where}: unknown key {name!r}; known are {', '.join(names)}")
