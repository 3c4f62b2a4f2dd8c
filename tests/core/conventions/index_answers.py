"""The answers of `tests/traces/INDEX.json`, and when what `explain` says is one of them.

`also` holds changes to the object it stands in: each gives an answer that is as right. White space in a row counts as
one blank. `{"starts": ...}` in place of a text fixes only how it begins. `ids` null: none at the place of the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.core.conventions.trace_files import TRACES

Answer = dict[str, Any]


def entries() -> Iterator[tuple[str, Answer]]:
    """Each file that is read, with its answer; a protobuf twin has the answer of its JSON."""
    for entry in json.loads((TRACES / "INDEX.json").read_text()):
        name, answer = entry["file"], entry["answer"]
        if "traces" in answer:
            yield name, answer
            if name.endswith(".otlp.json") and (TRACES / name).with_suffix(".pb").exists():
                yield f"{name[:-4]}pb", answer


def agrees(answer: Answer, told: list[Answer]) -> bool:
    """Whether a list as `explain --format json` gives it is right for a file."""
    return any(_all(_trace, one["traces"], told) for one in _variants(answer))


def _variants(part: Answer) -> list[Answer]:
    return [part, *({**part, **change} for change in part.get("also", []))]


def _all(test: Any, wanted: list[Any], told: list[Any]) -> bool:
    return len(wanted) == len(told) and all(map(test, wanted, told))


def _trace(wanted: Answer, told: Answer) -> bool:
    return any(
        all(one[key] == told[key] for key in ("trace_id", "outcome", "reason"))
        and _all(_run, one["runs"], told["runs"])
        for one in _variants(wanted)
    )


def _run(wanted: Answer, told: Answer) -> bool:
    return any(
        all(_is_text(one[key], (told[key] or {}).get("text")) for key in ("query", "response"))
        and all(one[key] == told[key] for key in ("complete", "incomplete_reason"))
        and _all(_retrieval, one["retrievals"], told["retrievals"])
        for one in _variants(wanted)
    )


def _retrieval(wanted: Answer, told: Answer) -> bool:
    texts, ids = ([context[key] for context in told["contexts"]] for key in ("text", "id"))
    return any(
        all(one[key] == told[key] for key in ("kind", "ranked"))
        and _all(_is_text, one["contexts"], texts)
        and (one["ids"] or [None] * len(ids)) == ids
        for one in _variants(wanted)
    )


def _is_text(wanted: Any, told: str | None) -> bool:
    if wanted is None or told is None:
        return wanted is told
    if isinstance(wanted, dict):
        return _flat(told).startswith(_flat(wanted["starts"]))
    return _flat(wanted) == _flat(told)


def _flat(text: str) -> str:
    return " ".join(text.split())
