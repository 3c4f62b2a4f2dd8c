"""What is known about an alarm, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from otel_ctxscore.cli.tables import add_row

Answer = dict[str, Any]
MEASURES = {
    "contexts": "contexts a run",
    "context_characters": "characters a context",
    "document_score": "retriever's score",
    "empty_retrievals": "empty retrievals, share",
}
SHOWN_PARTS = 5
"""Values of a segment that are shown: those that pull the mean down most."""


def lines(found: Answer, url: str) -> Iterator[str | Table]:
    """The answer of `GET alarms/{id}` in the order in which it is best read."""
    yield f"{found['scorer']} of {found['service']} (version {found['version']}): {_state(found)}"
    yield from _since(found)
    yield ""
    yield _compared(found)
    yield ""
    yield _who(found)
    for name, parts in found["segments"].items():
        yield ""
        yield _parts(name, parts)
    if found["worst"]:
        yield ""
        yield "worst runs since then:"
    for run in found["worst"]:
        yield f"{_lowest(run, found['scorer'])}  {url}/runs/{run['run_id']}"
    yield ""
    for one in found["unknown"]:
        yield f"not known: {one['what']}: {one['why']}"
    yield f"{url}/alarms/{found['id']}, replica {found['replica']}"


def _state(found: Answer) -> str:
    return f"over ({found['ended_by']}) at {found['ended']}" if found["ended"] else f"up since {found['rose']}"


def _since(found: Answer) -> Iterator[str]:
    change = found["change"]
    if change is not None:
        early, late = change["earliest"], change["latest"]
        doubt = f"within the hour of {early}" if early == late else f"from {early} to {late}"
        yield f"began most likely at {change['at']}, with 95 % {doubt}"
    else:
        yield f"began at {found['began']}, as the alarm took it when it rose"
    rose = _estimate({name: found[name] for name in ("mean", "lower", "upper")})
    yield f"when it rose: {rose} since {found['began']}, reference {found['reference']:.3g}; by now:"


def _compared(found: Answer) -> Table:
    table = Table("", "before", "after", "difference", box=None)
    add_row(table, f"mean {found['scorer']}", *_sides(found))
    for name, said in MEASURES.items():
        one = found["retrieved"][name]
        if one["before"]["mean"] is not None or one["after"]["mean"] is not None:
            add_row(table, said, *_sides(one))
    return table


def _sides(one: Answer) -> tuple[str, str, str]:
    difference = one["difference"]
    if difference is None:
        said = "-"
    elif difference["lower"] is None:
        said = f"{difference['value']:+.3g}, no interval"
    else:
        noise = "" if difference["beyond_noise"] else ", within noise"
        said = f"{difference['value']:+.3g} ({difference['lower']:+.3g} to {difference['upper']:+.3g}{noise})"
    return _estimate(one["before"]), _estimate(one["after"]), said


def _estimate(one: Answer) -> str:
    if one["mean"] is None:
        return "-"
    interval = "" if one["lower"] is None else f" ({one['lower']:.3g} to {one['upper']:.3g})"
    return f"{one['mean']:.3g}{interval}"


def _who(found: Answer) -> str:
    others = [
        f"version {one['version']} ({one['model']}) since {one['first']}" for one in found["judge"]["other_versions"]
    ]
    moved = found["blame"]["culprit"] if found["blame"] else "not known"
    return f"who moved: {moved}; other versions: {', '.join(others) or 'none'}"


def _parts(name: str, parts: list[Answer]) -> Table:
    table = Table(name, "share before, after", "mean before", "mean after", "part of the change", box=None)
    for part in parts[:SHOWN_PARTS]:
        add_row(
            table,
            "(not stated)" if part["value"] is None else part["value"],
            f"{part['share_before']:.0%}, {part['share_after']:.0%}",
            _estimate(part["before"]),
            _estimate(part["after"]),
            f"{part['contribution']:+.3f} ± {1.96 * part['contribution_error']:.3f}",
        )
    return table


def _lowest(run: Answer, scorer: str) -> str:
    values = [one["value"] for one in run["scores"] if one["name"] == scorer and one["value"] is not None]
    return f"{min(values):g}"
