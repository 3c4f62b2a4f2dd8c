"""Train the local judge: `python -m tools.judge.train` writes `otel_ctxscore/judges/local_model.json`.

The same data, seed and versions of scikit-learn and numpy give the same bytes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread: sums in one order

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from otel_ctxscore.judges.features import RELEVANCE, relevance_rows
from otel_ctxscore.judges.lexical import MODEL_FILE, Head
from otel_ctxscore.judges.text import Idf, clip, read
from otel_ctxscore.judges.usage import USED, is_refusal, used_rows
from tools.judge import baseline
from tools.judge.baseline import Item
from tools.judge.function_words import FUNCTION_WORDS

SEED = 0
MODEL = Path(__file__).parents[2] / "otel_ctxscore" / "judges" / MODEL_FILE
IDF_SIZE = 5000
COMMON_DOCUMENTS, COMMON_SHARE = 8, 0.05  # of a language's contexts: then a token is common in it
SCHEMA = {"relevance": RELEVANCE, "used": USED}
TREES = {"relevance": 120, "used": 120}
LEAVES = {"relevance": 4, "used": 8}
COMPOSED = 3  # lists composed of a query's contexts
LABELLED_SHARE = 0.6  # of the weight of a data set is in its lists as labelled, the rest in the composed ones
TWICE = 0.05  # share of the composed lists that have a context twice
# Slope and shift of the log odds; the slopes were chosen on the predictions for held-out data sets. A steeper one suits
# sets where words tell all, a flatter one those where all contexts are of one topic. A shift trades two errors of
# `relevance`: -.6 finds a useful context in 40% of the lists that have none, in place of 52%, at an error in average
# precision of .24 in place of .21.
CALIBRATION = {"relevance": (1.4, 0.0), "used": (1.3, 0.0)}
reading = lru_cache(60_000)(read)


def fit_idf(items: Sequence[Item]) -> Idf:
    """Inverse document frequency of the commonest tokens in hundredths; any other gets one higher value.

    A token that is common in one language counts by that language: a German article is rare in the whole. Function
    words that the rows lack are added.
    """
    documents, found = Counter[str](), Counter[tuple[str, str]]()
    for item in items:
        for text in baseline.texts(item):
            documents[item["lang"]] += 1
            found.update((item["lang"], t) for t in reading(text).vocabulary)
    total, size = Counter[str](), sum(documents.values())
    for (_, token), n in found.items():
        total[token] += n
    top = sorted(total.items(), key=lambda kv: (-kv[1], kv[0]))[:IDF_SIZE]
    table = {t: hundredths(n, size) for t, n in top}
    default = max(table.values()) + 50
    for (lang, token), n in sorted(found.items()):
        if n >= COMMON_DOCUMENTS and n >= COMMON_SHARE * documents[lang]:
            table[token] = min(table.get(token, default), hundredths(n, documents[lang]))
    for words in FUNCTION_WORDS.values():
        for token in read(words).tokens:
            table.setdefault(token, Idf.FUNCTION)
    return Idf(table, default)


def hundredths(found: int, documents: int) -> int:
    return round(100 * math.log((documents + 1) / (found + 1)))


@dataclass(frozen=True)
class Example:
    """A list of contexts with labels; `labelled`: the list is as the data set has it."""

    item: Item
    contexts: list[str]
    labels: list[int]
    response: str
    labelled: bool


def composed(item: Item, rng: random.Random) -> Example:
    """Some of a query's contexts: any number of the useful ones beside any number of the others.

    As labelled, most data sets have one useful context a list. A fit on those alone takes a context for useless because
    another one is better, and finds one useful in every list.
    """
    contexts: list[dict[str, Any]] = item["contexts"]
    useful = [c for c in contexts if c["label"] > 0]
    useless = [c for c in contexts if not c["label"] > 0]
    found: list[dict[str, Any]] = []
    while not found:
        found = rng.sample(useful, rng.randint(0, len(useful))) + rng.sample(useless, rng.randint(0, len(useless)))
    if rng.random() < TWICE:
        found.append(rng.choice(found))
    return Example(item, [c["text"] for c in found], [int(c["label"] > 0) for c in found], "", False)


def examples(items: Sequence[Item], head: str) -> list[Example]:
    """The lists as labelled; for relevance also composed ones, for use also responses to other queries."""
    texts, labels = baseline.texts, baseline.labels
    whole = [Example(it, texts(it), labels(it, head), it.get("response") or "", True) for it in items]
    if head == "used":
        wrong = baseline.wrong_responses(list(items))
        return whole + [Example(it, texts(it), [0] * len(texts(it)), r, False) for it, r in wrong]
    rng = random.Random(SEED)
    return whole + [composed(it, rng) for it in items for _ in range(COMPOSED)]


def rows(head: str, query: str, contexts: Sequence[str], response: str, idf: Idf) -> list[list[float]]:
    """The features of a list; all 0 for a response in which nothing can be used."""
    passages = [reading(c) for c in contexts]
    if head == "relevance":
        return relevance_rows(query, passages, idf)
    if not response.strip() or is_refusal(response):
        return [[0.0] * len(USED) for _ in contexts]
    return used_rows(reading(query), passages, [clip(c) for c in contexts], response, idf)


@dataclass(frozen=True)
class Table:
    """Features, labels and weights of pairs."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def tabulate(items: Sequence[Item], head: str, idf: Idf) -> Table:
    """For relevance a data set weighs as the root of its number of lists, and each of its lists alike.

    The error in average precision is a mean over lists: pairs that weigh alike would be a fit to the long lists.
    """
    found = examples(items, head)
    x = np.array([r for e in found for r in rows(head, e.item["query"], e.contexts, e.response, idf)])
    size = Counter((e.item["dataset"], e.labelled) for e in found)
    weight = np.ones(len(x))
    if head == "relevance":
        weight = np.array([weight_of(e, size) for e in found for _ in e.labels])
    return Table(x, np.array([label for e in found for label in e.labels]), weight / weight.mean())


