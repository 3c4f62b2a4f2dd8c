"""Explanations: one to three sentences composed from the judgement, with no further call.

They speak of positions (1 is the first), document ids and levels. Only `quotes` holds content (notes, documents,
missing pieces); a scorer adds it where it was built with `quote=True`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_ctxscore.core.model import LEVELS, Context, JudgedBy, Judgement, Verdict
from otel_ctxscore.scorers.numbers import round2

LONGEST = 1500
CUT = " … (cut)"
_LISTED = 20
_LONGEST_ID = 40
_LONGEST_QUOTE = 160


def bounded(text: str, longest: int = LONGEST) -> str:
    """`text` on one line and, where it is longer than allowed, cut visibly."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - len(CUT)] + CUT


def composed(*sentences: str) -> str:
    """The sentences that are not empty, within the bound. The last one always survives whole."""
    *body, last = [sentence for sentence in sentences if sentence]
    last = bounded(last, LONGEST // 2)
    return f"{bounded(' '.join(body), LONGEST - len(last) - 1)} {last}".strip()


def positions(places: Iterable[int], contexts: Sequence[Context] = ()) -> str:
    """1-based positions with ids where there are any: `1 (doc-7), 3`; of many the first ones and how many more."""
    places = list(places)
    named = [_position(place, contexts) for place in places[:_LISTED]]
    more = [f"and {len(places) - _LISTED} more"] if len(places) > _LISTED else []
    return ", ".join(named + more)


def _position(place: int, contexts: Sequence[Context]) -> str:
    known = contexts[place].id if place < len(contexts) else None
    return f"{place + 1} ({bounded(known, _LONGEST_ID)})" if known else str(place + 1)


def criterion(judged_by: JudgedBy | None, version: str) -> str:
    """By which criterion, by whom and in which evaluator version relevance was judged."""
    if judged_by is None:
        return f"Judged by hand, evaluator version {version}."
    name = f'"{bounded(judged_by.criterion, _LONGEST_QUOTE)}"' if judged_by.criterion else "default"
    return f"Criterion: {name}, judged by {judged_by.tier} {judged_by.model}, evaluator version {version}."


def useful_contexts(useful: Sequence[bool], contexts: Sequence[Context]) -> str:
    """Which contexts counted as useful and which did not."""
    yes = [place for place, is_useful in enumerate(useful) if is_useful]
    no = [place for place, is_useful in enumerate(useful) if not is_useful]
    said = f"{len(yes)} of {len(useful)} contexts useful"
    said += f": position {positions(yes, contexts)}" if yes else ""
    return said + (f"; not useful: position {positions(no, contexts)}." if no else ".")


def precision_steps(useful: Sequence[bool], ratio: float) -> str:
    """How the positions moved average precision."""
    places = [place for place, is_useful in enumerate(useful) if is_useful]
    if not places:
        return "Nothing useful was ranked, so average precision is 0."
    steps = [f"{seen}/{place + 1}" for seen, place in enumerate(places[:_LISTED], start=1)]
    more = " and so on" if len(places) > _LISTED else ""
    return f"Precision at the useful positions: {', '.join(steps)}{more}; their mean is {round2(ratio):g}."


def levels(verdicts: Sequence[Verdict], contexts: Sequence[Context]) -> str:
    """Which level each context got, and which were used."""
    by_level = {level: [i for i, v in enumerate(verdicts) if v.relevance == level] for level in LEVELS}
    said = "; ".join(f"{level}: position {positions(at, contexts)}" for level, at in by_level.items() if at)
    used = positions(i for i, v in enumerate(verdicts) if v.is_used)
    return f"Relevance {said}. Used in the response: {f'position {used}' if used else 'none'}."


def scaled(value: float, scale: float) -> str:
    """What `scale` made of it; nothing for 1."""
    return "" if scale == 1 else f"Times the scale of {scale:g} that is {value:g}."


def quotes(judgement: Judgement, verdicts: Sequence[Verdict], contexts: Sequence[Context]) -> str:
    """Content: documents and notes by position, and the missing pieces."""
    said = [_quoted(place, verdict, contexts) for place, verdict in enumerate(verdicts)]
    if judgement.missing:
        said.append("missing: " + ", ".join(f"“{bounded(piece, _LONGEST_QUOTE)}”" for piece in judgement.missing))
    return "; ".join(part for part in said if part)


def _quoted(place: int, verdict: Verdict, contexts: Sequence[Context]) -> str:
    document = f" “{bounded(contexts[place].text, _LONGEST_QUOTE)}”" if place < len(contexts) else ""
    note = f" {bounded(verdict.note, _LONGEST_QUOTE)}" if verdict.note else ""
    return f"{place + 1}:{document}{note}" if document or note else ""
