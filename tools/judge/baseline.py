"""Baseline judge for `dev.jsonl.gz`: lexical features, small monotone boosted trees, two heads.

    relevance   is the context useful for the query?   sees query and contexts
    used        did the response use the context?      sees query, contexts and response

`python baseline.py` scores both leave-one-data-set-out and prints Markdown. Fitting and scoring need
scikit-learn and numpy; a fitted judge predicts with the standard library alone (pure-Python features,
trees as nested tuples). To score another judge on the same folds:
`report(head, leave_one_out(head, MyJudge))`, with MyJudge(head) an object that has the methods of `Judge`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # folds run in parallel, one core each

import gzip
import json
import math
import platform
import random
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import cohen_kappa_score, roc_auc_score

DATA = Path(__file__).parent / "data" / "dev.jsonl.gz"
SEED = 0
CLAIMS = "expertqa_claim"  # claim support is another question: never fitted, reported apart
FAMILY = {"clapnq_pass": "clapnq", "clapnq_sent": "clapnq"}  # same passages: left out together
LANGUAGES = {"en": "en", "ja": "cjk", "zh": "cjk"}
Item = dict[str, Any]  # a row of dev.jsonl.gz

# ---- text ----------------------------------------------------------------------------------------
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")  # kana, Han, Hangul, Thai
MARKS = "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
WORD = re.compile(rf"\w[\w{MARKS}]*")  # \w alone would cut Hindi and Thai words at their vowel signs
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？])|\n+")
NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
NAME = re.compile(r"(?<=[^.!?\s]\s)([A-ZÀ-ÖØ-ÞА-ЯΑ-Ω][\w\-]+)")  # a capital inside a sentence
REFUSAL = re.compile(
    r"i (do not|don't) (know|have)|cannot (answer|find)|no information"
    r"|not (mentioned|provided)|unable to|sorry",
    re.I,
)


def normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("_", " ")


def tokens(text: str) -> list[str]:
    """Crudely stemmed words; character bigrams where the script has no spaces."""
    out: list[str] = []
    for w in WORD.findall(normal(text)):
        if UNSPACED.search(w):
            out += [w[i : i + 2] for i in range(max(1, len(w) - 1))]
        else:
            out.append(w[:-1] if 3 < len(w) <= 6 and w.endswith("s") and w.isascii() else w[:6])
    return out


def sentences(text: str) -> list[set[str]]:
    """Token sets of the first 40 sentences; a very short one is joined with the next."""
    parts: list[str] = []
    for s in filter(None, map(str.strip, SENTENCE_END.split(text))):
        if parts and len(parts[-1]) < 25:
            parts[-1] += " " + s
        else:
            parts.append(s)
    return [set(tokens(s)) for s in parts[:40] or [text]]


def names(text: str) -> set[str]:
    return {t for name in NAME.findall(text) for t in tokens(name)}


def ngrams(seq: Sequence[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(seq[i : i + n]) for i in range(len(seq) - n + 1)}


def char4(text: str) -> set[str]:
    t = f" {' '.join(WORD.findall(normal(text)))} "
    return {t[i : i + 4] for i in range(max(1, len(t) - 3))}


def longest_run(a: Sequence[str], b: Sequence[str], cap: int) -> float:
    """Length of the longest run of tokens in both a and b, as a share of cap."""
    lo, hi = 0, min(cap, len(a), len(b))
    while lo < hi:
        mid = (lo + hi + 1) // 2
        lo, hi = (mid, hi) if ngrams(a, mid) & ngrams(b, mid) else (lo, mid - 1)
    return lo / cap


def share(found: Collection[Any], wanted: Collection[Any], empty: float = 0.0) -> float:
    return len(found) / len(wanted) if wanted else empty


class Idf:
    """Inverse document frequency of the 6,000 commonest tokens; all others get one higher value."""

    def __init__(self, texts: list[str]) -> None:
        df = Counter(t for text in texts for t in set(tokens(text)))
        top = sorted(df.items(), key=lambda kv: (-kv[1], kv[0]))[:6000]
        self.table = {t: round(math.log((len(texts) + 1) / (n + 1)), 2) for t, n in top}
        self.default = max(self.table.values()) + 0.5

    def __call__(self, token: str) -> float:
        return self.table.get(token, self.default)

    def sum(self, words: Iterable[str]) -> float:
        return math.fsum(map(self, words))  # exact, so the order of a set does not matter

    def coverage(self, words: set[str], inside: set[str]) -> float:
        """idf-weighted share of words that are inside."""
        total = self.sum(words)
        return self.sum(words & inside) / total if total else 0.0


# ---- features ------------------------------------------------------------------------------------
# name: monotone constraint. Left out because they identify the data set: the lengths of query,
# context and response, "the query has a name", "the query asks for a number".
RELEVANCE = {
    "cov": 1,
    "ucov": 1,  # share of the query's tokens in the context, idf-weighted / unweighted
    "smax": 1,
    "smax2": 1,
    "head": 0,  # weighted: best sentence, best two in a row, first 20 tokens
    "bm25": 1,  # saturated term frequency as a share of its maximum
    "bigram": 1,
    "char4": 1,  # share of the query's token bigrams / character 4-grams
    "names": 1,
    "numbers": 1,  # share of the query's names / numbers (.5: it has none)
    "run": 1,  # longest common run of tokens
    "rare": 1,
    "rare_best": 1,  # of the query's 3 rarest tokens: in the context / best sentence
    "density": 1,  # rarer query tokens per ten context tokens
    "sib_cov": -1,
    "sib_smax": -1,
    "sib_bm25": -1,  # best of the query's other contexts
    "gap_cov": 1,
    "gap_smax": 1,  # this context less the best of the others
}
USED = {
    "cov": 1,
    "scov": 1,  # share of the response's tokens, weighted: all / its best sentence
    "new": 1,
    "new_best": 1,  # tokens that the query lacks: in the context / its best sentence
    "names": 1,
    "numbers": 1,  # names / numbers that the query lacks (.5: there are none)
    "run": 1,
    "gram4": 1,
    "whole": 1,  # longest common run, token 4-grams, the response verbatim
    "short": 0,  # the response has fewer than six tokens
    "unique": 1,  # share of the new tokens that only this context has
    "aligned": 1,  # best coverage of a response sentence by a context sentence
    "winner": 1,  # share of the response's sentences that this context covers best
    "sib_new": -1,
    "sib_names": -1,
    "gap_new": 1,  # as above
}


def finish(rows: list[dict[str, float]], schema: dict[str, int]) -> list[list[float]]:
    """Add what compares a context with the query's other contexts; order the columns."""
    for key in [k[4:] for k in schema if k.startswith("sib_")]:
        for i, row in enumerate(rows):
            row["sib_" + key] = max((r[key] for j, r in enumerate(rows) if j != i), default=0.0)
            row["gap_" + key] = row[key] - row["sib_" + key]
    return [[row[name] for name in schema] for row in rows]


