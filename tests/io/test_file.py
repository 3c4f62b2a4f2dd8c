"""Files: told by content, read piece by piece, one clear line for what is not read."""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from otel_ctxscore.core.codec import open_log, open_span, sniff
from otel_ctxscore.core.model import Context, RagRun
from otel_ctxscore.core.spans import Delivery, Span
from otel_ctxscore.io.file import InputError, Report, read
from tests.io.requests import SPAN_ID, TRACE_ID, logs, traces

TRACES = Path(__file__).parents[1] / "traces"
INDEX: list[dict[str, Any]] = json.loads((TRACES / "INDEX.json").read_text())
ANSWERS = {entry["file"]: entry["answer"] for entry in INDEX}
REFUSED = [file for file, answer in ANSWERS.items() if "refused" in answer]
TWINS = {f"{file[:-4]}pb": answer for file, answer in ANSWERS.items() if (TRACES / f"{file[:-4]}pb").exists()}
READ = {file: answer for file, answer in {**ANSWERS, **TWINS}.items() if "traces" in answer}


def got(*paths: Path | str, keep_own: bool = True) -> tuple[list[Delivery | RagRun], Report]:
    report = Report()
    found = list(read([str(p) for p in paths], lambda trace_id: True, report, keep_own=keep_own))
    return found, report


def spans(found: list[Delivery | RagRun]) -> list[Span]:
    return [open_span(kept) for one in found if isinstance(one, Delivery) for kept in one.spans]


@pytest.mark.parametrize("file", READ)
def test_real_files_are_read(file: str) -> None:
    found, report = got(TRACES / file)
    deliveries = [one for one in found if isinstance(one, Delivery)]
    kept = {log.trace_id for one in deliveries for log in one.logs} | {span.trace_id for span in spans(found)}
    ids = {trace_id.hex() for trace_id in kept}
    assert ids == {trace["trace_id"] for trace in READ[file]["traces"]}
    assert report == Report()


@pytest.mark.parametrize("file", REFUSED)
def test_other_json_is_refused_by_one_line_that_says_what_was_seen(file: str) -> None:
    with pytest.raises(InputError) as caught:
        got(TRACES / file)
    seen = " ".join(str(ANSWERS[file]["refused"]).split()[:3])
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(TRACES / file))
    assert seen in text
    assert "resourceSpans" in text


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", ["oi_langchain_rag.otlp.json", "oi_langchain_rag.otlp.pb"])
def test_compression_is_told_by_content(tmp_path: Path, compress: Callable[[bytes], bytes], name: str) -> None:
    plain, packed = TRACES / name, tmp_path / "data"
    packed.write_bytes(compress(plain.read_bytes()))
    assert spans(got(packed)[0]) == spans(got(plain)[0])


def as_line(name: str) -> str:
    return json.dumps(json.loads((TRACES / name).read_text()))


def test_json_lines_of_traces_logs_and_runs_are_one_stream_over_all_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    pair = [as_line(f"otel_genai_langchain_eventonly_{signal}.otlp.json") for signal in ("traces", "logs")]
    one.write_text("\ufeff" + "\n\n".join(pair) + "\n")
    two.write_text(json.dumps({"query": "q", "contexts": ["a"]}))
    found, report = got(one, two)
    assert [type(one).__name__ for one in found] == ["Delivery", "Delivery", "RagRun"]
    kept = [log for one in found if isinstance(one, Delivery) for log in one.logs]
    assert [open_log(log).event_name for log in kept] == ["gen_ai.client.inference.operation.details"]
    assert report == Report()


def test_a_broken_line_is_a_complaint_and_reading_goes_on(tmp_path: Path) -> None:
    path, good = tmp_path / "t.jsonl", as_line("oi_langchain_rag.otlp.json")
    path.write_text("\n".join([good[:40], good, '{"foo": 1}', '{"query": 1, "contexts": []}', good, good[:-1]]))
    found, report = got(path)
    assert len(found) == 2
    assert report.unreadable == 4
    assert [text.split(": ")[0] for text in report.complaints] == [f"{path}:{line}" for line in (1, 3, 4, 6)]


def bare(span_id: str = SPAN_ID.hex()) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE_ID.hex(), "spanId": span_id}]}]}]}


TWO = [bare(), bare("a" * 16)]
IN_A_ROW = {
    "on a line": "".join(map(json.dumps, TWO)),
    "indented": "\n".join(json.dumps(one, indent=2) for one in TWO),
    "as Jaeger's third API streams": "".join(json.dumps({"result": one}) for one in TWO),
}


