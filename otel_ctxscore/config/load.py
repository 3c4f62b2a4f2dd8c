"""Reads a configuration file: YAML, references to environment and files, and errors of one line each."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from otel_ctxscore.config.model import Config
from otel_ctxscore.config.values import SECRET
from otel_ctxscore.core.errors import ConfigError

_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")
_OPTIONS = re.compile(r"\.options[.\[]")
_SHORTEST_SECRET = 8
"""Characters. A shorter text that an option takes from the environment is a word, such as a region: masking it
wherever it stands would make the log unreadable."""


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in `path`, or the defaults where `path` is None. Raises ConfigError."""
    if path is None:
        return Config()
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), _OnceLoader)  # noqa: S506 -- a safe loader
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    return parse(raw, environ)


class _OnceLoader(yaml.SafeLoader):
    """YAML where a key stands once: of two values, nobody would know which one holds."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(problem=f"the key {key} stands more than once", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def parse(raw: object, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration of a mapping as YAML gives it. Raises ConfigError with a line a fault."""
    if raw is None:
        return Config()
    if not isinstance(raw, dict):
        raise ConfigError(f"the configuration is a mapping of sections, not a {type(raw).__name__}")
    faults: list[str] = []
    try:
        resolved = _resolve(raw, "", environ, faults)
    except RecursionError:
        raise ConfigError("the configuration refers to itself (a YAML alias inside its own anchor)") from None
    if faults:
        raise ConfigError(*faults)
    try:
        return Config.model_validate(resolved)
    except ValidationError as error:
        raise ConfigError(*map(_line, error.errors())) from None


def masked(config: Config) -> dict[str, Any]:
    """The effective configuration as plain values, with secrets masked."""
    return config.model_dump(mode="json")


def _resolve(value: Any, path: str, environ: Mapping[str, str], faults: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _resolve(inner, _join(path, key), environ, faults) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, _join(path, place), environ, faults) for place, inner in enumerate(value)]
    if not isinstance(value, str):
        return value

    def referred(match: re.Match[str]) -> str:
        try:
            return environ[match[2]] if match[1] == "env" else Path(match[2]).read_text(encoding="utf-8").strip()
        except KeyError:
            faults.append(f"{path}: the environment variable {match[2]} is not set")
        except (OSError, UnicodeDecodeError) as error:
            faults.append(f"{path}: {match[2]}: {getattr(error, 'strerror', None) or error}")
        return ""

    text = _REFERENCE.sub(referred, value)
    hidden = text != value and len(text) >= _SHORTEST_SECRET and _OPTIONS.search(path)
    return SecretStr(text) if hidden else text


def _join(path: str, key: object) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections that an annotation can hold, through unions, lists and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _known(place: tuple[int | str, ...]) -> tuple[str, list[type[BaseModel]]]:
    """The path as the user wrote it, and the sections it leads to. Pydantic names the members of unions in
    between, which no user has written: such a step is the tag or the class of one of the sections."""
    path, here = "", [Config]
    sections: list[type[BaseModel]] = list(here)
    for step in place:
        fields = [s.model_fields[step] for s in sections if isinstance(step, str) and step in s.model_fields]
        if fields:
            path = _join(path, step)
            sections = [model for field in fields for model in _models(field.annotation)]
            continue
        named = [s for s in sections if step in (s.__name__, _tag(s))]
        if named:
            sections = named
        elif isinstance(step, int) or not str(step).startswith(("function-", "literal[", "list[", "tuple[")):
            path = _join(path, step)
    return path, sections


def _tag(section: type[BaseModel]) -> object:
    tag = section.model_fields.get("type")
    return tag.default if tag is not None else None


def _line(fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        path, _ = _known(fault["loc"])
        _, sections = _known(fault["loc"][:-1])
        return f"{path}: unknown key{_nearest(str(fault['loc'][-1]), sections)}"
    path, _ = _known(fault["loc"])
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "union_tag_not_found":
        return f"{path}.type: is missing; one of: {', '.join(str(_tag(s)) for s in _known(fault['loc'])[1])}"
    if fault["type"] == "missing":
        return f"{path}: is missing"
    message += _nearest_value(fault)
    shown = "" if SECRET.search(path) or isinstance(fault["input"], dict) else f" (given: {fault['input']!r})"
    return f"{path or 'configuration'}: {message[:1].lower()}{message[1:]}{shown}"


def _nearest(key: str, sections: list[type[BaseModel]]) -> str:
    known = sorted({name for section in sections for name in section.model_fields})
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(known)}"


def _nearest_value(fault: ErrorDetails) -> str:
    allowed = re.findall(r"'(\w[^']*)'", str((fault.get("ctx") or {}).get("expected", "")))
    near = difflib.get_close_matches(str(fault["input"]), allowed, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def secret(value: SecretStr | None) -> str | None:
    """The text of a secret, for the one place that needs it."""
    return value.get_secret_value() if value is not None else None


def secrets(config: BaseModel | Mapping[str, Any]) -> list[str]:
    """The texts of all secrets in a configuration, or in options of it, for the log to mask."""
    return list(_secrets(config))


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from _secrets(inner)
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _secrets(inner)
