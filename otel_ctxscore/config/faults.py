"""What is wrong with a configuration, a line a fault, with the path as the user wrote it and without secrets."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from otel_ctxscore.config.model import Config
from otel_ctxscore.config.values import SECRET

REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
"""What stands for the content of a variable or a file."""
_MISPLACED = frozenset({"model_type", "model_attributes_type", "dict_type", "list_type", "tuple_type"})
"""Faults of a value that stands where a section or a list is wanted: nobody knows what it was meant to be."""


def of_yaml(path: Path, error: yaml.YAMLError | UnicodeDecodeError) -> str:
    """The line about a file that is not YAML. It quotes nothing: what stands beside a fault may be a secret."""
    if isinstance(error, yaml.constructor.ConstructorError):
        problem = "there is a tag or a key that cannot be read"
    elif isinstance(error, yaml.MarkedYAMLError):
        problem = error.problem or error.context or "it cannot be read"
    else:
        problem = str(getattr(error, "reason", "it cannot be read"))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{path}: is not YAML: {problem}{where}"


def of_values(error: ValidationError, raw: object) -> list[str]:
    """A line for each value that the model refuses. `raw` is the configuration before references were resolved."""
    return [_line(fault, raw) for fault in error.errors()]


def joined(path: str, key: object) -> str:
    """The path of a key, or of a place in a list, under `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def _line(fault: ErrorDetails, raw: object) -> str:
    path, sections = _known(fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"{path}: unknown key{_nearest(str(fault['loc'][-1]), _known(fault['loc'][:-1])[1])}"
    if fault["type"] == "union_tag_not_found":
        if misspelt := difflib.get_close_matches("type", map(str, fault["input"]), n=1):
            return f"{joined(path, misspelt[0])}: unknown key; did you mean type?"
        return f"{path}.type: is missing; one of: {', '.join(str(_tag(s)) for s in sections)}"
    if fault["type"] == "union_tag_invalid":
        shown = _shown(f"{path}.type", fault["input"]["type"], _written(raw, (*fault["loc"], "type")))
        return f"{path}.type: is none of: {', '.join(str(_tag(s)) for s in sections)}{shown}"
    if fault["type"] == "missing":
        return f"{path}: is missing"
    message = fault["msg"].removeprefix("Value error, ") + _nearest_value(fault)
    shown = "" if fault["type"] in _MISPLACED else _shown(path, fault["input"], _written(raw, fault["loc"]))
    begin = f"{path}: " if path else ""
    return f"{begin}{message[:1].lower()}{message[1:]}{shown}"


def _shown(path: str, value: object, written: object) -> str:
    """What was given, where it cannot be or hold a secret: a URL may hold a password, and so may a reference."""
    if SECRET.search(path) or (value and not isinstance(value, str | int | float)):
        return ""
    if isinstance(written, str) and REFERENCE.search(written):
        return f" (given: {written!r})"
    return "" if isinstance(value, str) and re.search("[@?]", value) else f" (given: {value!r})"


def _written(raw: object, place: tuple[int | str, ...]) -> object:
    """What stands at a place of the configuration as it was written. Steps that nobody has written are passed over."""
    for step in place:
        if isinstance(raw, dict):
            raw = raw.get(step, raw)
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
    return raw


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections that an annotation can hold, through unions, lists and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models(inner)


def _known(place: tuple[int | str, ...]) -> tuple[str, list[type[BaseModel]]]:
    """The path as the user wrote it, and the sections it leads to. Pydantic names the members of unions in
    between, which no user has written: such a step is the tag or the class of one of the sections."""
    path, here = "", [Config]
    sections: list[type[BaseModel]] = list(here)
    for step in place:
        fields = [s.model_fields[step] for s in sections if isinstance(step, str) and step in s.model_fields]
        if fields:
            path = joined(path, step)
            sections = [model for field in fields for model in models(field.annotation)]
            continue
        named = [s for s in sections if step in (s.__name__, _tag(s))]
        if named:
            sections = named
        elif isinstance(step, int) or not str(step).startswith(("function-", "literal[", "list[", "tuple[")):
            path = joined(path, step)
    return path, sections


def _tag(section: type[BaseModel]) -> object:
    tag = section.model_fields.get("type")
    return tag.default if tag is not None else None


def _nearest(key: str, sections: list[type[BaseModel]]) -> str:
    known = sorted({name for section in sections for name in section.model_fields})
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(known)}"


def _nearest_value(fault: ErrorDetails) -> str:
    allowed = re.findall(r"'(\w[^']*)'", str((fault.get("ctx") or {}).get("expected", "")))
    near = difflib.get_close_matches(str(fault["input"]), allowed, n=1)
    return f"; did you mean {near[0]}?" if near else ""
