"""Rules, and the YAML that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import yaml


@dataclass(frozen=True, slots=True)
class Record:
    """A recording rule."""

    name: str
    expression: str

    def as_dict(self) -> dict[str, object]:
        return {"record": self.name, "expr": _text(self.expression)}


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule. `wait`: how long the expression must hold; `keep`: how long the alert outlives it."""

    name: str
    expression: str
    wait: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    keep: str | None = None

    def as_dict(self) -> dict[str, object]:
        keep = {"keep_firing_for": self.keep} if self.keep else {}
        return {
            "alert": self.name,
            "expr": _text(self.expression),
            "for": self.wait,
            **keep,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
        }


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other, at the same moment: a rule sees what those before it recorded."""

    name: str
    interval: str
    rules: tuple[Record, ...] | tuple[Alert, ...]


def rules_file(head: str, groups: Iterable[Group]) -> str:
    """The text of a rules file; `head` becomes its comment."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head.strip().splitlines())
    content = [
        {"name": group.name, "interval": group.interval, "rules": [rule.as_dict() for rule in group.rules]}
        for group in groups
    ]
    return comment + yaml.dump({"groups": content}, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)


class _Text(str):
    """Shown as a block where it has more than one line."""


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _block(dumper: yaml.SafeDumper, text: _Text) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_Dumper.add_representer(_Text, _block)


def _text(expression: str) -> _Text:
    return _Text(expression.strip())
