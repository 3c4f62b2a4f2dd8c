from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.core.codec import open_span, take_traces
from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.model import Context, Retrieval
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.ports import ConfigError
from tests.cli.run import run
from tests.otlp import rag, request, span

STORE = {"Which port?": ["port 7443", "noise"], "Which owner?": ["team blue"]}


async def from_store(query: str, trace: Trace) -> list[Context]:
    return [Context(text, id=str(n), document_score=1 - n / 2) for n, text in enumerate(STORE.get(query, []))]


async def two_lists(query: str, trace: Trace) -> list[Retrieval]:
    return [Retrieval(["a"], query="rewritten"), Retrieval(["b", "c"])]  # type: ignore[list-item]


async def plain_texts(query: str, trace: Trace) -> Sequence[str]:
    return ("first", "second")


async def fails(query: str, trace: Trace) -> list[Context]:
    raise RuntimeError("the store is down")


async def never(query: str, trace: Trace) -> list[Context]:
    await asyncio.Event().wait()
    raise AssertionError


async def nonsense(query: str, trace: Trace) -> Any:
    return {"contexts": 3}


def not_async(query: str, trace: Trace) -> list[Context]:
    return []


def trace_of(spans: list[dict[str, Any]]) -> Trace:
    taken = take_traces(request(spans), "json", lambda _: True)
    return Trace(taken.spans[0].trace_id, tuple(map(open_span, taken.spans)))


async def extracted(function: str, spans: list[dict[str, Any]], **options: object) -> Extraction:
    section = {"extractor": f"tests.test_extractor:{function}", "extractor_deadline": "50ms", **options}
    return await parts.reader(configuration.parse({"extraction": section}))(trace_of(spans))


def texts(extraction: Extraction) -> list[list[str]]:
    return [[context.text for context in r.contexts] for run_ in extraction.runs for r in run_.retrievals]


async def test_it_wins_over_what_the_conventions_read() -> None:
    extraction = await extracted("from_store", rag())
    assert texts(extraction) == [["port 7443", "noise"]]
    [found] = extraction.runs
    assert (found.query, found.response, found.complete, extraction.outcome) == ("Which port?", "7443.", True, None)
    assert found.retrievals[0].span_id == found.span_id


async def test_it_serves_traces_without_any_retrieval() -> None:
    chain = span(
        1, 1, None, {"openinference.span.kind": "CHAIN", "input.value": "Which owner?", "output.value": "Blue"}
    )
    assert texts(await extracted("from_store", [chain])) == [["team blue"]]


async def test_it_may_give_texts_or_several_retrievals() -> None:
    assert texts(await extracted("plain_texts", rag())) == [["first", "second"]]
    extraction = await extracted("two_lists", rag())
    assert texts(extraction) == [["a"], ["b", "c"]]
    assert extraction.runs[0].retrievals[0].query == "rewritten"


async def test_limits_apply_to_it_too() -> None:
    assert texts(await extracted("from_store", rag(), min_document_score=0.9)) == [["port 7443"]]
    assert texts(await extracted("plain_texts", rag(), max_contexts=1)) == [["first"]]


async def test_nothing_found_is_said_as_such() -> None:
    extraction = await extracted("from_store", rag(query="unknown"))
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, Reason.NO_CONTEXTS)


@pytest.mark.parametrize("function", ["fails", "never", "nonsense"])
async def test_what_goes_wrong_is_a_reason(function: str) -> None:
    extraction = await extracted(function, rag())
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, Reason.EXTRACTOR_ERROR)


@pytest.mark.parametrize(
    ("function", "said"), [("not_async", "not an async function"), ("absent", "cannot be imported")]
)
def test_what_cannot_be_called_is_said_before_anything_starts(function: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parts.reader(configuration.parse({"extraction": {"extractor": f"tests.test_extractor:{function}"}}))


def test_it_is_tried_on_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("extraction: {extractor: 'tests.test_extractor:from_store'}")
    (tmp_path / "t.json").write_bytes(request(rag()))
    ended = run("explain", str(tmp_path / "t.json"), "-c", str(tmp_path / "c.yaml"))
    assert "port 7443" in ended.out


async def test_the_example_of_the_documentation_runs() -> None:
    page = (Path(__file__).parent.parent / "docs" / "extractor.md").read_text()
    code = page.split("```python\n", 1)[1].split("```", 1)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "docs/extractor.md", "exec"), names)
    found = await names["contexts"]("Which port does the ledger service use?", trace_of(rag()))
    assert found[0].id == "ledger"
    assert "canteen" not in [context.id for context in found[:1]]
