"""`otel-ctxscore calibrate`: labels in, agreement and a calibration out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore.judges.calibration import Calibration
from otel_ctxscore.testing import Reply, ScriptedJudgeServer, verdicts
from tests.cli.run import run

TOPICS = ["ledger", "kettle", "router", "archive", "elevator", "boiler"]


def labels(queries: int, useful: str = "listens on port") -> list[dict[str, Any]]:
    """Queries whose first context answers; `useful` marks which contexts people call useful."""
    found = []
    for n in range(queries):
        topic, port = TOPICS[n % len(TOPICS)], 4000 + n
        texts = [
            f"The {topic} service listens on port {port}.",
            f"The canteen opens at {n} and serves soup.",
            f"The {topic} was bought in {1900 + n}.",
        ]
        contexts = [{"text": text, "useful": useful in text, "used": "port" in text} for text in texts]
        response = f"The {topic} service listens on port {port}."
        found.append(
            {"query": f"Which port does the {topic} service listen on?", "contexts": contexts, "response": response}
        )
    return found


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def config(path: Path, judge: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump({"judge": judge}))
    return str(path)


def test_the_local_judge_is_compared_and_calibrated(tmp_path: Path) -> None:
    file, kept = written(tmp_path / "labels.jsonl", labels(40)), tmp_path / "calibration.json"
    ended = run("calibrate", "--labels", file, "--format", "json", "--write", str(kept))
    assert ended.code == 0
    found = json.loads(ended.out)
    (judge,) = found["judges"]
    assert (judge["tier"], judge["useful"]["queries"], judge["useful"]["contexts"]) == ("local", 40, 120)
    assert judge["share_useful"]["people"] == pytest.approx(1 / 3)
    assert judge["average_precision"]["people"] == 1.0
    assert sum(cell["n"] for cell in judge["reliability"]) == 120
    assert judge["used"]["contexts"] == 120
    assert judge["relevance"] is None
    assert found["calibration"]["loss_then"] < found["calibration"]["loss_now"]
    assert found["calibration"]["warnings"] == []
    assert Calibration.read(kept) == Calibration(found["calibration"]["a"], found["calibration"]["b"])


def test_a_written_calibration_makes_the_judge_what_was_promised_and_is_then_left_alone(tmp_path: Path) -> None:
    file, kept = written(tmp_path / "labels.jsonl", labels(40)), tmp_path / "calibration.json"
    before = json.loads(run("calibrate", "--labels", file, "--format", "json", "--write", str(kept)).out)
    own = config(tmp_path / "config.yaml", {"type": "local", "calibration": str(kept)})
    after = json.loads(run("calibrate", "--labels", file, "--format", "json", "-c", own).out)
    assert after["judges"][0]["calibration_error"] < before["judges"][0]["calibration_error"]
    assert after["judges"][0]["version"] != before["judges"][0]["version"]
    again = Calibration(after["calibration"]["a"], after["calibration"]["b"])
    assert (again.a, again.b) == pytest.approx((before["calibration"]["a"], before["calibration"]["b"]), abs=0.02)


def test_a_run_of_two_people_counts_once_and_their_agreement_is_the_ceiling(tmp_path: Path) -> None:
    ann = [{**row, "who": "ann"} for row in labels(12)]
    bob = [{**row, "who": "bob"} for row in labels(12, useful="was bought in")[:4]]
    once, twice = written(tmp_path / "once.jsonl", labels(12)), written(tmp_path / "twice.jsonl", [*ann, *ann[:3]])
    first, second = (json.loads(run("calibrate", "--labels", file, "--format", "json").out) for file in (once, twice))
    assert first["judges"] == second["judges"]
    assert (first["labels"]["replaced"], second["labels"]["replaced"], second["labels"]["people"]) == (0, 3, None)
    ended = run("calibrate", "--labels", written(tmp_path / "both.jsonl", [*ann, *bob]), "--format", "json")
    assert "left open: 8 verdicts on which people are evenly divided" in ended.err
    found = json.loads(ended.out)
    assert found["judges"][0]["useful"]["contexts"] == 12 * 3 - 8
    assert found["labels"]["people"]["contexts"] == 12
    assert found["labels"]["people"]["useful"]["value"] == pytest.approx(-0.5)
    shown = run("calibrate", "--labels", str(tmp_path / "both.jsonl")).out
    assert "people             2 people, 4 runs and 12 contexts labelled by several" in shown
    assert "kappa              -0.500 [" in shown


def test_few_labels_are_warned_of(tmp_path: Path) -> None:
    ended = run("calibrate", "--labels", written(tmp_path / "labels.jsonl", labels(5)))
    assert ended.code == 0
    assert "kappa" in ended.out
    assert "calibration: too few labels to rely on it: 5 queries with 5 useful and 10 other contexts" in ended.err


@pytest.fixture
def server() -> Iterator[ScriptedJudgeServer]:
    """A judge that is right except for the elevator, and that refuses to speak of the boiler."""

    def answer(call: Any) -> Any:
        if "boiler" in call.query:
            return Reply(finish_reason="content_filter", content="")
        wrong = "elevator" in call.query
        return verdicts([("listens on port" in text) != wrong for text in call.contexts])

    with ScriptedJudgeServer(answer=answer) as scripted:
        yield scripted


def llm(server: ScriptedJudgeServer) -> dict[str, Any]:
    return {"type": "litellm", "model": "openai/any", "api_base": server.url, "api_key": "none"}


@pytest.mark.slow
def test_an_llm_judge_is_asked_once_a_line_and_what_it_refused_is_in_no_figure(
    tmp_path: Path, server: ScriptedJudgeServer
) -> None:
    file = written(tmp_path / "labels.jsonl", labels(12))
    ended = run("calibrate", "--labels", file, "--format", "json", "-c", config(tmp_path / "c.yaml", llm(server)))
    (judge,) = json.loads(ended.out)["judges"]
    assert (judge["tier"], judge["useful"]["queries"], judge["band"]) == ("llm", 10, None)
    assert judge["unjudged"] == {"judge_refused": 2}
    assert "not judged by the llm judge: 2 judge_refused" in ended.err
    assert judge["useful"]["sensitivity"]["value"] == pytest.approx(8 / 10)
    assert judge["useful"]["specificity"]["value"] == pytest.approx(16 / 20)
    by_chance = (10 * 12 + 20 * 18) / 30**2
    assert judge["useful"]["kappa"]["value"] == pytest.approx((0.8 - by_chance) / (1 - by_chance))
    assert judge["cost_usd"] is None
    assert json.loads(ended.out)["calibration"] is None


@pytest.mark.slow
def test_of_two_judges_both_are_compared_and_the_local_one_calibrated(
    tmp_path: Path, server: ScriptedJudgeServer
) -> None:
    file, kept = written(tmp_path / "labels.jsonl", labels(12)), tmp_path / "calibration.json"
    own = config(tmp_path / "c.yaml", {"type": "cascade", "llm": llm(server)})
    ended = run("calibrate", "--labels", file, "-c", own, "--write", str(kept))
    assert ended.code == 0
    assert "local judge, lexical" in ended.out
    assert "llm judge, openai/any" in ended.out
    assert kept.exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "no labels"),
        ("{", "line 1: "),
        ('{"query": "q", "contexts": [{"text": "a"}]}', "line 1: contexts[0].useful is neither true nor false"),
        (
            '{"query": "q", "contexts": [{"text": "a", "useful": true, "relevance": "none"}]}',
            "line 1: contexts[0] is useful, yet its relevance is none",
        ),
    ],
)
def test_what_cannot_be_read_is_named_and_ends_with_1(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(content)
    ended = run("calibrate", "--labels", str(path))
    assert ended.code == 1
    assert complaint in ended.err
    assert run("calibrate", "--labels", str(tmp_path / "absent")).code == 1


def test_a_judge_that_takes_no_calibration_is_told_before_it_costs_anything(
    tmp_path: Path, server: ScriptedJudgeServer
) -> None:
    file = written(tmp_path / "labels.jsonl", labels(2))
    ended = run("calibrate", "--labels", file, "--write", "x", "-c", config(tmp_path / "c.yaml", llm(server)))
    assert ended.code == 2
    assert "only local and cross_encoder judges take a calibration, not litellm" in ended.err
    assert server.calls == []


def test_labels_that_say_nothing_give_no_file(tmp_path: Path) -> None:
    kept = tmp_path / "calibration.json"
    file = written(tmp_path / "labels.jsonl", labels(4, useful=" "))
    ended = run("calibrate", "--labels", file, "--write", str(kept))
    assert ended.code == 1
    assert "not written" in ended.err
    assert not kept.exists()


def test_a_cross_encoder_is_calibrated_as_well(tmp_path: Path, reranker: Path) -> None:
    file, kept = written(tmp_path / "labels.jsonl", labels(8)), tmp_path / "calibration.json"
    judge = {"type": "cross_encoder", "model": str(reranker)}
    own = config(tmp_path / "c.yaml", judge)
    ended = run("calibrate", "--labels", file, "-c", own, "--format", "json", "--write", str(kept))
    assert ended.code == 0
    found = json.loads(ended.out)
    assert [one["tier"] for one in found["judges"]] == ["cross_encoder"]
    assert found["judges"][0]["useful"]["kappa"]["value"] > 0.5
    own = config(tmp_path / "c.yaml", {**judge, "calibration": str(kept)})
    after = json.loads(run("calibrate", "--labels", file, "-c", own, "--format", "json").out)
    assert after["judges"][0]["version"] != found["judges"][0]["version"]
