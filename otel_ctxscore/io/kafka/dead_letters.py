"""Where records go that can never be read: a topic or a file, with where they stood and why."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from otel_ctxscore.config import intake as cfg
from otel_ctxscore.io.kafka.client import started
from otel_ctxscore.io.kafka.records import Headers

PREFIX = "ctxscore."
ADDED = ("topic", "partition", "offset", "error")
MAX_BYTES = 1 << 30
"""A letter is as large as the record it was: what the brokers took once is not refused here."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be read, as it was, with the reason."""

    topic: str
    partition: int
    offset: int
    error: str
    key: bytes | None
    value: bytes
    headers: Headers = ()


class DeadLetters(Protocol):
    """Takes dead letters. `put` returns when the letter is safe."""

    async def put(self, letter: DeadLetter) -> None: ...
    async def close(self) -> None: ...


def dead_letters(chosen: cfg.DeadLetter | None, connection: Mapping[str, Any]) -> DeadLetters | None:
    """Where the configuration has them go; None where nowhere."""
    if chosen is None:
        return None
    return DeadLetterFile(chosen.file) if chosen.file else DeadLetterTopic(chosen.topic or "", connection)


class DeadLetterTopic:
    """A topic: the record as it was, with `ctxscore.topic`, `.partition`, `.offset` and `.error` as further headers."""

    def __init__(self, topic: str, connection: Mapping[str, Any], producer: AIOKafkaProducer | None = None) -> None:
        self._topic = topic
        self._connection = connection
        self._producer = producer

    async def put(self, letter: DeadLetter) -> None:
        if self._producer is None:
            self._producer = await started(self._connection, max_request_size=MAX_BYTES)
        added = [(f"{PREFIX}{name}", str(getattr(letter, name)).encode()) for name in ADDED]
        headers = [*letter.headers, *added]
        await self._producer.send_and_wait(self._topic, letter.value, key=letter.key, headers=headers)

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.stop()


class DeadLetterFile:
    """A file of JSON lines; bytes are base64."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def put(self, letter: DeadLetter) -> None:
        await asyncio.to_thread(self._append, json.dumps(to_json(letter)) + "\n")

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line)

    async def close(self) -> None:
        return None


def to_json(letter: DeadLetter) -> dict[str, Any]:
    """The letter as a JSON object."""
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "error": letter.error,
        "key": _text(letter.key),
        "value": _text(letter.value),
        "headers": [[name, _text(value)] for name, value in letter.headers],
    }


def of_record(record: ConsumerRecord) -> DeadLetter:
    """The letter that a record of the dead-letter topic holds. Raises ValueError for one that holds none."""
    added = {name.removeprefix(PREFIX): value.decode(errors="replace") for name, value in record.headers}
    try:
        place = (added["topic"], int(added["partition"]), int(added["offset"]))
    except (KeyError, ValueError):
        raise ValueError(f"{record.topic}[{record.partition}]@{record.offset} is no dead letter") from None
    own = {f"{PREFIX}{name}" for name in ADDED}
    headers = [(name, value) for name, value in record.headers if name not in own]
    return DeadLetter(*place, added.get("error", ""), record.key, record.value or b"", headers)


def read_file(path: Path) -> Iterator[DeadLetter]:
    """The letters of a file. Raises ValueError with the line number for a line that is none."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield _letter(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: is no dead letter: {_in_words(error)}") from None


def _letter(raw: dict[str, Any]) -> DeadLetter:
    return DeadLetter(
        str(raw["topic"]),
        int(raw["partition"]),
        int(raw["offset"]),
        str(raw["error"]),
        None if raw["key"] is None else _bytes(raw["key"]),
        _bytes(raw["value"]),
        [(str(name), _bytes(value)) for name, value in raw["headers"]],
    )


def _in_words(error: ValueError | KeyError | TypeError) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "it is not JSON"
    return f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else "a field of it is of another kind"


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode("ascii")
