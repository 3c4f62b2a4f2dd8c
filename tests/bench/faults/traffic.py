"""Labelled queries as traffic: lists as a healthy retrieval gives them, and as six faults would.

A healthy retrieval reranks: useful contexts stand first, but for noise. What a fault does to a list, it does to the
labels as well; a shortened context stays useful where it still holds most of what the response takes from it.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_ctxscore.judges.text import read

DATA = Path(__file__).parents[3] / "tools" / "judge" / "data" / "dev.jsonl.gz"
CLAIMS = "expertqa_claim"
TOP_K, GREATER_K = 5, 10
NOISE = 0.4
"""Standard deviation of the reranker's score, in units of useful against not."""
STALE, EMPTY, WRONG = 0.5, 0.3, 0.9
"""Shares: useful contexts that the index no longer has, queries that hit the empty part, contexts that are random."""
KEPT_CHARACTERS = 0.25
KEPT_CONTENT = 0.6


@dataclass(frozen=True, slots=True)
class Found:
    """One context of a list and whether people call it useful."""

    text: str
    useful: bool


@dataclass(frozen=True)
class Query:
    """A labelled query, its contexts in the order of the source, and texts about other things from the same source."""

    family: str
    text: str
    response: str
    labelled: tuple[Found, ...]
    others: tuple[str, ...]


Fault = Callable[[Query, random.Random], list[Found]]


def healthy(query: Query, draw: random.Random) -> list[Found]:
    return _reranked(query.labelled, draw)[:TOP_K]


def reranker_off(query: Query, draw: random.Random) -> list[Found]:
    return list(query.labelled[:TOP_K])


def stale_index(query: Query, draw: random.Random) -> list[Found]:
    """Some of the useful contexts are not there any more; what is next comes up."""
    left = [found for found in query.labelled if not found.useful or draw.random() >= STALE]
    return _filled(_reranked(left, draw), query, draw, TOP_K)


def wrong_embedding(query: Query, draw: random.Random) -> list[Found]:
    """Queries are embedded by another model than the index was: what comes is nearly random."""
    return [Found(_other(query, draw), False) if draw.random() < WRONG else found for found in healthy(query, draw)]


def truncated_chunks(query: Query, draw: random.Random) -> list[Found]:
    return [_shortened(found, query, draw) for found in healthy(query, draw)]


def empty_index(query: Query, draw: random.Random) -> list[Found]:
    return [] if draw.random() < EMPTY else healthy(query, draw)


def top_k_changed(query: Query, draw: random.Random) -> list[Found]:
    return _filled(_reranked(query.labelled, draw), query, draw, GREATER_K)


FAULTS: Mapping[str, Fault] = {
    "reranker off": reranker_off,
    f"stale index ({STALE:.0%} of the useful gone)": stale_index,
    f"wrong embedding ({WRONG:.0%} random)": wrong_embedding,
    f"truncated chunks (to {KEPT_CHARACTERS:.0%})": truncated_chunks,
    f"empty index (for {EMPTY:.0%} of the queries)": empty_index,
    f"top k {TOP_K} -> {GREATER_K}": top_k_changed,
}


def _reranked(labelled: Sequence[Found], draw: random.Random) -> list[Found]:
    return sorted(labelled, key=lambda found: -found.useful + draw.gauss(0, NOISE))


def _filled(found: list[Found], query: Query, draw: random.Random, count: int) -> list[Found]:
    return [*found[:count], *(Found(_other(query, draw), False) for _ in range(count - len(found)))]


def _other(query: Query, draw: random.Random) -> str:
    return draw.choice(query.others)


def _shortened(found: Found, query: Query, draw: random.Random) -> Found:
    text = found.text[: max(1, int(len(found.text) * KEPT_CHARACTERS))]
    if not found.useful:
        return Found(text, False)
    wanted = read(query.response).vocabulary - read(query.text).vocabulary
    held = wanted & read(found.text).vocabulary
    if not held:
        return Found(text, draw.random() < KEPT_CHARACTERS)
    return Found(text, len(held & read(text).vocabulary) >= KEPT_CONTENT * len(held))


def queries(count: int, draw: random.Random) -> list[Query]:
    """So many labelled queries with at least four contexts, one of them useful."""
    with gzip.open(DATA, "rt", encoding="utf8") as lines:
        rows = [row for row in map(json.loads, lines) if row["dataset"] != CLAIMS]
    sources: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        sources.setdefault((row["dataset"], row["lang"]), []).append(row)
    usable = [row for row in rows if len(row["contexts"]) >= 4 and any(c["label"] for c in row["contexts"])]
    chosen = draw.sample(usable, min(count, len(usable)))
    return [_query(row, sources[row["dataset"], row["lang"]], draw) for row in chosen]


def _query(row: dict[str, Any], source: Sequence[dict[str, Any]], draw: random.Random) -> Query:
    strangers = [other for other in draw.sample(source, min(40, len(source))) if other["group"] != row["group"]]
    contexts = [context["text"] for other in strangers for context in other["contexts"]]
    return Query(
        family=row["dataset"].partition("_")[0],
        text=row["query"],
        response=row.get("response") or "",
        labelled=tuple(Found(c["text"], bool(c["label"])) for c in row["contexts"]),
        others=tuple(draw.sample(contexts, min(20, len(contexts)))),
    )
