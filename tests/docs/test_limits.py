"""The table of limits in docs/threat-model.md: each row has the number of the code, and a test that passes the limit."""

from __future__ import annotations

import importlib
import io
import json
import re
from pathlib import Path

import pytest

from otel_ctxscore import listener
from otel_ctxscore.config import Config
from otel_ctxscore.config.load import MAX_BYTES, MAX_VALUES
from otel_ctxscore.core import history, json_in_text, patterns
from otel_ctxscore.core.codec import Malformed, take_traces, wire
from otel_ctxscore.core.conventions import contexts, flattened, messages, nested, questions, runs
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.io import file_stream, inflate, otlp_http, otlp_intake, results
from otel_ctxscore.io.state import database, hours
from otel_ctxscore.judges import llm, prompt, reply
from otel_ctxscore.pipeline import MAX_WALKING
from otel_ctxscore.telemetry import labels
from otel_ctxscore.web import alarm_api, excerpts, label_body, run_texts
from otel_ctxscore.web.questions import BadQuestion
from tests.core.conventions.building import KETTLE, QUERY, Built
from tests.deploy.files import ROOT
from tests.web.fakes import client

DEFAULTS = Config()
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
TABLE = re.search(r"^## Limits\n.*?\n\|---.*?\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
assert TABLE is not None
ROWS = dict(re.findall(r"^\| (.*?) \| (.*?) \|", TABLE[1], re.MULTILINE))
MIB = 1 << 20
HERE = "tests.docs.test_limits"


def mib(size: int) -> str:
    return f"{size // MIB} MiB" if size < 1 << 30 else f"{size >> 30} GiB"


def count(number: float) -> str:
    return f"{number:,.0f}"


LIMITS: dict[str, tuple[list[str], str]] = {
    "request, as it is sent and as it is inflated": (
        [mib(DEFAULTS.sources.otlp.max_request_size)] if DEFAULTS.sources.otlp else [],
        "tests.io.test_inflate.test_a_bomb_costs_no_more_than_the_limit",
    ),
    "time over the body of a request": (
        [f"{otlp_intake.BODY_SECONDS:.0f} s"],
        "tests.io.test_otlp_http.test_who_sends_a_body_byte_by_byte_is_answered_counted_and_cut_off",
    ),
    "time until the next request's head is whole, OTLP/HTTP": (
        [f"{otlp_http._IDLE_SECONDS:.0f} s"],
        "tests.io.test_otlp_http.test_who_never_comes_to_the_end_of_a_head_is_cut_off",
    ),
    "members of a gzip body": ([count(inflate._MOST_MEMBERS)], "tests.io.test_inflate.test_many_members_are_refused"),
    "nesting of an attribute's value": (
        [count(wire.MAX_DEPTH)],
        "tests.core.codec.test_oddities.test_a_value_nested_too_deep_is_dropped_and_counted",
    ),
    "nesting of a JSON request": ([], f"{HERE}.test_json_that_is_nested_without_end_is_refused"),
    "JSON in an attribute": ([mib(nested.MAX_JSON), count(nested.MAX_LEVELS)], f"{HERE}.test_json_in_json"),
    "index of a flattened list": ([count(flattened.MAX_INDEX)], f"{HERE}.test_an_index_beyond_all_lists_is_not_read"),
    "elements of a list in an attribute": (
        [count(nested.MAX_ELEMENTS)],
        f"{HERE}.test_elements_beyond_the_limit_are_not_read",
    ),
    "messages of one list": ([count(messages.MAX_MESSAGES)], f"{HERE}.test_messages_beyond_the_limit_are_not_read"),
    "history that a judge is shown": (
        [count(questions.MAX_HISTORY), count(questions.MAX_HISTORY_TEXT)],
        f"{HERE}.test_history_is_the_latest_that_fits",
    ),
    "retrievals of one turn": (
        [count(contexts.MAX_CANDIDATES)],
        f"{HERE}.test_retrievals_beyond_the_limit_are_not_read",
    ),
    "`service.name`": ([count(runs.LONGEST_SERVICE)], f"{HERE}.test_a_long_service_name_is_cut"),
    "open traces": (
        [count(DEFAULTS.assembly.max_traces)],
        "tests.core.test_assembly.test_what_only_waits_is_pushed_out_before_what_is_open",
    ),
    "bytes of spans that wait": (
        [mib(DEFAULTS.assembly.max_size)],
        "tests.core.test_assembly.test_bytes_are_capped_too",
    ),
    "traces that are judged or sent": (
        [count(MAX_WALKING)],
        "tests.test_pipeline.test_a_full_line_takes_nothing_and_says_when_there_is_room",
    ),
    "prompt of a judge": (
        [count(prompt.PROMPT_TOKENS)],
        "tests.judges.test_prompt.test_a_text_that_is_too_long_is_cut_and_says_so",
    ),
    "text of a reply": (
        [count(reply._LONGEST), count(json_in_text._MAX_ANSWERS)],
        "tests.judges.test_reply_shapes.test_what_could_mean_another_is_no_answer",
    ),
    "time of a pattern of `extraction.mappings`": (
        [f"{patterns._SECONDS} s", f"{patterns._SECONDS_A_CHARACTER * 1e6:.0f} s"],
        "tests.core.conventions.test_mapping.test_a_pattern_that_tries_without_end_is_given_up",
    ),
    "time of a pattern of `judge.redact`": (
        [f"{patterns._SECONDS} s", f"{patterns._SECONDS_A_CHARACTER * 1e6:.0f} s"],
        "tests.judges.test_redaction.test_a_pattern_that_tries_without_end_is_given_up_and_nothing_is_sent",
    ),
    "names under which a judge's provider answers": (
        [count(llm._MOST_VERSIONS)],
        "tests.judges.test_llm.test_a_provider_of_a_thousand_names_gets_no_more_than_a_hundred_versions",
    ),
    "reply of a judge": ([count(prompt._MOST_REPLY)], f"{HERE}.test_a_reply_has_a_limit_whatever_is_asked"),
    "values of a label from traffic": (
        [count(DEFAULTS.metrics.max_values), count(labels.MAX_LENGTH)],
        "tests.telemetry.test_metrics.test_services_beyond_the_cap_are_folded_and_nothing_is_lost",
    ),
    "verdicts on a span that is emitted": (
        [count(results.MAX_VERDICTS)],
        "tests.io.test_spans.test_many_contexts_are_all_there_and_beyond_the_limit_counted",
    ),
    "text that is emitted": ([count(results.MAX_TEXT)], "tests.io.test_spans.test_a_long_text_is_cut_and_says_so"),
    "body of a request to the admin address": (["1 MiB"], f"{HERE}.test_a_large_body_is_refused_by_the_admin_address"),
    "request line or a header, OTLP/HTTP and the admin address": (
        [count(listener.LONGEST)],
        "tests.test_listener.test_what_is_no_http_is_told_in_the_form_of_the_page",
    ),
    "text of a run on its page": (
        [count(excerpts.MOST), count(run_texts.MAX_CONTEXTS)],
        "tests.web.test_long_texts.test_a_hostile_trace_makes_no_endless_page",
    ),
    "rows of a page or an answer": (
        [count(history.MAX_LIMIT)],
        "tests.web.test_history.test_a_question_that_cannot_be_read_is_said",
    ),
    "services, and values of a segment, in the sums by the hour": (
        [count(hours.MAX_VALUES)],
        "tests.io.test_hours.test_many_values_are_one",
    ),
    "name of who acknowledges": (
        [count(alarm_api.MAX_NAME)],
        "tests.web.test_api.test_a_body_that_is_no_name_is_refused",
    ),
    "name and note of a label": (
        [count(label_body.MAX_WHO), count(label_body.MAX_NOTE)],
        f"{HERE}.test_a_label_of_a_long_name_is_refused",
    ),
    "line or document of a file": ([mib(file_stream.LARGEST)], f"{HERE}.test_a_document_beyond_the_limit_is_refused"),
    "configuration file": (
        [mib(MAX_BYTES), count(MAX_VALUES)],
        "tests.config.test_load.test_a_file_beyond_all_bounds_is_one_line",
    ),
    "state file": (
        [mib(DEFAULTS.state.max_size), f"{DEFAULTS.state.max_age / 86400:.0f} days"],
        "tests.io.test_state.test_the_file_stays_within_its_size",
    ),
    "writes that wait for the state file": (
        [count(database.MAX_PENDING), mib(database.MAX_PENDING_BYTES)],
        f"{HERE}.test_writes_that_cannot_wait_are_dropped_and_counted",
    ),
}
"""By row: the numbers that it must have, and the test that goes beyond them."""


def test_each_row_is_checked() -> None:
    assert set(ROWS) == set(LIMITS)


@pytest.mark.parametrize("row", LIMITS)
def test_a_row_has_the_numbers_of_the_code_and_a_test(row: str) -> None:
    numbers, test = LIMITS[row]
    assert [number for number in numbers if number not in ROWS[row]] == []
    module, _, name = test.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


# ---- Beyond the limits that no other test passes ------------------------------------------------------------------


def test_json_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(Malformed):
        take_traces(b'{"resourceSpans": ' + b"[" * 200_000, "json", lambda _: True)


def test_json_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    text: object = "the text"
    for _ in range(nested.MAX_LEVELS + 1):
        text = json.dumps([text])
    node = Node(str(text), "output.value")
    for _ in range(nested.MAX_LEVELS):
        node = node.opened().index(0)
    deepest = node.opened().value
    assert isinstance(deepest, str)  # what lies deeper stays text
    assert json.loads(deepest) == ["the text"]
    monkeypatch.setattr(nested, "MAX_JSON", 100)
    assert Node(json.dumps(["x" * 90]), "output.value").opened().value == ["x" * 90]
    assert isinstance(Node(json.dumps(["x" * 100]), "output.value").opened().value, str)


def test_an_index_beyond_all_lists_is_not_read() -> None:
    most = flattened.MAX_INDEX
    found = flattened.rows({f"docs.{n}.text": "x" for n in (0, most, most + 1, 10**12)}, "docs")
    assert [row.index for row in found] == [0, most]


def test_elements_beyond_the_limit_are_not_read() -> None:
    most = nested.MAX_ELEMENTS
    places = [node.value for node in Node(json.dumps([*range(most + 5)]), "output.value").opened().each()]
    assert places == [*range(most)]


def test_messages_beyond_the_limit_are_not_read() -> None:
    said = [{"role": "user", "content": str(n)} for n in range(messages.MAX_MESSAGES + 5)]
    assert len(messages.messages_in(Node(json.dumps(said), "input.value"))) == messages.MAX_MESSAGES


def test_history_is_the_latest_that_fits() -> None:
    many = [("user", f"{n}") for n in range(questions.MAX_HISTORY + 5)]
    assert questions.bounded(many) == tuple(many[5:])
    long = [("user", "x" * (questions.MAX_HISTORY_TEXT // 2)) for _ in range(5)]
    assert len(questions.bounded(long)) == 2


def test_retrievals_beyond_the_limit_are_not_read() -> None:
    trace = Built()
    root = trace.span("turn", attributes={"openinference.span.kind": "CHAIN", "input.value": QUERY})
    for number in range(contexts.MAX_CANDIDATES + 20):
        document = {"retrieval.documents.0.document.content": f"{KETTLE} {number}"}
        trace.span("retrieve", root, {"openinference.span.kind": "RETRIEVER", "input.value": QUERY, **document})
    assert len(trace.run().retrievals) == contexts.MAX_CANDIDATES
    batch = Built()
    root = batch.span("turn", attributes={"openinference.span.kind": "CHAIN", "input.value": QUERY})
    lists = json.dumps([[{"content": f"{KETTLE} {number}"}] for number in range(contexts.MAX_CANDIDATES + 20)])
    batch.span("retrieve", root, {"openinference.span.kind": "RETRIEVER", "input.value": QUERY, "output.value": lists})
    assert len(batch.run().retrievals) == contexts.MAX_CANDIDATES


def test_a_long_service_name_is_cut() -> None:
    assert runs.service_of({"service.name": "s" * 1000}) == "s" * runs.LONGEST_SERVICE


@pytest.mark.parametrize("number", [1, 100, 10_000])
def test_a_reply_has_a_limit_whatever_is_asked(number: int) -> None:
    assert 0 < prompt.reply_limit(number) <= prompt._MOST_REPLY


@pytest.mark.parametrize(("size", "status"), [(MIB - 100, 400), (MIB + 1, 413)])
async def test_a_large_body_is_refused_by_the_admin_address(size: int, status: int) -> None:
    async with client() as http:
        token = (await http.get("/api/v1/alarms")).headers["X-CSRF-Token"]
        headers = {"X-CSRF-Token": token, "Content-Type": "application/json"}
        answer = await http.post("/api/v1/alarms/a1/ack", data=io.BytesIO(b"x" * size), headers=headers)
        assert answer.status == status


@pytest.mark.parametrize(("characters", "taken"), [(label_body.MAX_WHO, True), (label_body.MAX_WHO + 1, False)])
def test_a_label_of_a_long_name_is_refused(characters: int, taken: bool) -> None:
    try:
        assert label_body._who("w" * characters, "") == "w" * characters
    except BadQuestion:
        assert not taken
    else:
        assert taken


def test_a_document_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stream, "LARGEST", 100)
    assert file_stream.whole(io.BytesIO(b"x" * 100)) == b"x" * 100
    with pytest.raises(Malformed, match="larger than"):
        file_stream.whole(io.BytesIO(b"x" * 101))


async def test_writes_that_cannot_wait_are_dropped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_PENDING", 3)
    kept = database.Database(tmp_path / "state", max_size=MIB, max_age=1e9, clock=lambda: 1e9)
    for _ in range(5):
        kept.write("SELECT 1")
    assert kept.dropped == 2
    await kept.close()
