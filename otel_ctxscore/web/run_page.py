"""The view Run: down to the passage at fault, with what people say of it and what they can do about it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import quote

from aiohttp import web

from otel_ctxscore.core.errors import StateError
from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.model import LEVELS
from otel_ctxscore.core.records import Record
from otel_ctxscore.web.access import CSRF, user
from otel_ctxscore.web.agreement import with_agreement
from otel_ctxscore.web.arithmetic import lines
from otel_ctxscore.web.errors import Refused
from otel_ctxscore.web.label_body import MAX_NOTE, MAX_WHO, from_form, read_label
from otel_ctxscore.web.meanings import meaning
from otel_ctxscore.web.questions import BadQuestion, known
from otel_ctxscore.web.questions import trace_id as trace_id_of
from otel_ctxscore.web.rendering import page, trace_link
from otel_ctxscore.web.review import Review
from otel_ctxscore.web.run_api import found, labelled
from otel_ctxscore.web.run_texts import MAX_CONTEXTS, shown_of, texts_of
from otel_ctxscore.web.runs_page import RELATIVES
from otel_ctxscore.web.status import Status

DONE = {
    "judged": "The run was judged again: the new verdicts stand beside the first ones.",
    "labelled": "The label is kept.",
    "anchored": "The run is an anchor now: its scores are kept, and it is judged again from time to time.",
    "forgotten": "The text of the trace was deleted.",
}
"""What is said on the page after something was done."""
PARAMETERS = ("done", "blind", "whole")
MOST_STEPS = 40
"""Steps of the arithmetic of a score that are shown."""
Form = Mapping[str, str]
Doing = Callable[[Record, Form, str], Awaitable[str]]
"""Does what a form asks for who is logged in; the key of `DONE`."""


def routes(status: Status, review: Review, trace_url: str | None) -> list[web.RouteDef]:
    """`GET /runs/{id}`, with `blind=1` without any verdict and with `whole=PART` with all of a text, and the forms of
    that page: `POST /runs/{id}/judge`, `/label`, `/anchor`, `/forget`. A form that did its work leads back to the page,
    so that loading it again repeats nothing; one that did not has the page as its answer, with what was filled in."""
    shown = partial(_page, trace_url)

    async def run(request: web.Request) -> web.Response:
        asked = known(request.query, PARAMETERS)
        it = await status.history.run(request.match_info["id"])
        done = DONE.get(asked.get("done", ""))
        return shown(request, it, done=done, blind=_is_blind(asked), whole=asked.get("whole"))

    async def judge(run: Record, form: Form, who: str) -> str:
        await review.judge_again(run)
        return "judged"

    async def label(run: Record, form: Form, who: str) -> str:
        said = read_label(from_form(form), run, user=who, at=time.time())
        await labelled(status, review, run, said)
        return "labelled"

    async def anchor(run: Record, form: Form, who: str) -> str:
        await review.anchor(run, None)
        return "anchored"

    async def forget(run: Record, form: Form, who: str) -> str:
        await status.history.forget_text(trace_id_of(run["trace_id"] or ""))
        return "forgotten"

    def posted(doing: Doing) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
            try:
                run = await found(status, request)
                done = await doing(run, form, user(request))
            except (Refused, BadQuestion, StateError) as trouble:
                it = await status.history.run(request.match_info["id"])
                return shown(request, it, trouble=trouble, form=form, blind=_is_blind(form))
            blind = "&blind=1" if _is_blind(form) else ""
            return web.Response(status=303, headers={"Location": f"../{run['run_id']}?done={done}{blind}"})

        return answer

    async def back(request: web.Request) -> web.Response:
        return web.Response(status=303, headers={"Location": f"../{quote(request.match_info['id'], safe='')}"})

    forms = {"judge": judge, "label": label, "anchor": anchor, "forget": forget}
    return [
        web.get("/runs/{id}", run),
        *(web.post(f"/runs/{{id}}/{name}", posted(doing)) for name, doing in forms.items()),
        *(web.get(f"/runs/{{id}}/{name}", back) for name in forms),  # the address that a form with a fault leaves
    ]


def _is_blind(given: Mapping[str, str]) -> bool:
    """Whether nothing of what judge and people say may be shown: who has seen a verdict tends to agree with it."""
    return given.get("blind") == "1"


def _page(
    trace_url: str | None,
    request: web.Request,
    run: Record | None,
    *,
    done: str | None = None,
    trouble: Refused | BadQuestion | StateError | None = None,
    form: Form | None = None,
    blind: bool = False,
    whole: str | None = None,
) -> web.Response:
    root = "../" if request.method == "GET" else "../../"
    refused = {} if trouble is None else {"what": str(trouble), "hint": getattr(trouble, "hint", "see the log")}
    return page(
        "blind.html" if blind and run else "run.html",
        "runs",
        root=root,
        status=_status(run, trouble),
        it=run,
        link=partial(trace_link, trace_url),
        meaning=meaning,
        done=done,
        refused=refused,
        csrf=request.app[CSRF],
        **({} if run is None else _shown(run, root, whole, blind) | _people(run, user(request), form, whole)),
    )


def _shown(run: Record, root: str, whole: str | None, blind: bool) -> dict[str, object]:
    """The texts of the run, and how its scores came about."""
    return {
        "path": f"{root}runs/{run['run_id']}",
        "excerpts": texts_of(run, whole, blind=blind),
        "shown_of": shown_of(run),
        "scores": [] if blind else [(score, lines(run, score)) for score in run["scores"]],
        "relatives": RELATIVES,
        "most_steps": MOST_STEPS,
    }


def _status(run: Record | None, trouble: Refused | BadQuestion | StateError | None) -> int:
    if trouble is None:
        return 200 if run else 404
    return trouble.status if isinstance(trouble, Refused) else 400 if isinstance(trouble, BadQuestion) else 503


def _people(run: Record, logged_in: str, form: Form | None, whole: str | None) -> dict[str, object]:
    """What was said beside the first judgement, by context, and the form with what it holds."""
    labels = with_agreement(run)
    said = [(label["who"], {one["index"]: one for one in label["contexts"]}) for label in labels]
    if run["again"] is not None:
        said.append(("Judged again", {one["index"]: one for one in run["again"]["verdicts"]}))
    contexts = judged_contexts(run)
    places = [context["index"] for context in contexts]
    own = next((label for label in labels if label["who"] == logged_in), None)
    return {
        "labels": labels,
        "contexts": contexts[:MAX_CONTEXTS],
        "beside": {at: [(who, verdicts[at]) for who, verdicts in said if at in verdicts] for at in places},
        "filled": _filled(own, logged_in) if form is None else form,
        "opened": (form is not None and "who" in form) or (whole or "").startswith("label-"),
        "levels": [*((level, level) for level in LEVELS), ("", "open")],
        "max_who": MAX_WHO,
        "max_note": MAX_NOTE,
        "is_whole": any(sum(one["useful"] is not None for one in label["contexts"]) == len(places) for label in labels),
    }


def _filled(label: Record | None, who: str) -> dict[str, str]:
    """The fields of the form: what the person said before."""
    found = {"who": who}
    for one in label["contexts"] if label is not None else ():
        answers = {name: "" if one[name] is None else "yes" if one[name] else "no" for name in ("useful", "used")}
        texts = {name: one[name] or "" for name in ("relevance", "note")}
        found |= {f"{name}-{one['index']}": text for name, text in (*answers.items(), *texts.items())}
    return found
