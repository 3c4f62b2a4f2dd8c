"""Durations, sizes, addresses and code references, as one writes them in the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, SecretStr, WithJsonSchema

from otel_ctxscore.core.urls import is_url

SECRET = re.compile(r"key|password|secret|token|headers|auth", re.IGNORECASE)
"""What a key is called whose value is a secret."""

_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[^\s/@\[\]]+")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_DURATION = r"^\d+(\.\d+)?(ms|s|m|h|d)$"
_SIZE = r"^\d+(\.\d+)?(B|KiB|MiB|GiB)$"


def seconds(text: object) -> float:
    """Seconds of `500ms`, `10s`, `2m`, `1h`, `30d`. A bare number is refused: its unit would be a guess."""
    match = re.match(_DURATION, text) if isinstance(text, str) else None
    if isinstance(text, float):
        return text  # a default, or a value that was read before
    if match is None or not isinstance(text, str):
        raise ValueError("is no duration; write a number and a unit, such as 500ms, 10s, 2m, 1h or 30d")
    return float(text[: match.start(2)]) * _UNIT_SECONDS[match[2]]


def size(text: object) -> int:
    """Bytes of `64MiB`, `512KiB`, `1GiB`, `4096B`."""
    match = re.match(_SIZE, text) if isinstance(text, str) else None
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if match is None or not isinstance(text, str):
        raise ValueError("is no size; write a number and a unit, such as 64MiB or 1GiB")
    return int(float(text[: match.start(2)]) * _UNIT_BYTES[match[2]])


def duration_text(value: float) -> str:
    """The shortest way to write a number of seconds as a duration."""
    for unit, factor in sorted(_UNIT_SECONDS.items(), key=lambda u: -u[1]):
        if value >= factor and (value / factor).is_integer():
            return f"{value / factor:.0f}{unit}"
    return f"{value * 1000:g}ms"


def size_text(value: int) -> str:
    """The shortest way to write a number of bytes as a size."""
    for unit, factor in sorted(_UNIT_BYTES.items(), key=lambda u: -u[1]):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{unit}"
    return f"{value}B"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:4317`, `[::1]:4317` or `host:4317`."""
    host, _, port = text.rpartition(":")
    if not _HOST.fullmatch(host) or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise ValueError("is no address; write host:port, such as 127.0.0.1:4317")
    return host.strip("[]"), int(port)


def _address(text: str) -> str:
    split_address(text)
    return text


def _reachable(text: str) -> str:
    if split_address(text)[1] == 0:
        raise ValueError("has port 0, on which nobody can be reached")
    return text


def _host(text: str) -> str:
    if not _HOST.fullmatch(re.sub(":[0-9]+$", "", text)):
        raise ValueError("is no name of a host; write it without scheme and path, such as scores.example.org")
    return text


def _url(text: str) -> str:
    if not is_url(text):
        raise ValueError("is no URL; write http://... or https://...")
    return text


def otlp_endpoint(text: str, protocol: str) -> str:
    """An endpoint of OTLP as it is, where the protocol can reach it. gRPC takes `host:port` and `unix:...` too, and has
    no path. Raises ValueError."""
    if protocol == "http/protobuf":
        return _url(text)
    if text.startswith("unix:") and len(text) > len("unix:"):
        return text
    if "://" not in text:
        return _reachable(text)
    if urlsplit(_url(text)).path.strip("/"):
        raise ValueError("has a path, which gRPC does not have: leave it out, or set protocol: http/protobuf")
    return text


def _topic(text: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", text) or text in (".", ".."):
        raise ValueError("is no name of a topic; it has 1 to 249 letters, digits, dots, dashes and underscores")
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return _filled(text)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _header(text: str) -> str:
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", text):
        raise ValueError("is no name of a header")
    return text


def _header_value(text: SecretStr) -> SecretStr:
    if re.search(r"[\r\n\0]", text.get_secret_value()):
        raise ValueError("holds a line break, which no header may: does the file of the secret end in one?")
    return text


def _secret(text: SecretStr) -> SecretStr:
    _filled(text.get_secret_value())
    return text


def _trace_url(text: str) -> str:
    if "{trace_id}" not in text:
        raise ValueError("has no {trace_id}: every link would lead to the same place")
    return _url(text)


def _code(text: str) -> str:
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise ValueError('is no function; write "package.module:function"')
    return text


def _code_or_plugin(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", text):
        return _code(text)
    return text


def _hidden(value: Any) -> Any:
    """The same with each text under a key that is called like a secret made one."""
    if isinstance(value, Mapping):
        named = {key: isinstance(one, str) and SECRET.search(str(key)) for key, one in value.items()}
        return {key: SecretStr(one) if named[key] else _hidden(one) for key, one in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else value


def revealed(options: Any) -> Any:
    """Options as they were written, for the one place that needs them."""
    if isinstance(options, SecretStr):
        return options.get_secret_value()
    if isinstance(options, Mapping):
        return {key: revealed(one) for key, one in options.items()}
    return [revealed(one) for one in options] if isinstance(options, list) else options


_DURATION_SCHEMA = {"type": "string", "pattern": _DURATION, "examples": ["500ms", "10s", "2m", "1h", "30d"]}
_SIZE_SCHEMA = {"type": "string", "pattern": _SIZE, "examples": ["64MiB", "1GiB"]}

Duration = Annotated[
    float,
    BeforeValidator(seconds),
    PlainSerializer(duration_text, return_type=str, when_used="json"),
    WithJsonSchema(_DURATION_SCHEMA),
]
"""Seconds, written with a unit."""
Size = Annotated[
    int,
    BeforeValidator(size),
    PlainSerializer(size_text, return_type=str, when_used="json"),
    WithJsonSchema(_SIZE_SCHEMA),
]
"""Bytes, written with a unit."""
Address = Annotated[str, AfterValidator(_address)]
"""`host:port` to listen on; port 0 is any free one."""
Broker = Annotated[str, AfterValidator(_reachable)]
"""`host:port` that can be reached."""
Host = Annotated[str, AfterValidator(_host)]
"""A host's name, without scheme."""
Topic = Annotated[str, AfterValidator(_topic)]
"""A topic of Kafka."""
Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression."""
Filled = Annotated[str, AfterValidator(_filled), Field(json_schema_extra={"minLength": 1})]
"""A text that is more than space."""
Header = Annotated[str, AfterValidator(_header)]
"""The name of an HTTP header."""
HeaderValue = Annotated[SecretStr, AfterValidator(_header_value)]
"""What a header may hold."""
Secret = Annotated[SecretStr, AfterValidator(_secret)]
"""A secret that is not empty."""
Url = Annotated[str, AfterValidator(_url)]
"""`http://...` or `https://...`."""
TraceUrl = Annotated[str, AfterValidator(_trace_url)]
"""The same with `{trace_id}` in it, and `{span_id}` where wanted."""
Code = Annotated[str, AfterValidator(_code)]
"""`package.module:function`."""
CodeOrPlugin = Annotated[str, AfterValidator(_code_or_plugin)]
"""The same, or the name of an entry point."""
Options = Annotated[dict[str, Any], BeforeValidator(_hidden)]
"""Options of code of the user's own; secrets among them are SecretStr, known by their key or where they came from."""
Rate = Annotated[float, Field(ge=0, le=1, strict=True)]
"""A share, 0 to 1."""