def relevance_features(query: str, contexts: list[str], response: str, idf: Idf) -> list[list[float]]:
    """One row a context; the response is not looked at."""
    q = tokens(query)
    words, q2, q4 = set(q), ngrams(q, 2), char4(query)
    q_names, q_numbers = names(query), set(NUMBER.findall(query))
    rare = set(sorted(words, key=lambda w: (-idf(w), w))[:3])
    rows = []
    for text in contexts:
        c = tokens(text)
        vocab, tf, sents = set(c), Counter(c), sentences(text)
        hits, k = words & vocab, 1.2 * (0.25 + 0.75 * len(c) / 120)
        by_sent = [idf.coverage(words, s) for s in sents]
        best = by_sent.index(max(by_sent))
        bm25 = math.fsum(idf(w) * tf[w] * 2.2 / (tf[w] + k) for w in hits)
        rows.append(
            {
                "cov": idf.coverage(words, vocab),
                "ucov": share(hits, words),
                "smax": by_sent[best],
                "smax2": max((idf.coverage(words, a | b) for a, b in pairwise(sents)), default=by_sent[best]),
                "head": idf.coverage(words, set(c[:20])),
                "bm25": bm25 / max(1e-6, 2.2 * idf.sum(words)),
                "bigram": share(q2 & ngrams(c, 2), q2),
                "char4": share(q4 & char4(text), q4),
                "names": share(q_names & vocab, q_names, 0.5),
                "numbers": share(q_numbers & set(NUMBER.findall(text)), q_numbers, 0.5),
                "run": longest_run(q, c, 10),
                "rare": share(rare & vocab, rare),
                "rare_best": share(rare & sents[best], rare),
                "density": 10 * sum(tf[w] for w in hits if idf(w) > 2) / max(1, len(c)),
            }
        )
    return finish(rows, RELEVANCE)


