"""What went wrong with other judges and scorers, played by a model over real HTTP: cases of `troubles/cases.jsonl`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore import (
    Context,
    ContextPrecision,
    Evaluation,
    Judgement,
    LiteLLMJudge,
    RagRun,
    Reason,
    Retrieval,
    Rubric,
    Verdict,
    score_runs,
)
from otel_ctxscore.ports import AnyScorer
from otel_ctxscore.telemetry import catalogue
from otel_ctxscore.testing import Reply, ScriptedJudgeServer, verdicts
from tests.troubles.spans import cases

GOOD = "The ledger service listens on port 7443."


@contextmanager
def asked(*replies: Any) -> Iterator[tuple[ScriptedJudgeServer, LiteLLMJudge]]:
    """A judge whose model gives these replies, the last one again and again."""
    with ScriptedJudgeServer(replies=list(replies)) as server:
        yield server, LiteLLMJudge("openai/any", api_base=server.url, api_key="none", deadline=20)


def run_of(documents: Sequence[str]) -> RagRun:
    return RagRun("Which port does the ledger service use?", [Retrieval([Context(text) for text in documents])])


async def evaluated(judge: LiteLLMJudge, documents: Sequence[str]) -> Evaluation:
    [evaluation] = await score_runs([run_of(documents)], [ContextPrecision()], judge)
    return evaluation


def values(evaluation: Evaluation) -> dict[str, float | None]:
    return {score.name: score.ratio for score in evaluation.scores}


@pytest.mark.slow
async def test_c04_one_verdict_for_five_documents_is_no_answer() -> None:
    given = cases()["C04"]["input"]
    with asked(given["judge_reply"]) as (server, judge):
        evaluation = await evaluated(judge, given["documents"])
    assert evaluation.reason is Reason.JUDGE_INCOMPLETE
    assert set(values(evaluation).values()) == {None}
    assert len(server.calls) == 2


async def test_c05_a_verdict_that_a_document_holds_decides_nothing() -> None:
    given = cases()["C05"]["input"]
    with asked(given["judge_reply"]) as (_, judge):
        evaluation = await evaluated(judge, given["documents"])
    assert values(evaluation)["context_precision"] in (0.0, None)
    assert evaluation.judgement is None or evaluation.judgement.verdicts[0].is_useful is False


async def test_c05_two_answers_that_differ_are_none() -> None:
    one, other = (json.dumps(verdicts([useful])) for useful in (True, False))
    with asked(f"{one}\n\nOn reflection:\n{other}") as (_, judge):
        evaluation = await evaluated(judge, [GOOD])
    assert evaluation.reason is Reason.JUDGE_UNREADABLE


async def test_c06_case_and_space_change_no_verdict() -> None:
    given = cases()["C06"]["input"]
    with asked(given["judge_reply"]) as (server, judge):
        evaluation = await evaluated(judge, given["documents"])
    assert values(evaluation)["context_precision"] == pytest.approx(11 / 12)
    assert values(evaluation)["share_useful"] == 0.75
    assert len(server.calls) == 1


C13 = cases()["C13"]["input"]


@pytest.mark.parametrize("reply", C13["replies"].values(), ids=C13["replies"])
async def test_c13_a_wrong_number_of_verdicts_is_the_failure_of_that_run_only(reply: str) -> None:
    good = verdicts([True, False, False])
    with asked(reply, reply, good) as (server, judge):
        bad, after = [await evaluated(judge, C13["documents"]) for _ in range(2)]
    assert bad.reason in (Reason.JUDGE_INCOMPLETE, Reason.JUDGE_UNREADABLE)
    assert set(values(bad).values()) == {None}
    assert values(after)["context_precision"] == 1.0
    assert len(server.calls) == 3


C22 = cases()["C22"]["input"]


@pytest.mark.parametrize("reply", C22["replies"])
async def test_c22_fences_and_prose_cost_no_second_call(reply: str) -> None:
    with asked(reply) as (server, judge):
        evaluation = await evaluated(judge, C22["documents"])
    assert values(evaluation)["context_precision"] == 1.0
    assert len(server.calls) == 1


C23 = cases()["C23"]["input"]["responses"]


def reply_of(response: dict[str, Any]) -> Reply:
    """What a provider answers, as the case writes it."""
    if response.get("choices") == []:
        return Reply(raw=json.dumps({"id": "x", "object": "chat.completion", "model": "any", "choices": []}).encode())
    if "status" in response:
        return Reply(status=response["status"], content=json.loads(response["body"])["error"])
    return Reply(
        content=response["content"],
        finish_reason=response["finish_reason"],
        reasoning=response.get("reasoning_content"),
    )


@pytest.mark.parametrize(
    ("response", "reasons", "value"),
    [
        (C23[0], {Reason.JUDGE_TRUNCATED}, None),
        (C23[1], {None}, 1.0),
        (C23[2], {Reason.JUDGE_UNREADABLE}, None),
    ],
    ids=["all thinking", "answer in the reasoning channel", "no choice"],
)
async def test_c23_an_empty_answer_is_never_a_zero(
    response: dict[str, Any], reasons: set[Reason | None], value: float | None
) -> None:
    with asked(reply_of(response)) as (_, judge):
        evaluation = await evaluated(judge, ["relevant"])
    assert evaluation.reason in reasons
    assert values(evaluation)["context_precision"] == value


C50 = cases()["C50"]["input"]


@pytest.mark.parametrize(
    ("response", "reasons", "most"),
    [
        (C50["responses"][0], {Reason.JUDGE_REFUSED}, 1),
        (C50["responses"][1], {Reason.JUDGE_REFUSED, Reason.JUDGE_UNREADABLE}, 2),
        (C50["responses"][2], {Reason.JUDGE_REFUSED}, 2),
        (C50["responses"][3], {Reason.JUDGE_REJECTED}, 1),
        (C50["responses"][4], {Reason.JUDGE_REJECTED}, 1),
    ],
    ids=["content filter", "prose", "filtered", "bad key", "no such model"],
)
async def test_c50_what_will_not_change_is_not_tried_again(
    response: dict[str, Any], reasons: set[Reason], most: int
) -> None:
    with asked(reply_of(response)) as (server, judge):
        evaluation = await evaluated(judge, C50["documents"])
        stopped = judge.trouble
    assert evaluation.reason in reasons
    assert set(values(evaluation).values()) == {None}
    assert len(server.calls) <= most
    if response.get("status") == 401:
        assert stopped is not None
        assert "is stopped" in stopped


# ---- rubrics ----------------------------------------------------------------------------------------------------


@pytest.fixture
def graded(tmp_path: Path) -> Rubric:
    path = tmp_path / "graded.md"
    path.write_text("---\nname: graded\nneeds: [query, contexts]\n---\nHow good is the first context?\n")
    return Rubric.load(path)


async def rubric_value(rubric: AnyScorer, reply: str) -> tuple[float | None, Reason | None]:
    with asked(reply) as (_, judge):
        [evaluation] = await score_runs([run_of([GOOD])], [rubric], judge)
    [score] = evaluation.scores
    return score.value, score.unscored


@pytest.mark.parametrize("reply", cases()["C31"]["input"]["replies"])
async def test_c31_a_quoted_number_is_that_number_and_what_is_none_is_no_zero(graded: Rubric, reply: str) -> None:
    expected = (0.8, None) if reply in ('{"score":"0.8"}', '{"score":0.8}') else (None, Reason.JUDGE_UNREADABLE)
    assert await rubric_value(graded, reply) == expected


@pytest.mark.parametrize(
    ("reply", "value"), list(zip(cases()["C44"]["input"]["replies"], [0.0, 0.0, None, 0.0, 1.0], strict=True))
)
async def test_c44_a_label_is_compared_whole(tmp_path: Path, reply: str, value: float | None) -> None:
    path = tmp_path / "relevant.md"
    path.write_text(
        "---\nname: relevant\nneeds: [query, contexts]\nlabels: {relevant: 1, irrelevant: 0}\n---\nIs it?\n"
    )
    assert (await rubric_value(Rubric.load(path), reply))[0] == value


# ---- formulas ---------------------------------------------------------------------------------------------------


def precision(pattern: Sequence[int]) -> float | None:
    return ContextPrecision().score(Judgement([Verdict(useful=bool(one)) for one in pattern])).ratio


@pytest.mark.parametrize("pattern", cases()["C47"]["input"]["verdicts"])
def test_c47_average_precision_is_the_fraction_of_the_documentation(pattern: list[int]) -> None:
    ranks = [rank for rank, one in enumerate(pattern, 1) if one]
    exact = sum((Fraction(n, rank) for n, rank in enumerate(ranks, 1)), Fraction()) / len(ranks)
    assert precision(pattern) == pytest.approx(float(exact), abs=1e-9)
    for place in range(len(pattern) - 1):
        swapped = pattern[:place] + pattern[place : place + 2][::-1] + pattern[place + 2 :]
        assert (precision(swapped) == precision(pattern)) == (swapped == pattern)


@pytest.mark.parametrize(
    ("pattern", "value"), list(zip(cases()["C48"]["input"]["verdicts"][:4], [1.0, 1.0, 1.0, 0.0], strict=True))
)
def test_c48_a_perfect_list_is_exactly_one_and_a_useless_one_exactly_nothing(pattern: list[int], value: float) -> None:
    assert precision(pattern) == value
    assert 1.0 in catalogue.SCORE.buckets
    assert all(math.isfinite(edge) for edge in catalogue.SCORE.buckets)


async def test_c48_an_empty_list_has_no_score_and_no_call() -> None:
    with asked(verdicts([True])) as (server, judge):
        evaluation = await evaluated(judge, [])
    assert evaluation.reason is Reason.NO_CONTEXTS
    assert set(values(evaluation).values()) == {None}
    assert server.calls == []
