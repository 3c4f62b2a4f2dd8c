"""Errors of the configuration and of the state file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ConfigError(ValueError):
    """The configuration, or what it names, does not allow to start. `lines` has one line for each fault."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@contextmanager
def under(key: str, between: str) -> Iterator[None]:
    """Faults that are found in here are those of `key`: each line begins with it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(f"{key}{between}{line}" for line in error.lines)) from error


class StateError(Exception):
    """The state file cannot be used. The text is one line: what it is, and what to do."""
