"""JSON schema and commented reference of the configuration, made from the model."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from otel_ctxscore.config import values
from otel_ctxscore.config.model import Config

_HEAD = """\
# otel-ctxscore: every key with its default. A file needs only what differs.
# Durations: 500ms 10s 2m 1h 30d. Sizes: 64MiB. ${env:NAME} and ${file:PATH} stand for what they name.
"""


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the configuration file."""
    found = Config.model_json_schema()
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = "otel-ctxscore configuration"
    for section in [found, *found["$defs"].values()]:
        for name, setting in section.get("properties", {}).items():
            section["properties"][name] = _or_a_reference(setting)
    found["$defs"]["Reference"] = {
        "description": "Stands for an environment variable or the text of a file.",
        "pattern": r"\$\{(env|file):[^}]+\}",
        "type": "string",
    }
    return found


def _or_a_reference(setting: dict[str, Any]) -> dict[str, Any]:
    """The schema of a setting that takes `${env:NAME}` in place of its value, where the value is not any text."""
    choices = setting.get("anyOf", [setting])
    if not any(_is_narrow(choice) for choice in choices):
        return setting
    said = {key: setting[key] for key in ("default", "description", "examples", "title") if key in setting}
    bare = [{key: value for key, value in choice.items() if key not in said} for choice in choices]
    return said | {"anyOf": [*bare, {"$ref": "#/$defs/Reference"}]}


def _is_narrow(choice: dict[str, Any]) -> bool:
    return choice.get("type") in ("boolean", "integer", "number") or "enum" in choice or "pattern" in choice


def reference() -> str:
    """The defaults as YAML, each key with its meaning; optional sections stand commented out."""
    return _HEAD + "\n".join(_section(Config(), indent="", off="")) + "\n"


def _section(section: BaseModel, indent: str, off: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        note = f"  # {_note(field)}"
        if isinstance(value, BaseModel):
            yield f"{indent}{off}{name}:{note}"
            yield from _section(value, indent + "  ", off)
        else:
            yield f"{indent}{off}{name}: {_value(value, field)}{note}"
        yield from _alternatives(name, value, field, indent)


def _alternatives(name: str, value: Any, field: FieldInfo, indent: str) -> Iterator[str]:
    """The sections that could stand here in place of the default, as comments."""
    shape = get_origin(field.annotation)
    for model in _sections(field.annotation):
        if isinstance(value, model):
            continue
        yield f"{indent}# {name}:{'  # a list of' if shape is list else ''}"
        bullet = "  - " if shape is list else "  "
        if shape is dict:
            yield f"{indent}#   NAME:"
            bullet = "    "
        for place, line in enumerate(_fields(model)):
            yield f"{indent}# {bullet if place == 0 else ' ' * len(bullet)}{line}".rstrip()


def _fields(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = [section for section in _sections(field.annotation) if "type" not in section.model_fields]
        value = None if field.is_required() else field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel) or (field.is_required() and inner):
            yield f"{name}:  # {_note(field)}{' Required.' if field.is_required() else ''}"
            yield from (f"  {line}" for line in _fields(type(value) if isinstance(value, BaseModel) else inner[0]))
        elif field.is_required():
            yield f"{name}: ...  # {_note(field)} Required."
        else:
            yield f"{name}: {_value(value, field)}  # {_note(field)}"
            if inner:
                yield from _alternatives(name, value, field, "")


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)


def _value(value: Any, field: FieldInfo) -> str:
    shape = str(field.metadata) + str(field.annotation)
    if isinstance(value, float) and "seconds" in shape:
        return values.duration_text(value)
    if isinstance(value, int) and not isinstance(value, bool) and "function size" in shape:
        return values.size_text(value)
    if isinstance(value, SecretStr):
        return '""'
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()


def _note(field: FieldInfo) -> str:
    text = " ".join((field.description or "").split())
    words = [str(w) for w in _choices(field.annotation)]
    return f"{text} One of: {', '.join(words)}." if len(words) > 1 else text


def _choices(annotation: Any) -> Iterator[object]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    for inner in get_args(annotation):
        if inner is not NoneType:
            yield from _choices(inner)
