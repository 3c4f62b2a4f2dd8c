"""Runs that people have labelled, and what their labels say of the judge."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeGuard

from otel_ctxscore.core.model import LEVELS, Context, Judgement, RagRun, Retrieval
from otel_ctxscore.core.spans import UNKNOWN_SERVICE
from otel_ctxscore.core.stats import (
    JudgeRates,
    LabelledQuery,
    Share,
    Sums,
    corrected_share,
    estimate_judged,
    judge_rates,
)
from otel_ctxscore.monitoring.label_table import NEEDED, read_table, separator

VERDICT_FIELDS = ("useful", "relevance", "used")
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
"""What bytes that are no UTF-8 are read as, by `surrogateescape`; and what text has none of."""
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


class LabelError(Exception):
    """A line that is no labelled run: which one, and why."""


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run and what people say of its contexts: `useful`, one for each of `run.judged`, None where they did not say.
    `line` is as it was read."""

    run: RagRun
    useful: tuple[bool | None, ...]
    line: Mapping[str, Any]


def raw(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """The label lines as they stand, each with its number: JSON lines `{query, contexts: [{text, useful, relevance?,
    used?}], response?}` with further keys, or the table of `export --format csv`. Raises LabelError for what cannot be
    read. A file is best opened with `errors="surrogateescape"`: what is no text is then refused by its line."""
    numbered = _texts(lines)
    first = next(((number, text) for number, text in numbered if text.strip()), (1, ""))
    bare = first[1].lstrip("\ufeff").strip()
    between = separator(bare)
    if between is not None:
        try:
            yield from read_table(chain([first[1]], (text for _, text in numbered)), between)
        except (ValueError, csv.Error) as error:
            raise LabelError(str(error)) from None
        return
    if bare and not bare.startswith(("{", "[")):
        raise LabelError(
            f"line {first[0]}: is neither JSON nor the header of a table with {', '.join(sorted(NEEDED))}, as `export`"
            " writes it"
        )
    for number, text in chain([first], numbered):
        if text.strip():
            yield number, _json(number, text)


def _texts(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, text in enumerate(lines, 1):
        if _NO_TEXT.search(text):
            raise LabelError(f"line {number}: is no text in UTF-8, but JSON lines or CSV should stand there")
        yield number, text


def _json(number: int, text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise LabelError(f"line {number}: is no JSON: {error.msg} at character {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise LabelError(f"line {number}: is no JSON that can be read: {error}") from None


def checked(number: int, line: object) -> LabelledRun:
    """The run of a line. Raises LabelError, which names it, also where its verdicts contradict each other."""
    try:
        found = parse(line)
    except ValueError as error:
        raise LabelError(f"line {number}: {error}") from None
    for place, context in enumerate(found.line["contexts"]):
        said = [context.get(name) for name in VERDICT_FIELDS]
        fault = contradiction(*said, has_response=bool(found.run.response))
        if fault is not None:
            raise LabelError(f"line {number}: contexts[{place}] {fault}")
    return found


def contradiction(useful: object, relevance: object, used: object, *, has_response: bool = True) -> str | None:
    """What in the verdicts on a context cannot be true together, by what useful, relevance and used mean; None where
    nothing is. A context may be used and not useful: it led the response astray."""
    if useful is False and relevance == "high":
        return "is not useful, yet its relevance is high: it answers the query"
    if useful is True and relevance == "none":
        return "is useful, yet its relevance is none: it has nothing to do with the query"
    if used is True and not has_response:
        return "is used, yet there is no response that could use it"
    return None


def is_judge(who: object) -> bool:
    """Whether `who` is what `export` writes of a judge, whose verdicts nobody has looked at."""
    return isinstance(who, str) and (who == "judge" or who.startswith("judge "))


def without_text(line: object) -> bool:
    """Whether a line that the service wrote bears no text any more, or only hashes of it: no judge can look at it."""
    if not _is_written(line):
        return False
    texts = [line.get("query"), *(context.get("text") for context in line["contexts"] if isinstance(context, dict))]
    return any(text is None or (isinstance(text, str) and _HASH.fullmatch(text)) for text in texts)


def without_verdict(line: object) -> bool:
    """Whether a line that the service wrote says nothing: the run has no contexts, or nobody has filled it in."""
    return _is_written(line) and not any(
        not isinstance(context, dict) or any(context.get(name) is not None for name in VERDICT_FIELDS)
        for context in line["contexts"]
    )


def _is_written(line: object) -> TypeGuard[dict[str, Any]]:
    """Whether a line has the form of those that the service writes."""
    return isinstance(line, dict) and "run_id" in line and isinstance(line.get("contexts"), list)


def parse(line: object) -> LabelledRun:
    """The run of one line. Raises ValueError."""
    if not isinstance(line, dict):
        raise ValueError("is no JSON object")
    query, response, contexts = line.get("query"), line.get("response"), line.get("contexts")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query is missing")
    if response is not None and not isinstance(response, str):
        raise ValueError("response is no text")
    if not isinstance(contexts, list) or not contexts:
        raise ValueError("contexts are missing")
    labelled = [_context(place, context) for place, context in enumerate(contexts)]
    service = line.get("service")
    run = RagRun(
        query,
        [Retrieval([context for context, _ in labelled])],
        response,
        service=service if isinstance(service, str) and service else UNKNOWN_SERVICE,
    )
    if len(run.judged) != len(labelled):
        raise ValueError("a context stands there twice")
    if not any(context.get(name) is not None for context in contexts for name in VERDICT_FIELDS):
        raise ValueError("no context has a verdict")
    return LabelledRun(run, tuple(useful for _, useful in labelled), line)


def _context(place: int, raw: object) -> tuple[Context, bool | None]:
    if not isinstance(raw, dict) or not isinstance(raw.get("text"), str) or not raw["text"].strip():
        raise ValueError(f"contexts[{place}] has no text")
    if "useful" not in raw or not isinstance(raw["useful"], bool | None):
        raise ValueError(f"contexts[{place}].useful is neither true nor false")
    if raw.get("relevance") not in (None, *LEVELS):
        raise ValueError(f"contexts[{place}].relevance is none of {', '.join(LEVELS)}")
    if not isinstance(raw.get("used"), bool | None):
        raise ValueError(f"contexts[{place}].used is neither true nor false")
    identity = raw.get("id")
    return Context(raw["text"], id=None if identity is None else str(identity)), raw["useful"]


def rates(judged: Iterable[tuple[LabelledRun, Judgement]]) -> JudgeRates | None:
    """How often the judge finds what people call useful, and what they do not. Contexts without a verdict are left
    out; None with fewer than two runs or with one kind of contexts only."""
    return judge_rates(LabelledQuery.of(_pairs(labelled.useful, judgement)) for labelled, judgement in judged)


def _pairs(useful: Sequence[bool | None], judgement: Judgement) -> Iterator[tuple[bool, bool]]:
    for human, verdict in zip(useful, judgement.verdicts, strict=True):
        if human is not None and verdict.is_useful is not None:
            yield human, verdict.is_useful


def corrected(share_useful: Sums, found: JudgeRates) -> tuple[float, Share] | None:
    """The mean share of useful contexts as the judge has it, and as people would; `share_useful` are the judged sums
    of that scorer. None without runs, and where the judge is too weak to correct by."""
    apparent = estimate_judged(share_useful)
    if apparent.mean is None or apparent.variance is None:
        return None
    share = corrected_share(apparent.mean, apparent.variance, found)
    return None if share is None else (apparent.mean, share)
