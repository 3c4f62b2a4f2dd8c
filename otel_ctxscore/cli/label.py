"""`otel-ctxscore label`."""

from __future__ import annotations

import getpass
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import click

from otel_ctxscore.cli.admin import Admin, asks_admin
from otel_ctxscore.cli.explain_text import short
from otel_ctxscore.cli.files import named
from otel_ctxscore.cli.label_files import lines
from otel_ctxscore.cli.output import echo_if_read
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.model import LEVELS
from otel_ctxscore.monitoring.labels import VERDICT_FIELDS, is_judge, without_verdict

Line = dict[str, Any]


@click.command("label")
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]...")
@click.option("--run", "run_id", metavar="ID", help="Label this run; alone, print its contexts with their numbers.")
@click.option("--useful", metavar="LIST", help="Contexts that are useful, by number: 0,2, all or none.")
@click.option("--used", metavar="LIST", help="Contexts that the response uses, the same way.")
@click.option("--unsure", metavar="LIST", help="Contexts that are left open, of which --useful and --used say nothing.")
@click.option("--relevance", metavar="LIST", help=f"Levels by number: 0=high,2=low ({', '.join(LEVELS)}).")
@click.option("--note", "notes", multiple=True, metavar="N=TEXT", help="A note on a context; more than once for more.")
@click.option("--who", help="Who looked, for --run and lines that name nobody or the judge; you, if not given.")
@click.option("--blind", is_flag=True, help="Show nothing of what the judge and other people say.")
@click.option("--confirm-judge", is_flag=True, help="Keep lines of the judge's that nobody has changed: you agree.")
@asks_admin
def command(
    files: tuple[str, ...],
    run_id: str | None,
    who: str | None,
    blind: bool,
    confirm_judge: bool,
    admin: Admin,
    **said: Any,
) -> None:
    """Keep what people say of the runs of a running service.

    FILE has label lines as `otel-ctxscore export --blank` writes them (JSON lines or CSV, with the `run_id`), after a
    person has put their verdicts there; - is standard input. A line that cannot be kept is said, and the rest is kept.
    A line of the judge's whose verdicts are all still the judge's is refused: it is nobody's word.

    Without FILE, one run by options: with --useful 0,2 these contexts are useful and all others are not, but for those
    of --unsure. The latest label of each person counts. `export --labels` writes them, `calibrate --labels` reads that.

    Who has seen a verdict tends to agree with it, and a judge that is measured by such labels looks better than it is:
    with --blind neither the judge's verdicts nor those of others are shown, nor how far yours agree with them.

    Exit 1 where a label was not kept, and where there was none.

    \b
    otel-ctxscore label --run ID --blind
    otel-ctxscore label --run ID --blind --useful 0,2 --unsure 3 --relevance 0=high
    otel-ctxscore export --blank --format csv > runs.csv    # to be filled in
    otel-ctxscore label runs.csv --who ann
    """
    if bool(files) == (run_id is not None):
        raise click.UsageError("give either FILE or --run ID")
    if files and any(said.values()):
        raise click.UsageError("--useful, --used, --unsure, --relevance and --note go with --run")
    if run_id is not None and confirm_judge:
        raise click.UsageError("--confirm-judge goes with FILE")
    if run_id is None:
        _label_lines(files, who, confirm_judge, blind, admin)
        return
    run = admin.ask("GET", _path(run_id))
    if not any(said.values()):
        click.echo("\n".join(_shown(run, blind)))
        _by(run["replica"])
        return
    if not judged_contexts(run):
        raise click.ClickException(f"run {run_id} has no context that could be labelled")
    body = {"who": who or getpass.getuser(), "contexts": _contexts(len(judged_contexts(run)), **said)}
    kept = admin.ask("POST", f"{_path(run_id)}/label", body)
    click.echo(_told(kept, blind))
    _by(kept["replica"])


def _path(run_id: str) -> str:
    return f"runs/{quote(run_id, safe='')}"


def _by(replica: str) -> None:
    print(f"by replica {replica}", file=sys.stderr)


# ---- one run by options -----------------------------------------------------------------------------------------


def _contexts(
    n: int, useful: str | None, used: str | None, unsure: str | None, relevance: str | None, notes: Sequence[str]
) -> list[Line]:
    """The verdicts that the options give."""
    found: dict[int, Line] = {place: {"index": place} for place in range(n)}
    left_open = set(_places("--unsure", unsure or "none", n))
    for name, given in (("useful", useful), ("used", used)):
        if given is not None:
            yes = set(_places(f"--{name}", given, n))
            if yes & left_open:
                raise click.UsageError(f"{min(yes & left_open)} is in --{name} and in --unsure")
            for place in found.keys() - left_open:
                found[place][name] = place in yes
    for piece in (relevance or "").split(",") if relevance else ():
        place, level = _pair("--relevance", piece, n)
        found[place]["relevance"] = level
    for piece in notes:
        place, note = _pair("--note", piece, n)
        found[place]["note"] = note
    return [context for context in found.values() if len(context) > 1]