def used_features(query: str, contexts: list[str], response: str, idf: Idf) -> list[list[float]]:
    """All zero where there is nothing to compare: no response, or a short refusal."""
    if not response.strip() or (len(response) < 250 and REFUSAL.search(response)):
        return [[0.0] * len(USED) for _ in contexts]
    r = tokens(response)
    words, r4, whole = set(r), ngrams(r, 4), normal(response).strip(" .")
    new = words - set(tokens(query))
    r_names = names(response) - names(query)
    r_numbers = set(NUMBER.findall(response)) - set(NUMBER.findall(query))
    r_sents = [s for s in sentences(response)[:10] if s]
    rows, new_hits, aligned = [], [], []
    for text in contexts:
        c = tokens(text)
        vocab, sents = set(c), sentences(text)
        new_cov = idf.coverage(new, vocab) if new else 0.5
        new_hits.append(new & vocab)
        aligned.append([max(idf.coverage(s, x) for x in sents) for s in r_sents])
        rows.append(
            {
                "cov": idf.coverage(words, vocab),
                "scov": max((idf.coverage(s, vocab) for s in r_sents), default=0.0),
                "new": new_cov,
                "new_best": max(idf.coverage(new, s) for s in sents) if new else 0.5,
                "names": share(r_names & vocab, r_names, 0.5),
                "numbers": share(r_numbers & set(NUMBER.findall(text)), r_numbers, 0.5),
                "run": longest_run(r, c, 25),
                "gram4": share(r4 & ngrams(c, 4), r4, new_cov),
                "whole": float(bool(whole) and whole in normal(text)),
                "short": float(len(r) < 6),
                "aligned": max(aligned[-1], default=0.0),
            }
        )
    top = [max(column) for column in zip(*aligned, strict=True)]
    for i, row in enumerate(rows):
        others: set[str] = set().union(*(h for j, h in enumerate(new_hits) if j != i))
        row["unique"] = idf.sum(new_hits[i] - others) / max(1e-6, idf.sum(new))
        won = [a for a, t in zip(aligned[i], top, strict=True) if a >= t and a > 0.3]
        row["winner"] = share(won, r_sents)
    return finish(rows, USED)


# ---- the judge -----------------------------------------------------------------------------------
HEADS = {"relevance": (relevance_features, RELEVANCE), "used": (used_features, USED)}


class Judge(Protocol):
    def fit(self, items: list[Item]) -> Judge: ...
    def predict(self, query: str, contexts: list[str], response: str) -> list[float]: ...


def texts(item: Item) -> list[str]:
    return [c["text"] for c in item["contexts"]]


def labels(item: Item, head: str) -> list[int]:
    values = item["used"] if head == "used" else [c["label"] for c in item["contexts"]]
    return [int(v > 0) for v in values]


