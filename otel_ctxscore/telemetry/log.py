"""The structured log: one event a line, as text or JSON, without secrets."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable
from typing import Literal, TextIO

HIDDEN = "***"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(
    level: str = "info",
    format: Literal["text", "json"] = "text",  # noqa: A002 -- the key of the configuration
    *,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send all logs of the process to one stream, standard error by default.

    Fields given by `extra=` stand in the line. Wherever one of `secrets` would stand, in a message, field or trace
    back of whatever library, it is replaced by `***`. Line breaks in what is logged cannot begin a line.
    """
    formatter = JsonFormatter(secrets) if format == "json" else TextFormatter(secrets)
    stream_handler = logging.StreamHandler(stream or sys.stderr)
    stream_handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [stream_handler]
    root.setLevel(level.upper())


class _Formatter(logging.Formatter):
    """What both forms share: the time, the fields, and that no secret leaves."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        written = {form for secret in secrets if secret for form in _written(secret)}
        self._secrets = sorted(written, key=len, reverse=True)  # the longest first: one may hold another

    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        trace_back = self.formatException(record.exc_info) if record.exc_info else ""
        line = self.line(record, fields, trace_back)
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return line.encode(errors="replace").decode()

    def line(self, record: logging.LogRecord, fields: dict[str, object], trace_back: str) -> str:
        raise NotImplementedError


class TextFormatter(_Formatter):
    """`2026-01-02T03:04:05.678Z warning otel_ctxscore.io  message  key=value`, then a trace back, indented."""

    def line(self, record: logging.LogRecord, fields: dict[str, object], trace_back: str) -> str:
        tail = "".join(f"  {key}={value}" for key, value in fields.items())
        message = _one_line(f"{record.getMessage()}{tail}")
        head = f"{self.formatTime(record)} {record.levelname.lower()} {record.name}  {message}"
        return head + "".join(f"\n    {line}" for line in trace_back.splitlines())


class JsonFormatter(_Formatter):
    """One object: `time`, `level`, `logger`, `message`, the fields, and `exception` where there was one."""

    def line(self, record: logging.LogRecord, fields: dict[str, object], trace_back: str) -> str:
        event = {
            **fields,
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if trace_back:
            event["exception"] = trace_back
        return json.dumps(event, ensure_ascii=False, default=str)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def _written(secret: str) -> set[str]:
    """The forms in which a secret may stand in a line."""
    return {secret, _one_line(secret), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