def _places(option: str, text: str, n: int) -> list[int]:
    if text.strip() in ("all", "none"):
        return list(range(n)) if text.strip() == "all" else []
    return [_place(option, piece, n) for piece in text.split(",")]


def _place(option: str, text: str, n: int) -> int:
    digits = text.strip()
    if not digits.isascii() or not digits.isdecimal() or int(digits) >= n:
        raise click.UsageError(f"{option}: {digits!r} is no context; the run has {n}, from 0")
    return int(digits)


def _pair(option: str, text: str, n: int) -> tuple[int, str]:
    place, equals, rest = text.partition("=")
    if not equals:
        raise click.UsageError(f"{option}: {text!r} is not NUMBER=...")
    return _place(option, place, n), rest.strip()


# ---- lines of files ---------------------------------------------------------------------------------------------


def _label_lines(files: Sequence[str], who: str | None, confirm_judge: bool, blind: bool, admin: Admin) -> None:
    admin.ask("GET", "runs", query={"limit": 1})  # its answer bears the token that a change needs
    kept: Counter[str] = Counter()
    refused = empty = 0
    for path in files:
        for number, line in lines(path):
            if without_verdict(line):
                empty += 1
                continue
            try:
                path_of_run, signed = _path(_run_id(line)), _signed(line, who)
                if is_judge(line.get("who")) and not confirm_judge:
                    _changed(line, admin)
                answer = admin.ask("POST", f"{path_of_run}/label", signed)
            except click.ClickException as fault:
                refused += 1
                print(f"{named(path)}: line {number}: {fault.format_message()}", file=sys.stderr)
            else:
                kept[answer["replica"]] += 1
                echo_if_read(_told(answer, blind))
    for replica, n in kept.items():
        print(f"{count(n, 'label')} kept by replica {replica}", file=sys.stderr)
    if empty:
        print(f"left out: {count(empty, 'line')} without any verdict", file=sys.stderr)
    if refused or not kept:
        nothing = f"{', '.join(map(named, files))}: no label"
        raise click.ClickException(f"not kept: {count(refused, 'line')}" if refused else nothing)


def _run_id(line: Any) -> str:
    known = line.get("run_id") if isinstance(line, dict) else None
    if not isinstance(known, str) or not known:
        raise click.ClickException("run_id is missing; `calibrate --labels` takes lines without one")
    return known


def _changed(line: Line, admin: Admin) -> None:
    """Raises ClickException where a line of the judge's still says what the judge said."""
    contexts = line.get("contexts")
    if not isinstance(contexts, list) or not all(isinstance(context, dict) for context in contexts):
        return  # which the service refuses, with what is wrong
    judged = judged_contexts(admin.ask("GET", _path(_run_id(line))))
    own = {context["index"]: context for context in judged}
    for place, context in enumerate(contexts):
        first = own.get(context.get("index", place), {})
        if any(context.get(name) != first.get(name) for name in VERDICT_FIELDS):
            return
    raise click.ClickException(
        "all verdicts are still the judge's: fill in `export --blank`, or say --confirm-judge if a person has looked"
    )


def _signed(line: Line, who: str | None) -> Line:
    """The line with the name of a person. One that bears the judge's is nobody's word until somebody is named."""
    said = line.get("who")
    if is_judge(said):
        if who is None:
            raise click.ClickException("who is the judge: if a person has been over it, say --who NAME")
        said = None
    return {**line, "who": said or who or getpass.getuser()}


# ---- what is printed --------------------------------------------------------------------------------------------


def _told(label: Line, blind: bool) -> str:
    if blind:
        return f"{label['run_id']} {short(label['who'])}: kept"
    same = [f"{name} {n['same']} of {n['of']}" for name, n in label["agreement"].items() if n["of"]]
    return f"{label['run_id']} {short(label['who'])}: agrees with the judge on {', '.join(same) or 'nothing it says'}"


def _shown(run: Line, blind: bool) -> Iterator[str]:
    yield f"run {run['run_id']}: {'' if blind else run['outcome'] + ', '}text: {run['content']}"
    yield f"query     {short(run['query'] or '-')}"
    for context in judged_contexts(run):
        verdict = "" if blind else f"{_words(context):<24} "
        yield f"[{context['index']}] {verdict}{short(context['text'] or context['id'] or '-')}"
    yield f"response  {short(run['response'] or '-')}"
    for label in () if blind else run["labels"]:
        said = "; ".join(f"[{context['index']}] {_words(context)}" for context in label["contexts"])
        yield f"{short(label['who'])}, {label['at']}: {said}"


def _words(verdict: Line) -> str:
    useful, used = verdict["useful"], verdict["used"]
    words = [
        None if useful is None else "useful" if useful else "not useful",
        verdict["relevance"],
        None if used is None else "used" if used else "not used",
    ]
    return ", ".join(word for word in words if word) or "-"