def wrong_responses(items: list[Item]) -> list[tuple[Item, str]]:
    """Every third query with the response to another one of its data set and language."""
    pools: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for it in items:
        pools[it["dataset"], it["lang"]].append(it)
    pairs = [(p[i], p[(i + len(p) // 2) % len(p)]) for p in pools.values() for i in range(0, len(p), 3)]
    return [(a, b["response"]) for a, b in pairs if a["query"] != b["query"]]


class LexicalJudge:
    """120 trees of at most 8 leaves over lexical features with monotone constraints."""

    def __init__(self, head: str) -> None:
        self.head = head
        self.features, self.schema = HEADS[head]

    def fit(self, items: list[Item]) -> LexicalJudge:
        self.idf = Idf([t for it in items for t in texts(it)])
        examples = [(it, it.get("response", ""), labels(it, self.head)) for it in items]
        if self.head == "used":  # nothing is used by the response to another query
            examples += [(it, r, [0] * len(it["contexts"])) for it, r in wrong_responses(items)]
        x = np.array([f for it, r, _ in examples for f in self.features(it["query"], texts(it), r, self.idf)])
        y = [label for _, _, target in examples for label in target]
        origin = [it["dataset"] for it, _, target in examples for _ in target]
        size = Counter(origin)  # relevance: a data set weighs as the root of its number of pairs
        weight = np.array([1.0 if self.head == "used" else size[d] ** -0.5 for d in origin])
        model = HistGradientBoostingClassifier(
            max_iter=120,
            max_leaf_nodes=8,
            learning_rate=0.06,
            min_samples_leaf=60,
            l2_regularization=2.0,
            monotonic_cst=list(self.schema.values()),
            random_state=SEED,
        )
        model.fit(x, y, sample_weight=weight / weight.mean())
        self.base = float(np.ravel(model._baseline_prediction)[0])
        self.trees = [unpack(stage[0].nodes) for stage in model._predictors]
        some = x[:: 1 + len(x) // 200]
        assert np.allclose([self.probability(f) for f in some.tolist()], model.predict_proba(some)[:, 1])
        return self

    def probability(self, row: list[float]) -> float:
        z = self.base
        for node in self.trees:
            while isinstance(node, tuple):
                node = node[2] if row[node[0]] <= node[1] else node[3]
            z += node
        return 1 / (1 + math.exp(-z))

    def predict(self, query: str, contexts: list[str], response: str) -> list[float]:
        return [self.probability(f) for f in self.features(query, contexts, response, self.idf)]


def unpack(nodes: Any, i: int = 0) -> Any:
    """A scikit-learn tree as (feature, threshold, left, right) tuples; a leaf is its value."""
    n = nodes[i]
    if n["is_leaf"]:
        return float(n["value"])
    return int(n["feature_idx"]), float(n["num_threshold"]), *(unpack(nodes, n[s]) for s in ("left", "right"))


# ---- evaluation ----------------------------------------------------------------------------------
class Scored(NamedTuple):
    """A held-out query with the judge's probabilities and the labels."""

    item: Item
    p: list[float]
    y: list[int]


def load(head: str) -> list[Item]:
    """relevance: all rows but the claims; used: the rows with `used` and a response."""
    with gzip.open(DATA, "rt", encoding="utf8") as f:
        items = [json.loads(line) for line in f]
    for it in items:
        it["language"] = LANGUAGES.get(it["lang"], "other")
    if head == "used":
        return [it for it in items if "used" in it and it.get("response")]
    return [it for it in items if it["dataset"] != CLAIMS]


def score_fold(held: str, head: str, make: Callable[[str], Judge]) -> list[Scored]:
    """Predict a data set after a fit without its family, its groups and the claims."""
    items = load(head)
    test = [it for it in items if it["dataset"] == held]
    groups, out = {it["group"] for it in test}, {FAMILY.get(held, held), CLAIMS}
    judge = make(head).fit(
        [it for it in items if it["group"] not in groups and FAMILY.get(it["dataset"], it["dataset"]) not in out]
    )
    responses = [it.get("response", "") if head == "used" else "" for it in test]
    return [
        Scored(it, judge.predict(it["query"], texts(it), r), labels(it, head))
        for it, r in zip(test, responses, strict=True)
    ]


def leave_one_out(head: str, make: Callable[[str], Judge], workers: int = 2) -> list[Scored]:
    held = sorted({it["dataset"] for it in load(head)})
    with ProcessPoolExecutor(workers) as pool:
        return [s for fold in pool.map(partial(score_fold, head=head, make=make), held) for s in fold]


def average_precision(verdicts: Sequence[bool | int]) -> float:
    ranks = [rank for rank, v in enumerate(verdicts, 1) if v]
    return sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def pooled(scored: list[Scored]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([s.p for s in scored]), np.concatenate([s.y for s in scored])


def metrics(scored: list[Scored]) -> list[float]:
    """AUC, kappa at .5, mean |AP judge - AP label| a query, ECE in ten bins."""
    p, y = pooled(scored)
    ap = [abs(average_precision([v >= 0.5 for v in s.p]) - average_precision(s.y)) for s in scored if len(s.y) > 1]
    gap = np.bincount(np.minimum((p * 10).astype(int), 9), weights=p - y)  # bin size x its error
    return [
        roc_auc_score(y, p),
        cohen_kappa_score(y, p >= 0.5),
        float(np.mean(ap)) if ap else math.nan,
        float(np.abs(gap).sum() / len(p)),
    ]


def by(key: str, scored: list[Scored]) -> dict[str, list[Scored]]:
    out: dict[str, list[Scored]] = defaultdict(list)
    for s in scored:
        out[s.item[key]].append(s)
    return dict(sorted(out.items()))


def macro(scored: list[Scored]) -> list[float]:
    return [float(np.mean(m)) for m in zip(*map(metrics, by("dataset", scored).values()), strict=True)]


def interval(scored: list[Scored], rounds: int = 200) -> np.ndarray:
    """95% bootstrap interval of the macro mean: groups are drawn anew inside each fold."""
    rng = random.Random(SEED)
    folds = [list(by("group", fold).values()) for fold in by("dataset", scored).values()]
    draws = [macro([s for f in folds for g in rng.choices(f, k=len(f)) for s in g]) for _ in range(rounds)]
    return np.array(np.percentile(draws, [2.5, 97.5], axis=0))


def report(head: str, scored: list[Scored]) -> None:
    """Print one head's table, and the check against STUDY.md."""

    def row(name: str, values: Iterable[float], part: list[Scored] | None = None) -> None:
        size = [""] * 4
        if part:
            p, y = pooled(part)
            size = [f"{len(part)}", f"{len(y)}", f"{np.mean(y):.2f}", f"{np.mean(p >= 0.5):.2f}"]
        print("|", " | ".join([name, *size, *("-" if math.isnan(v) else f"{v:.3f}" for v in values)]), "|")

    claims = [s for s in scored if s.item["dataset"] == CLAIMS]
    kept = [s for s in scored if s.item["dataset"] != CLAIMS]
    columns = ["held out", "queries", "pairs", "positive", "said yes", "AUC", "kappa", "AP error", "ECE"]
    print(f"\n### {head}\n\n| {' | '.join(columns)} |\n|---{'|--:' * 8}|")
    for name, part in by("dataset", kept).items():
        row(name, metrics(part), part)
    row("**macro mean**", macro(kept))
    for name, bound in zip(("low", "high"), interval(kept), strict=True):
        row(f"its 95% interval, {name}", bound)
    for name, part in by("language", kept).items():
        row(f"language: {name}", metrics(part), part)
    row("all pooled", metrics(kept), kept)
    for name, rest in (("always yes", 1.0), ("yes to the first context only", 0.0)):
        trivial = [Scored(s.item, [1.0] + [rest] * (len(s.y) - 1), s.y) for s in kept]
        row(f"trivial, macro: {name}", macro(trivial))
    if claims:
        row(f"({CLAIMS}: in no mean)", metrics(claims), claims)
    p, y = pooled(kept)
    cuts = np.quantile(p, np.linspace(0.02, 0.98, 97))
    kappa, cut = max((cohen_kappa_score(y, p >= c), c) for c in cuts)
    print(f"\nAll pooled, threshold picked on these same pairs ({cut:.2f}): kappa {kappa:.3f}.")


def speed() -> None:
    """Print pairs a second of one process; features and trees are both plain Python."""
    judges = [LexicalJudge(h).fit([it for it in load(h) if it["dataset"] != CLAIMS]) for h in HEADS]
    sample = random.Random(SEED).sample([it for it in load("relevance") if it.get("response")], 100)
    sizes = [len(t) for it in sample for t in texts(it)]
    print(
        f"\nOne process, features and trees in plain Python, median of 5 runs over {len(sizes)} pairs "
        f"with a mean context of {np.mean(sizes):.0f} characters:"
    )
    for timed in ([judges[0]], [judges[1]], judges):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for it in sample:
                for judge in timed:
                    judge.predict(it["query"], texts(it), it["response"])
            times.append(time.perf_counter() - start)
        print(f"- {' + '.join(j.head for j in timed)}: {len(sizes) / sorted(times)[2]:.0f} pairs/s")


if __name__ == "__main__":
    began = time.time()
    print(f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, numpy {np.__version__}")
    for each in HEADS:
        report(each, leave_one_out(each, LexicalJudge))
    speed()
    print(f"- whole run: {time.time() - began:.0f} s on {os.cpu_count()} cores")
