"""The first inputs of fuzzing, from the real traces: `python -m tests.fuzz.corpus FOLDER` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tests.core.conventions.index_answers import entries
from tests.core.conventions.trace_files import body_of, traces_in

JSON, PROTO, VALUE = b"\x01", b"\x00", b"\x02"
LONGEST = 20_000


def seeds() -> Iterator[bytes]:
    """Whole requests, and the attribute values that hold structures."""
    for name, _ in entries():
        body = body_of(name)
        yield (JSON if body.lstrip()[:1] == b"{" else PROTO) + body
        values = (v for trace in traces_in(body) for span in trace.spans for v in span.attributes.values())
        yield from (VALUE + v.encode() for v in values if isinstance(v, str) and v[:1] in ("{", "["))


def write(folder: Path) -> int:
    """Writes each seed to a file of its own; says how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {sha256(seed).hexdigest()[:16]: seed for seed in seeds() if len(seed) <= LONGEST}
    for name, seed in found.items():
        (folder / name).write_bytes(seed)
    return len(found)


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
