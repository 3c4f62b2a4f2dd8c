"""A label as it is sent, checked against the run that it speaks of: nothing is guessed and nothing is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from otel_ctxscore.core.counting import count
from otel_ctxscore.core.history import Label
from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.model import LEVELS, Verdict
from otel_ctxscore.core.records import Record, hashed
from otel_ctxscore.monitoring.labels import contradiction, is_judge
from otel_ctxscore.web.questions import BadQuestion

MAX_WHO, MAX_NOTE = 100, 2000
"""Characters of a name, and of a note."""
SAME = ("run_id", "trace_id", "query", "response")
"""Keys of a label line that must be those of the run, where they are given and known of it."""
LINE_KEYS = frozenset({"who", "contexts", *SAME, "service", "at", "outcome", "reason", "scores"})
"""Those of `export`: a line is sent as it is. What it says besides verdicts is compared or left alone."""
CONTEXT_KEYS = frozenset({"index", "text", "id", "useful", "relevance", "used", "note"})


def read_label(body: object, run: Record, *, user: str, at: float) -> Label:
    """The label of a run, from `{who, contexts: [{index?, text?, useful?, relevance?, used?, note?}]}`. `user` is who
    is logged in, for a label without `who`. A context is found by `index`, else by `text`, else by its place, where all
    are given. Raises BadQuestion."""
    if not isinstance(body, dict):
        raise BadQuestion("a label is a JSON object", 'send {"who": ..., "contexts": [{"useful": true}]}')
    _known_keys(body, LINE_KEYS, "")
    for name in SAME:
        given, own = body.get(name), run[name]
        if given is not None and own is not None and not _is_same(given, own):
            raise BadQuestion(f"{name} is not that of the run", "send the line under the id of its own run")
    contexts = body.get("contexts")
    if not isinstance(contexts, list) or not contexts:
        raise BadQuestion(
            "contexts are missing", "contexts is a list of verdicts, one for each context that was looked at"
        )
    verdicts = dict(_verdicts(contexts, judged_contexts(run)))
    if all(verdict == Verdict(note=verdict.note) for verdict in verdicts.values()):
        raise BadQuestion("no context has a verdict", "say useful, relevance or used of one context at least")
    _no_contradiction(verdicts, run)
    if run["content"] != "text" and any(verdict.note for verdict in verdicts.values()):
        raise BadQuestion("a note needs the text of the run, which is not kept", "leave the notes out")
    return Label(_who(body.get("who"), user), at, verdicts)


def _no_contradiction(verdicts: Mapping[int, Verdict], run: Record) -> None:
    may_have_response = bool(run["response"]) or run["content"] != "text"
    for index, said in verdicts.items():
        fault = contradiction(said.useful, said.relevance, said.used, has_response=may_have_response)
        if fault is not None:
            raise BadQuestion(f"context [{index}] {fault}", "change one of the two, or leave one of them open")


def _is_same(given: object, own: str | None) -> bool:
    """Whether two texts are the same, where one of them may be a hash."""
    return own is not None and isinstance(given, str) and (given in (own, hashed(own)) or hashed(given) == own)


def _who(given: object, user: str) -> str:
    who = user if given is None or given == "" else given
    if not isinstance(who, str) or not who.strip() or len(who) > MAX_WHO:
        raise BadQuestion(
            "who is missing", f"who is the name of the person who looked, of at most {MAX_WHO} characters"
        )
    if not who.isprintable():
        raise BadQuestion("who holds characters that cannot be printed", "who is the name of the person who looked")
    if is_judge(who):
        raise BadQuestion("who is a judge", "put the name of the person who looked in its place")
    return who.strip()


def _verdicts(contexts: Sequence[object], judged: Sequence[Record]) -> Iterator[tuple[int, Verdict]]:
    seen: set[int] = set()
    for place, raw in enumerate(contexts):
        where = f"contexts[{place}]"
        if not isinstance(raw, dict):
            raise BadQuestion(f"{where} is no JSON object", "a context is {index?, useful?, relevance?, used?, note?}")
        _known_keys(raw, CONTEXT_KEYS, f"{where}.")
        index = _index(raw, where, place if len(contexts) == len(judged) else None, judged)
        if index in seen:
            raise BadQuestion(f"{where} stands there twice", "give each context once")
        seen.add(index)
        yield index, _verdict(raw, where)


def _index(raw: Record, where: str, place: int | None, judged: Sequence[Record]) -> int:
    """The place among the distinct contexts of the run that a verdict speaks of."""
    given, text = raw.get("index"), raw.get("text")
    if given is None and text is None and place is None:
        all_of_it = count(len(judged), "context")
        raise BadQuestion(f"{where} names no context", f"give its index, or all of the run in their order: {all_of_it}")
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < len(judged)):
        has = count(len(judged), "distinct context")
        raise BadQuestion(f"{where}.index is none of this run", f"it has {has}, from index 0")
    if text is None:
        return given if given is not None else place or 0
    same = [at for at, own in enumerate(judged) if _is_same(text, own["text"])]
    if given is not None:
        if judged[given]["text"] is not None and given not in same:
            raise BadQuestion(
                f"{where}.text is not that of context {given}", "give its own index, or leave the text out"
            )
        return int(given)
    if len(same) != 1:
        what = "is that of several contexts" if same else "is that of no context that is kept of this run"
        raise BadQuestion(f"{where}.text {what}", "give its index: GET runs/{id} has it with each context")
    return same[0]


def _verdict(raw: Record, where: str) -> Verdict:
    for name in ("useful", "used"):
        if not isinstance(raw.get(name), bool | None):
            raise BadQuestion(
                f"{where}.{name} is neither true nor false", "true, false, or null where it was not looked at"
            )
    if raw.get("relevance") not in (None, *LEVELS):
        raise BadQuestion(f"{where}.relevance is none of {', '.join(LEVELS)}", "one of them, or null")
    note = raw.get("note")
    if not isinstance(note, str | None) or len(note or "") > MAX_NOTE:
        raise BadQuestion(f"{where}.note is no text of at most {MAX_NOTE} characters", "shorten it, or leave it out")
    return Verdict(raw.get("useful"), raw.get("relevance"), raw.get("used"), (note or "").strip())


def _known_keys(given: Mapping[str, object], known: frozenset[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise BadQuestion(f"there is no {where}{name}", f"there are {', '.join(sorted(known))}")


# ---- from a form ------------------------------------------------------------------------------------------------

_ANSWERS = {"": None, "yes": True, "no": False}
_FIELDS: dict[str, Callable[[str], Any]] = {
    "useful": _ANSWERS.__getitem__,
    "used": _ANSWERS.__getitem__,
    "relevance": lambda text: text or None,
    "note": lambda text: text or None,
}


def from_form(form: Mapping[str, str]) -> Record:
    """The body of the fields `who` and `useful-0`, `relevance-0`, `used-0`, `note-0` ...; what is left open is absent.
    `blind` says only how the page was shown. Raises BadQuestion."""
    contexts: dict[int, Record] = {}
    for name, text in form.items():
        if name in ("who", "csrf", "blind"):
            continue
        field, _, place = name.partition("-")
        if field not in _FIELDS or not place.isascii() or not place.isdecimal() or len(place) > 6:
            raise BadQuestion(f"there is no field {name}", "send the form as the page has it")
        try:
            value = _FIELDS[field](text)
        except KeyError:
            raise BadQuestion(f"{name} is {text!r}", "yes, no, or nothing") from None
        if value is not None:
            contexts.setdefault(int(place), {"index": int(place)})[field] = value
    if not contexts:
        raise BadQuestion("no context has a verdict", "say useful, relevance or used of one context at least")
    return {"who": form.get("who", ""), "contexts": list(contexts.values())}
