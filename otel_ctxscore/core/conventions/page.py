"""The page `docs/conventions.md`: what is read of each framework, written from the dialects themselves."""

from __future__ import annotations

from collections.abc import Iterator

from otel_ctxscore.core.conventions.dialects import CATALOGUE
from otel_ctxscore.core.conventions.vocabulary import Dialect

HEAD = """\
# Connect your framework

A convention is the way in which a framework writes its spans. These are the ones that are understood: what is read of
each, and how to switch its content on, without which nothing can be judged. A span is read by the dialect of its
instrumentation scope first, then by every dialect whose attributes it bears: what one leaves open the next may fill, so
that bridges and double instrumentation are read as one. `otel-ctxscore explain FILE` shows for your own traces what was
read where, and what was not and why.

The contexts of a turn are, in this order: the output of a reranker or of a step that joins several retrievals, the
documents of a retriever or those that a model's provider retrieved and sent along, the results of retrieval tools, the
result events of a vector database, and the context that stands joined in a prompt (which has no rank: precision is
`unscored(unranked)`). A tool retrieves if its name says so (search, retrieve, lookup, kb, knowledge,
doc, vector, rag, query, find; `extraction.retrieval_tools` adds names), or if its result is a list of objects with a
text. Spans that no dialect knows are declared by a mapping (`extraction.mappings`).

| framework | `convention` | seen | content on spans |
|---|---|---|---|
"""


def page() -> str:
    """The whole page, in Markdown."""
    dialects = sorted(CATALOGUE, key=lambda dialect: dialect.title.lower())
    rows = "".join(map(_row, dialects))
    return HEAD + rows + "".join(f"\n{section}" for section in map(_section, dialects))


def _row(dialect: Dialect) -> str:
    content = "off by default" if dialect.off_by_default else "on by default"
    return f"| [{dialect.title}](#{dialect.name}) | `{dialect.name}` | {dialect.versions} | {content} |\n"


def _section(dialect: Dialect) -> str:
    return "\n".join(_lines(dialect)) + "\n"


def _lines(dialect: Dialect) -> Iterator[str]:
    yield f'## <a id="{dialect.name}"></a>{dialect.title}'
    yield ""
    yield f"Seen: {dialect.versions}."
    yield ""
    if dialect.scopes:
        yield f"Scopes that begin with: {_codes(dialect.scopes)}."
        yield ""
    yield f"Read: {', '.join(map(_read, dialect.reads))}."
    yield ""
    if dialect.switch:
        yield f"Content: {dialect.switch}."
        yield ""
    yield "```"
    yield from (f"{name} = {value}" for name, value in dialect.example.items())
    yield "```"


def _read(what: str) -> str:
    """An attribute key as code, a sentence as it is."""
    return what if " " in what else f"`{what}`"


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
