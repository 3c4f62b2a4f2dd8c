"""Errors of the configuration and of the state file, and errors of others in words."""

from __future__ import annotations

import os
import re
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


_OF_TLS = re.compile(r"^\[[^]]*\] | \(_ssl\.c:\d+\)$")


def in_words(error: BaseException) -> str:
    """What went wrong, as a user may read it: of an error of the operating system what it says, without its number and
    the file, which whoever tells it names; of others their text, or else their name."""
    if isinstance(error, UnicodeDecodeError):
        return "is no text in UTF-8"
    if not isinstance(error, OSError):
        return " ".join(str(error).split()) or type(error).__name__
    if type(error).__module__ == "builtins" and error.errno:
        return os.strerror(error.errno)
    return _OF_TLS.sub("", error.strerror or str(error)) or type(error).__name__


def with_its_file(error: BaseException) -> str:
    """The same, after the file that an error of the operating system is about, where it is about one."""
    file = getattr(error, "filename", None)
    return f"{os.fsdecode(file)}: {in_words(error)}" if isinstance(file, str | bytes) else in_words(error)
