"""The secrets of a configuration and of the environment, for the log to mask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from otel_ctxscore.config.model import Config
from otel_ctxscore.config.values import SECRET

SHORTEST_SECRET = 8
"""Characters. A shorter text from the environment or from a parameter is a word, such as a region: masking it wherever
it stands would make the log unreadable."""
_VARIABLE = re.compile(r"(API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_HEADERS)(_|$)", re.IGNORECASE)
"""Names of variables that hold secrets: those of the providers that litellm knows, and OTEL_EXPORTER_OTLP_HEADERS."""


def masked(config: Config) -> dict[str, Any]:
    """The effective configuration as plain values, as one writes them, with all its secrets masked."""
    found: dict[str, Any] = _without(config.model_dump(mode="json"), secrets(config))
    return found


def _without(value: Any, hidden: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(inner, hidden) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, hidden) for inner in value]
    for text in hidden if isinstance(value, str) else ():
        value = value.replace(text, "***") if text else value
    return value


def secret(value: SecretStr | None) -> str | None:
    """The text of a secret, for the one place that needs it."""
    return value.get_secret_value() if value is not None else None


def secrets(config: BaseModel | Mapping[str, Any]) -> list[str]:
    """The texts of all secrets in a configuration, or in options of it, for the log to mask."""
    return list(dict.fromkeys(_secrets(config)))


def environment_secrets(environ: Mapping[str, str]) -> list[str]:
    """The texts of the secrets in environment variables that libraries read by themselves."""
    return list(dict.fromkeys(text for name, value in environ.items() for text in _of_variable(name, value)))


def _of_variable(name: str, value: str) -> Iterator[str]:
    if not _VARIABLE.search(name):
        return
    parts = [pair.partition("=")[2] for pair in value.split(",")] if name.upper().endswith("_HEADERS") else [value]
    for part in parts:
        forms = {part.strip(), unquote(part).strip()}
        yield from (text for form in forms for text in (form, form.rpartition(" ")[2]) if len(text) >= SHORTEST_SECRET)


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from _secrets(inner)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner) if SECRET.search(str(name)) else _secrets(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner)
    elif isinstance(value, str):
        yield from _password(value)


def _texts(value: object) -> Iterator[str]:
    """All texts under a key that is called like a secret."""
    if isinstance(value, str):
        yield from (text for text in (value, value.rpartition(" ")[2]) if len(text) >= SHORTEST_SECRET)
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    else:
        yield from _secrets(value)


def _password(text: str) -> Iterator[str]:
    """The password in a URL."""
    if "://" in text and "@" in text:
        try:
            found = urlsplit(text).password
        except ValueError:
            return
        if found:
            yield from dict.fromkeys((found, unquote(found)))