def weight_of(example: Example, size: Mapping[tuple[str, bool], int]) -> float:
    """Of each pair of a list; `size`: the lists of a data set, as labelled and composed."""
    dataset: str = example.item["dataset"]
    share = LABELLED_SHARE if example.labelled else 1 - LABELLED_SHARE
    root: float = size[dataset, True] ** 0.5
    return share * root / size[dataset, example.labelled] / len(example.labels)


def boost(table: Table, head: str) -> HistGradientBoostingClassifier:
    """Small trees in which each feature moves the probability in its one direction only."""
    model = HistGradientBoostingClassifier(
        max_iter=TREES[head],
        max_leaf_nodes=LEAVES[head],
        learning_rate=0.06,
        min_samples_leaf=60,
        l2_regularization=2.0,
        monotonic_cst=list(SCHEMA[head].values()),
        random_state=SEED,
    )
    return model.fit(table.x, table.y, sample_weight=table.weight)


def unpack(nodes: Any, i: int = 0) -> Any:
    """A scikit-learn tree as [feature, threshold, at most, above]; a leaf is its value."""
    node = nodes[i]
    if node["is_leaf"]:
        return round(float(node["value"]), 5)
    branches = (unpack(nodes, int(node[side])) for side in ("left", "right"))
    return [int(node["feature_idx"]), round(float(node["num_threshold"]), 6), *branches]


def fit_head(items: Sequence[Item], head: str, idf: Idf) -> dict[str, Any]:
    """One head as the model file holds it."""
    table = tabulate(items, head, idf)
    model = boost(table, head)
    a, b = CALIBRATION[head]
    base = round(float(np.ravel(model._baseline_prediction)[0]), 5)
    return {"a": a, "b": b, "base": base, "trees": [unpack(stage[0].nodes) for stage in model._predictors]}


def fit(items: dict[str, list[Item]]) -> dict[str, Any]:
    """The whole model file, from the rows of each head."""
    idf = fit_idf(items["relevance"])
    return {
        "features": {head: list(schema) for head, schema in SCHEMA.items()},
        **{head: fit_head(items[head], head, idf) for head in SCHEMA},
        "idf_default": idf.default,
        "idf": idf.table,
    }


class Judge:
    """The judge of one head as `baseline.leave_one_out` asks for it."""

    def __init__(self, head: str) -> None:
        self.head = head

    def fit(self, items: list[Item]) -> Judge:
        self.idf = fit_idf(items)
        self.model = Head(fit_head(items, self.head, self.idf))
        return self

    def predict(self, query: str, contexts: list[str], response: str) -> list[float]:
        return [self.model(row) for row in rows(self.head, query, contexts, response, self.idf)]


def main() -> None:
    rows_of = {h: [it for it in baseline.load(h) if it["dataset"] != baseline.CLAIMS] for h in SCHEMA}
    MODEL.write_text(json.dumps(fit(rows_of), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf8")
    print(f"{MODEL.name}: {MODEL.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
