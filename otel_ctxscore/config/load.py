"""Reads a configuration file: YAML with references to environment and files."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr, ValidationError

from otel_ctxscore.config.faults import REFERENCE, joined, of_values, of_yaml
from otel_ctxscore.config.masking import SHORTEST_SECRET
from otel_ctxscore.config.model import Config
from otel_ctxscore.core.errors import ConfigError, in_words

MAX_BYTES = 1 << 20
"""Of a configuration file."""
MAX_VALUES = 100_000
"""Of a configuration, once what its aliases stand for is written out."""
_OPTIONS = re.compile(r"\.options[.\[]")


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in `path`, or the defaults where `path` is None. Raises ConfigError."""
    if path is None:
        return Config()
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_BYTES >> 20} MiB")
        raw = yaml.load(body.decode(), _OnceLoader)  # noqa: S506 -- a safe loader
    except OSError as error:
        raise ConfigError(f"{path}: {in_words(error)}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(of_yaml(path, error)) from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deep") from None
    return parse(raw, environ)


_BARE_REFERENCE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")
"""How other programs write a variable of the environment. Taken as it stands it would be a wrong key."""


class _OnceLoader(yaml.SafeLoader):
    """YAML where a key stands once: of two values, nobody would know which one holds."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (self.construct_object(key, deep=True) for key, _ in node.value):
            if not isinstance(key, Hashable):
                break  # the loader itself refuses it
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key} stands more than once", problem_mark=node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse(raw: object, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration of a mapping as YAML gives it. Raises ConfigError with a line a fault."""
    if raw is None:
        return Config()
    if not isinstance(raw, dict):
        raise ConfigError(f"the configuration is a mapping of sections, not a {type(raw).__name__}")
    _bounded(raw)
    faults: list[str] = []
    resolved = _resolve(raw, "", environ, faults)
    if faults:
        raise ConfigError(*faults)
    try:
        return Config.model_validate(resolved)
    except ValidationError as error:
        raise ConfigError(*of_values(error, raw)) from None


def _bounded(raw: object) -> None:
    """Raises ConfigError where aliases make a configuration endless, or larger than any that is meant."""
    waiting, count = [raw], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > MAX_VALUES:
            raise ConfigError(f"the configuration has more than {MAX_VALUES} values: does an alias stand for itself?")
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _resolve(value: Any, path: str, environ: Mapping[str, str], faults: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _resolve(inner, joined(path, key), environ, faults) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, joined(path, place), environ, faults) for place, inner in enumerate(value)]
    if not isinstance(value, str):
        return value

    def referred(match: re.Match[str]) -> str:
        try:
            return environ[match[2]] if match[1] == "env" else Path(match[2]).read_text(encoding="utf-8").strip()
        except KeyError:
            faults.append(f"{path}: the environment variable {match[2]} is not set")
        except (OSError, UnicodeDecodeError) as error:
            faults.append(f"{path}: {match[2]}: {in_words(error)}")
        return ""

    faults += [
        f"{path}: ${{{name}}} stands for nothing; write ${{env:{name}}}" for name in _BARE_REFERENCE.findall(value)
    ]
    text = REFERENCE.sub(referred, value)
    hidden = text != value and len(text) >= SHORTEST_SECRET and _OPTIONS.search(path)
    return SecretStr(text) if hidden else text
