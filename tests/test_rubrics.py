"""Rubrics from the configuration to the score, over real HTTP; and the page about them is true."""

from __future__ import annotations

import doctest
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore.testing import Call, ScriptedJudgeServer, verdicts
from tests.cli.run import run
from tests.otlp import rag, request
from tests.services.process import wait_until
from tests.serving import Serving, lines

PAGE = Path(__file__).parents[1] / "docs" / "rubrics.md"
TONE = re.findall(r"```markdown\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
DOCUMENTS = ["The ledger service listens on port 7443.", "The canteen opens at noon."]
ANSWERS = {
    "what share of its factual claims": {"score": 0.5, "note": "one claim is not supported"},
    "how well the response addresses": {"label": "mostly", "note": "it does"},
    "Judge the tone": {"label": "plain", "note": "neither"},
}


def answer(call: Call) -> Any:
    return next((reply for words, reply in ANSWERS.items() if words in call.outside), verdicts([True, False]))


@pytest.fixture
def server() -> Iterator[ScriptedJudgeServer]:
    with ScriptedJudgeServer(answer=answer) as scripted:
        yield scripted


@pytest.fixture
def tone(tmp_path: Path) -> str:
    path = tmp_path / "tone.md"
    path.write_text(TONE)
    return str(path)


def llm(server: ScriptedJudgeServer) -> dict[str, Any]:
    return {"type": "litellm", "model": "openai/any", "api_base": server.url, "api_key": "none"}


def scored(folder: Path, config: dict[str, Any], response: str | None = "It is 7443.") -> tuple[dict[str, Any], str]:
    """The line of one run, and what stood on standard error."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "runs.jsonl").write_text(
        json.dumps({"query": "Which port?", "contexts": DOCUMENTS, "response": response})
    )
    ended = run("score", str(folder / "runs.jsonl"), "--format", "jsonl", "-c", str(folder / "config.yaml"))
    assert ended.code == 0, ended.err
    line: dict[str, Any] = json.loads(ended.out)
    return line, ended.err


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tone.md").write_text(TONE)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 8) == (0, True)


def test_each_rubric_is_a_call_of_its_own_that_sees_what_it_needs(
    tmp_path: Path, server: ScriptedJudgeServer, tone: str
) -> None:
    rubrics = ["faithfulness", "answer_relevancy", tone]
    line, _ = scored(tmp_path, {"judge": llm(server), "scorers": {"rubrics": rubrics}})
    found = {score["name"]: (score["value"], score["label"]) for score in line["scores"]}
    assert found["faithfulness"] == (0.5, None)
    assert found["answer_relevancy"] == (0.75, "mostly")
    assert found["tone"] == (0.5, "plain")
    assert found["context_precision"][0] == 1.0
    assert line["outcome"] == "scored"
    assert line["judge"]["calls"] == len(server.calls) == 4
    shown = {words: call.contexts for call in server.calls for words in ANSWERS if words in call.outside}
    assert {words: len(contexts) for words, contexts in shown.items()} == dict(zip(ANSWERS, (2, 0, 0), strict=True))


def test_a_rubric_changes_nothing_about_the_other_question(
    tmp_path: Path, server: ScriptedJudgeServer, tone: str
) -> None:
    alone, _ = scored(tmp_path, {"judge": llm(server)})
    with_rubric, _ = scored(tmp_path, {"judge": llm(server), "scorers": {"rubrics": [tone]}})
    core = [call for call in server.calls if "Judge the tone" not in call.outside]
    before, after = (call.prompt.replace(call.mark, "") for call in core)
    assert before == after
    versions = [{s["name"]: s["version"] for s in line["scores"]} for line in (alone, with_rubric)]
    assert versions[0].items() <= versions[1].items()


def test_a_rubric_that_fails_leaves_the_others_their_scores(tmp_path: Path, tone: str) -> None:
    def unclear(call: Call) -> Any:
        return {"label": "friendly", "note": ""} if "Judge the tone" in call.outside else answer(call)

    with ScriptedJudgeServer(answer=unclear) as server:
        line, _ = scored(tmp_path, {"judge": llm(server), "scorers": {"rubrics": ["faithfulness", tone]}})
    found = {score["name"]: (score["value"], score["unscored"]) for score in line["scores"]}
    assert found["tone"] == (None, "judge_unreadable")
    assert found["faithfulness"] == (0.5, None)
    assert (line["outcome"], line["reason"]) == ("partly_scored", "judge_unreadable")


def test_a_run_that_lacks_what_a_rubric_needs_costs_no_call_for_it(
    tmp_path: Path, server: ScriptedJudgeServer, tone: str
) -> None:
    line, _ = scored(tmp_path, {"judge": llm(server), "scorers": {"rubrics": [tone]}}, response=None)
    found = {score["name"]: (score["value"], score["unscored"]) for score in line["scores"]}
    assert found["tone"] == (None, "no_response")
    assert len(server.calls) == 1


@pytest.mark.parametrize("judge", [{"type": "local"}, None], ids=["local", "by default"])
def test_without_an_llm_rubrics_are_off_and_not_unscored(
    tmp_path: Path, judge: dict[str, Any] | None, tone: str
) -> None:
    config = {"scorers": {"rubrics": ["faithfulness", tone]}, **({"judge": judge} if judge else {})}
    line, said = scored(tmp_path, config)
    assert not {"faithfulness", "tone"} & {score["name"] for score in line["scores"]}
    assert line["outcome"] == "scored"
    assert "faithfulness is off" in said
    assert "tone is off" in said


def test_with_two_judges_rubrics_are_asked_of_what_the_llm_judges(
    tmp_path: Path, server: ScriptedJudgeServer, tone: str
) -> None:
    for rate, calls in ((1.0, 2), (1e-9, 0)):
        server.calls.clear()
        judge = {"type": "sampled", "llm": llm(server), "rate": rate}
        line, _ = scored(tmp_path, {"judge": judge, "scorers": {"rubrics": [tone]}})
        assert len(server.calls) == calls
        assert ("tone" in {score["name"] for score in line["scores"]}) == bool(calls)
        assert line["outcome"] == ("scored" if calls else "screened")


@pytest.mark.slow
def test_the_service_scores_by_rubrics(tmp_path: Path, server: ScriptedJudgeServer, tone: str) -> None:
    found = tmp_path / "evaluations.jsonl"
    config = {
        "judge": llm(server),
        "scorers": {"rubrics": ["faithfulness", tone]},
        "sinks": {"jsonl": {"path": str(found)}},
    }
    with Serving(tmp_path / "service", config) as service:
        body = urllib.request.Request(
            f"{service.http}/v1/traces", request(rag(1, DOCUMENTS)), {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(body).close()
        [line] = wait_until(lambda: lines(found) or None, 30, "the evaluation")
        metrics = service.get("/metrics")
    values = {score["name"]: score["value"] for score in line["scores"]}
    assert (values["faithfulness"], values["tone"]) == (0.5, 0.5)
    counts = [text for text in metrics.splitlines() if text.startswith("ctxscore_score_count{")]
    assert [text for text in counts if 'scorer="faithfulness"' in text and text.endswith(" 1.0")]
