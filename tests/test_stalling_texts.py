"""Texts on which a careless search takes minutes: whatever a sender or an author of documents writes, a trace is read
and judged in the time that its length costs."""

from __future__ import annotations

import time

import pytest

from otel_ctxscore.core.conventions import Options, extract
from otel_ctxscore.core.spans import Span, Trace
from otel_ctxscore.judges.local import LocalJudge

LENGTH = 50_000
TRACE = b"\x01" * 16
SPANS: tuple[dict[str, str], ...] = (
    {"openinference.span.kind": "RETRIEVER", "input.value": "q", "retrieval.documents.0.document.content": ""},
    {"openinference.span.kind": "CHAIN", "input.value": "", "output.value": ""},
    {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": ""},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.result": ""},
    {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": ""},
)  # fmt: skip
"""Attributes of spans; the text stands in place of the empty ones."""
TEXTS = [
    "\n", " ", "\t", "\r\n", ".", "!", "?)", "...", "…", "*", "**", "#\n", "> ", "-", "---\n", "===\n", "Hit", "Document(", "a.",
    "<context>", "<sources></context>", "Context:\n", "Question: ", "answer ", "user\n", "question \n", "[truncated", "{x}",
    '\\"', '{"', "['", "<a ", "0.", "1,", "e\u0301", "我", "\u200b", "_a", "[1]", "a. ",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_costs_what_its_length_costs(text: str) -> None:
    for around in ("%s", "%sx!", "Context: %s\nQuestion: x\nanswer\n%sx", '{"verdicts":%s', "[%s1]"):
        whole = around.replace("%s", text * (LENGTH // len(text)))
        spans = [
            Span(TRACE, bytes([n] * 8), b"", attributes={k: v or whole for k, v in one.items()})
            for n, one in enumerate(SPANS, 1)
        ]
        began = time.process_time()
        extraction = extract(Trace(TRACE, tuple(spans)), Options(prompt_separator="\n\n"))
        for run in extraction.runs[:1]:
            if run.refused is None and run.query is not None:
                await LocalJudge().judge(run)
        assert time.process_time() - began < 5
