"""Templates, and how numbers, moments and links are written in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from otel_ctxscore.core.counting import count
from otel_ctxscore.core.unseen import fitting, plain
from otel_ctxscore.web.visible import shown

_WORD = re.compile(r"[a-z]+(?=[ ,:])")
MAX_QUOTED = 160
"""Characters of a text that stand in a table or a heading."""


def rendered(template: str, view: str, *, root: str = "", **context: object) -> str:
    """A page. `view` is the entry of the navigation it belongs to; `root` leads from its folder to the overview's."""
    known = {"version": version("otel-ctxscore"), "view": view, "root": root, "refresh": None}
    return templates().get_template(template).render(**{**known, **context})


def root_of(path: str) -> str:
    """What leads from a path of the admin address to the overview's, for links of a page."""
    return "../" * (path.count("/") - 1)


def page(template: str, view: str, *, root: str = "", status: int = 200, **context: object) -> web.Response:
    """A page as an answer; see `rendered`."""
    text = rendered(template, view, root=root, **context)
    # Text of traces may hold lone surrogates, which no encoding has.
    body = text.encode("utf-8", "replace")
    return web.Response(body=body, content_type="text/html", charset="utf-8", status=status)


@cache
def templates() -> Environment:
    """The templates of the package. Everything in them is escaped, and what is unseen in a text is named, also where
    no filter asks for it."""
    environment = Environment(
        loader=PackageLoader("otel_ctxscore.web"),
        autoescape=True,
        finalize=lambda value: plain(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "share": share,
        "signed": signed,
        "amount": amount,
        "signed_amount": signed_amount,
        "moment": timed,
        "span": duration,
        "counts": counts,
        "short": short,
        "line": line,
        "shown": shown,
        "verbatim": verbatim,
        "counted": counted,
        "sentence": sentence,
        "breakable": breakable,
        "query": query,
        "rfc3339": rfc3339,
    }
    return environment


def trace_link(pattern: str | None, trace_id: str | None, span_id: str | None) -> str | None:
    """Where a trace is shown elsewhere; None without a pattern of http or https, or without a trace."""
    if not pattern or not trace_id or not pattern.startswith(("http://", "https://")):
        return None
    trace, span = (quote(known or "", safe="", errors="replace") for known in (trace_id, span_id))
    return pattern.replace("{trace_id}", trace).replace("{span_id}", span)


def query(parameters: Mapping[str, object]) -> str:
    """The parameters of a link, without those that are empty."""
    return urlencode({name: value for name, value in parameters.items() if value not in (None, "")}, errors="replace")


def pages(given: Mapping[str, str], *, more: bool) -> dict[str, Any]:
    """The parameters of the first page, on another one, and of the next, where there is more."""
    page = int(given["page"] or 1)
    return {
        "first": query({**given, "page": ""}) if page > 1 else None,
        "following": query({**given, "page": page + 1}) if more else None,
    }


def number(value: float) -> str:
    """A count with thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f")


def share(value: float | None) -> str:
    """A score in 0..1, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def signed(value: float) -> str:
    """A difference of scores, with its sign."""
    return f"{value:+.2f}".replace("-", "\u2212")


def amount(value: float) -> str:
    """A number of any size, to three digits or the whole of it."""
    return number(value) if abs(value) >= 1000 else f"{value:.3g}"


def signed_amount(value: float) -> str:
    """A difference of numbers of any size, with its sign."""
    sign = "\u2212" if value < 0 else "+"
    return f"{sign}{number(abs(value)) if abs(value) >= 100 else f'{abs(value):.2g}'}"


def moment(unix_seconds: float) -> str:
    """A moment in UTC."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def timed(unix_seconds: float) -> Markup:
    """A moment in UTC on a page, for programs too."""
    return Markup('<time datetime="%s">%s</time>') % (rfc3339(unix_seconds), moment(unix_seconds))


def rfc3339(unix_seconds: float | None) -> str | None:
    """A moment as the API writes it."""
    return None if unix_seconds is None else datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds")


def duration(seconds: float) -> str:
    """A span of time in its two greatest units."""
    rest = int(max(seconds, 0))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def counts(by_name: Mapping[str, float]) -> list[tuple[str, float]]:
    """Names with their counts, the greatest first; without those that are 0."""
    return sorted(((name, n) for name, n in by_name.items() if n), key=lambda named: (-named[1], named[0]))


def breakable(name: str) -> Markup:
    """A name that may break after each underscore, and looks whole otherwise."""
    return Markup("_<wbr>").join(map(plain, name.split("_")))


def counted(n: float, noun: str) -> str:
    """A count with its noun: `1 run`, `3 runs`."""
    return count(n, noun).replace(",", "\u202f")


def sentence(text: str) -> str:
    """What an error or its hint says, which the API gives in lower case, as a sentence of a page. A name of a setting
    stays as it is."""
    first, rest = (text[:1].upper(), text[1:]) if _WORD.match(text) else ("", text)
    return f"{first}{rest.rstrip('.')}."


def line(text: str) -> str:
    """A text on one line, cut visibly."""
    flat = " ".join(text[: 2 * MAX_QUOTED].split())
    length = fitting(flat, MAX_QUOTED)
    return flat if length == len(flat) and len(text) <= 2 * MAX_QUOTED else f"{flat[: min(length, MAX_QUOTED - 1)]}…"


def short(text: str) -> Markup:
    """The same, isolated from what stands around it."""
    return shown(line(text))


def verbatim(text: str) -> Markup:
    """A text as it is, for the value of a field that a form sends."""
    return escape(text)
