"""`otel-ctxscore explain`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from urllib.parse import quote

import click

from otel_ctxscore import batch, parts
from otel_ctxscore import config as configuration
from otel_ctxscore.cli import known_trace
from otel_ctxscore.cli.admin import Admin, asks_admin
from otel_ctxscore.cli.explain_text import render, to_json
from otel_ctxscore.cli.files import CONFIG, READ, told
from otel_ctxscore.cli.tables import as_json
from otel_ctxscore.core import unseen
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.io.file import Report


@click.command("explain", help=f"""Print what was read where in each trace of files, and why not. Nothing is judged.

    {READ}

    The tool of the first day: it shows a tree of the spans with the query, contexts and response that were found, what
    was considered and rejected, and what to switch on in the instrumentation where content is missing. With -c it tries
    the mappings of a configuration. With --trace-id a running service says what became of a trace.""")  # fmt: skip
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--trace-id", metavar="ID", help="Ask a running service what became of this trace, instead of files.")
@click.option(
    "--format",
    "form",
    help="A tree for people, or one JSON list with an object a trace.",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@CONFIG
@asks_admin
def command(files: tuple[str, ...], trace_id: str | None, form: str, path: Path | None, admin: Admin) -> None:
    if (trace_id is None) == (not files):
        raise click.UsageError("name either FILEs or --trace-id")
    if trace_id is not None:
        _known(admin, trace_id, form)
        return
    config = configuration.load(path)
    with told() as report:
        asyncio.run(_explain(files, form, config, report))


def _known(admin: Admin, trace_id: str, form: str) -> None:
    known = admin.ask("GET", f"traces/{quote(trace_id.strip(), safe='')}")
    if form == "json":
        click.echo(as_json([known_trace.to_json(known)], indent=2))
    else:
        click.echo(unseen.plain(known_trace.render(known)))


async def _explain(files: tuple[str, ...], form: str, config: configuration.Config, report: Report) -> None:
    extract = parts.reader(config)
    objects: list[dict[str, object]] = []
    found = written_out = 0
    for trace in batch.traces(files, lambda _: True, report, config):
        if not isinstance(trace, Trace):
            written_out += 1
            continue
        extraction = await extract(trace)
        found += 1
        if form == "json":
            objects.append(to_json(trace, extraction))
        else:
            click.echo(unseen.plain(render(trace, extraction)))
    if form == "json":
        click.echo(as_json(objects, indent=2))
    if written_out:
        print(f"given as such, and not read out of spans: {count(written_out, 'run')}", file=sys.stderr)
    elif form != "json" and not found and not report.refused:
        print("no trace in these files", file=sys.stderr)
