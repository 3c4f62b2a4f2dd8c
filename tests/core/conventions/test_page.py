"""The page of conventions says what the dialects say, and its examples are read as it says."""

from __future__ import annotations

import pytest

from otel_ctxscore.core.conventions import extract, page
from otel_ctxscore.core.conventions.dialects import CATALOGUE
from otel_ctxscore.core.conventions.vocabulary import Dialect
from otel_ctxscore.core.spans import Event, Scope, Span, Trace

WITHOUT_DOCUMENTS = {"agento11y", "crewai"}


@pytest.mark.parametrize("dialect", CATALOGUE, ids=lambda dialect: dialect.name)
def test_every_dialect_is_described(dialect: Dialect) -> None:
    text = page()
    assert f"`{dialect.name}`" in text
    assert dialect.versions in text
    assert dialect.switch in text
    assert dialect.reads
    assert dialect.example


@pytest.mark.parametrize("dialect", CATALOGUE, ids=lambda dialect: dialect.name)
def test_the_example_is_read_by_its_dialect(dialect: Dialect) -> None:
    attributes = dict(dialect.example)
    name = attributes.pop("event", None)
    events = (Event(name, attributes),) if name else ()
    scope = Scope(dialect.scopes[0]) if dialect.scopes else Scope()
    span = Span(b"\x01" * 16, b"\x01" * 8, attributes=dialect.example, events=events, scope=scope)
    runs = extract(Trace(span.trace_id, (span,))).runs
    texts = [context.text for run in runs for retrieval in run.retrievals for context in retrieval.contexts]
    assert texts == ([] if dialect.name in WITHOUT_DOCUMENTS else ["The warranty is 24 months."])
    assert all(run.convention == dialect.name for run in runs)