@pytest.mark.parametrize("text", IN_A_ROW.values(), ids=IN_A_ROW)
def test_requests_one_after_the_other(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    found, report = got(path)
    assert [span.span_id.hex() for span in spans(found)] == [SPAN_ID.hex(), "a" * 16]
    assert report == Report()
    path.write_text(f"{text[:-3]}\n{text}")
    found, report = got(path)
    assert (len(spans(found)), report.unreadable) == (3, 1)


def test_invalid_spans_are_reported_with_their_line(tmp_path: Path) -> None:
    path, request = tmp_path / "t.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "00" * 16}]}]}]}
    path.write_text(f"{{}}\n{json.dumps(request)}\n".replace("{}\n", '{"resourceSpans": []}\n'))
    found, report = got(path)
    assert (found, report.invalid) == ([], 1)
    assert report.complaints == [f"{path}:2: trace id is all zero: 1 of the request"]


def test_evaluations_are_left_out_unless_asked_for() -> None:
    path = TRACES / "eval_pydantic_evals_logs.otlp.json"
    assert len(got(path)[0]) == 1
    found, report = got(path, keep_own=False)
    assert (found, report.own) == ([], 2)


def test_sampling_is_by_trace_id() -> None:
    report = Report()
    path = str(TRACES / "oi_langchain_rag.otlp.pb")
    assert list(read([path], lambda trace_id: False, report)) == []
    assert report.sampled_out == 9


@pytest.mark.parametrize(
    "text", ["[{q}]", "{q}\n{q}", "[\n{q},\n{q}\n]", '{{\n"query": "Which port?",\n"contexts": ["a"]\n}}']
)
def test_runs_in_lines_arrays_and_documents(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs"
    path.write_text(text.format(q='{"query": "Which port?", "contexts": ["a"]}'))
    found, _ = got(path)
    assert found == [RagRun("Which port?", [retrieval]) for one in found for retrieval in run(one).retrievals]
    assert len(found) in (text.count("{q}"), 1)


def run(found: Delivery | RagRun) -> RagRun:
    assert isinstance(found, RagRun)
    return found


def test_a_run_line_has_contexts_of_both_forms_response_and_history(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    contexts = ["plain", {"text": "full", "id": 7, "score": 0.5, "source": "ignored"}]
    history = [["user", "hi"], {"role": "assistant", "text": "hello"}, {"role": "user", "content": "a port?"}]
    path.write_text(json.dumps({"query": "q", "contexts": contexts, "response": "r", "history": history}))
    one = run(got(path)[0][0])
    assert tuple(one.retrievals[0].contexts) == (Context("plain"), Context("full", "7", 0.5))
    assert (one.response, one.history) == ("r", (("user", "hi"), ("assistant", "hello"), ("user", "a port?")))


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", "null"])
def test_a_score_that_is_no_number_is_none_and_costs_nothing_else(tmp_path: Path, score: str) -> None:
    path = tmp_path / "runs"
    path.write_text(f'{{"query": "q", "contexts": [{{"text": "a", "score": {score}}}, {{"text": "b", "score": 2}}]}}')
    found, report = got(path)
    assert tuple(run(found[0]).retrievals[0].contexts) == (Context("a"), Context("b", document_score=2.0))
    assert report == Report()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO((TRACES / "wire/otlp_http_traces.pb.gz").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    assert len(spans(got("-")[0])) == 4


class Endless(io.RawIOBase):
    """The same line again and again."""

    def __init__(self, line: bytes) -> None:
        self._lines = itertools.cycle(line)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        buffer[:] = bytes(itertools.islice(self._lines, len(buffer)))
        return len(buffer)


def test_lines_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Endless(as_line("oi_langchain_rag.otlp.json").encode() + b"\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    found = list(itertools.islice(read(["-"], lambda trace_id: True, Report()), 3))
    assert len(spans(found)) == 27


def test_a_receipt_is_settled_when_the_next_piece_is_asked_for(tmp_path: Path) -> None:
    path, line = tmp_path / "t", as_line("oi_langchain_rag.otlp.json")
    path.write_text(f"{line}\n{line}\n")
    stream: Iterator[Delivery | RagRun] = read([str(path)], lambda trace_id: True, Report())
    first = next(stream)
    assert isinstance(first, Delivery)
    assert first.receipt.open
    next(stream)
    assert not first.receipt.open


UNREADABLE: list[tuple[bytes, str]] = [
    (b"", "the file is empty"),
    (b"\n\n", "the file is empty"),
    (b"hello\nworld\n", "not JSON"),
    (b"\x89PNG\r\n\x1a\n\0\0\0", "not JSON"),
    (b"\x0a\xff\xff", "not OTLP protobuf"),
    (b"\x1f\x8b\x08\x00cut", "the file is broken or cut"),
    (gzip.compress(traces())[:-12], "the file is broken or cut"),
    (b"\x28\xb5\x2f\xfdcut", "the file is broken or cut"),
    (b'{"foo": 1, "bar": 2}', "an object with the keys bar, foo"),
    (b'{"resourceMetrics": []}', "OTLP metrics"),
    (b'{"data": null, "errors": [{"code": 404, "msg": "no such trace"}]}', "Jaeger found no trace: 'no such trace'"),
    (b'[{"traceId": "1", "id": "2", "name": "n", "tags": {}}]', "a span of Zipkin"),
    (b'{"name": "n", "context": {}, "parent_id": null, "start_time": ""}', "console exporter"),
    (b"[1, 2]", "Expected `object`"),
    (b'{"query": "q", "contexts": ["a"], "history": [{"role": "user"}]}', "missing required field `text`"),
    (b'{"query": "q", "contexts": [1]}', "not a line {query, contexts, response?, history?}"),
    (b'{"query": 5}', "`str`, got `int` - at `$.query`"),
    (b'{"query": "q"}', "missing required field `contexts`"),
    (b'{"query": "q", "contexts": "a"}', "Expected `array`, got `str` - at `$.contexts`"),
    (b'{"contexts": ["a"]}', "missing required field `query`"),
    (b'{"query": "q", "contexts": [{"text": "a", "score": "high"}]}', "at `$.contexts[0].score`"),
    (b"[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("content", "why"), UNREADABLE)
def test_a_file_of_which_nothing_is_readable_is_one_line(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        got(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        got(tmp_path / "none")


def test_a_cut_archive_gives_what_it_holds_and_a_complaint(tmp_path: Path) -> None:
    path, line = tmp_path / "t.gz", as_line("oi_langchain_rag.otlp.json")
    path.write_bytes(gzip.compress(f"{line}\n".encode())[:-4])
    found, report = got(path)
    assert len(found) == 1
    assert report.unreadable == 1
    assert "broken or cut" in report.complaints[0]


def test_protobuf_of_logs_and_a_registry_prefix(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_bytes(b"\0\0\0\0\x07\0" + traces())
    assert [span.trace_id for span in spans(got(path)[0])] == [TRACE_ID]
    path.write_bytes(logs())
    (delivery,) = got(path)[0]
    assert isinstance(delivery, Delivery)
    assert [log.span_id for log in delivery.logs] == [SPAN_ID]


def test_a_request_whose_first_length_looks_like_json(tmp_path: Path) -> None:
    """0x0A is a newline and a length of 123 is a brace."""
    wanted = next(body for n in range(200) if (body := traces(text="x" * n))[1:2] == b"{")
    assert sniff(wanted) == "proto"
    path = tmp_path / "value"
    path.write_bytes(wanted)
    assert len(spans(got(path)[0])) == 1


def test_jaeger_gives_back_what_it_flattened(tmp_path: Path) -> None:
    span = {
        "traceID": "abc",
        "spanID": "1",
        "operationName": "retrieve",
        "references": [
            {"refType": "CHILD_OF", "traceID": "abc", "spanID": "2"},
            {"refType": "FOLLOWS_FROM", "traceID": "d", "spanID": "3"},
        ],
        "startTime": 5,
        "duration": 2,
        "tags": [
            {"key": "span.kind", "type": "string", "value": "client"},
            {"key": "otel.scope.name", "type": "string", "value": "lib"},
            {"key": "otel.status_code", "type": "string", "value": "ERROR"},
            {"key": "otel.status_description", "type": "string", "value": "no"},
            {"key": "n", "type": "int64", "value": "9007199254740993"},
            {"key": "x", "type": "float64", "value": 1},
            {"key": "yes", "type": "bool", "value": True},
            {"key": "raw", "type": "binary", "value": base64.b64encode(b"\0\1").decode()},
        ],
        "logs": [
            {
                "timestamp": 6,
                "fields": [
                    {"key": "event", "type": "string", "value": "hit"},
                    {"key": "k", "type": "string", "value": "v"},
                ],
            }
        ],
        "processID": "p1",
    }
    processes = {"p1": {"serviceName": "shop", "tags": [{"key": "host", "type": "string", "value": "a"}]}}
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"data": [{"traceID": "abc", "spans": [span], "processes": processes}]}))
    (one,) = spans(got(path)[0])
    assert (one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()) == (
        "0" * 29 + "abc",
        "0" * 15 + "1",
        "0" * 15 + "2",
    )
    assert [link.span_id.hex() for link in one.links] == ["0" * 15 + "3"]
    assert (one.kind, one.start_ns, one.end_ns, one.status_code, one.status_message) == (3, 5000, 7000, 2, "no")
    assert one.attributes == {"n": 9007199254740993, "x": 1.0, "yes": True, "raw": b"\0\1"}
    assert (one.events[0].name, one.events[0].attributes, one.events[0].time_ns) == ("hit", {"k": "v"}, 6000)
    assert one.resource.attributes == {"service.name": "shop", "host": "a"}
    assert one.scope.name == "lib"


def test_a_span_of_jaeger_with_its_process(tmp_path: Path) -> None:
    """As Jaeger's storage keeps them, one a line; times may be texts, and a value may be a structure."""
    ids = {"traceID": TRACE_ID.hex(), "spanID": SPAN_ID.hex(), "startTime": "5", "duration": 2}
    tags = [{"key": "n", "type": "int64", "value": "many"}, {"key": "list", "value": ["a"]}]
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps({**ids, "process": {"serviceName": "shop"}, "tags": tags}) + "\n")
    (one,) = spans(got(path)[0])
    assert (one.start_ns, one.end_ns, one.resource.attributes) == (5000, 7000, {"service.name": "shop"})
    assert (one.attributes, one.dropped_attributes_count) == ({"list": '["a"]'}, 1)
