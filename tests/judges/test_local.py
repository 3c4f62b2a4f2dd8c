"""The local judge around its model: what it fills, against which question, and where it runs."""

import asyncio
import json
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges.calibration import Calibration
from otel_ctxscore.judges.local import LocalJudge, level
from otel_ctxscore.ports import Asks, Judge


@dataclass
class Words:
    """Useful: the share of the query's words that the context holds; used: that of the response's words."""

    version: str = "words-1"
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def useful(self, query: str, contexts: list[str]) -> list[float]:
        self.asked.append((query, contexts))
        self.threads.add(threading.get_ident())
        return [_share(query, context) for context in contexts]

    def used(self, query: str, contexts: list[str], response: str) -> list[float] | None:
        return None if response == "sorry" else [_share(response, context) for context in contexts]


def _share(words: str, context: str) -> float:
    return sum(word in context.split() for word in words.split()) / len(words.split())


RUN = RagRun("a b", [Retrieval([Context("a b"), Context("a")]), Retrieval([Context("a"), Context("c")], "c")], "c")


async def test_verdicts_are_those_of_the_run_in_its_order() -> None:
    words = Words()
    judge = LocalJudge(lexical=words)
    judgement = await judge.judge(RUN)
    assert [(v.useful, v.used, v.relevance) for v in judgement.verdicts] == [(1, 0, None), (0.5, 0, None), (0, 1, None)]
    assert words.asked == [("a b", ["a b", "a", "c"])]
    assert judgement.missing is None
    assert judgement.judged_by is not None
    assert (judgement.judged_by.tier, judgement.judged_by.version) == ("local", judge.version)
    assert (judgement.judged_by.calls, judgement.judged_by.tokens, judgement.judged_by.cost_usd) == (1, 0, 0)
    assert judge.fills == {"useful", "used"}
    assert isinstance(judge, Judge)
    assert not isinstance(judge, Asks)


async def test_each_context_is_judged_against_its_own_question() -> None:
    words = Words()
    judgement = await LocalJudge(lexical=words).judge(replace(RUN, query_from="retrieval"))
    assert words.asked == [("a b", ["a b", "a"]), ("c", ["a", "c"])]
    assert [v.useful for v in judgement.verdicts] == [1, 0.5, 0, 1]


@pytest.mark.parametrize("response", [None, " ", "sorry"])
async def test_without_an_answer_nothing_is_said_of_use(response: str | None) -> None:
    judgement = await LocalJudge(lexical=Words()).judge(replace(RUN, response=response))
    assert [v.used for v in judgement.verdicts] == [None] * 3


@pytest.mark.parametrize(
    ("p", "name"),
    [(1, "high"), (0.65, "high"), (0.649, "medium"), (0.35, "medium"), (0.349, "low"), (0.15, "low"), (0.149, "none")],
)
def test_cuts_of_derived_levels(p: float, name: str) -> None:
    assert level(p) == name


async def test_levels_are_derived_only_where_asked_for() -> None:
    judge = LocalJudge(lexical=Words(), derive_levels=True)
    assert [v.relevance for v in (await judge.judge(RUN)).verdicts] == ["high", "medium", "none"]
    assert judge.fills == {"useful", "used", "relevance"}
    assert judge.version == LocalJudge(lexical=Words()).version


async def test_the_loop_goes_on_while_it_judges() -> None:
    class Waits(Words):
        def useful(self, query: str, contexts: list[str]) -> list[float]:
            assert loop_ran.wait(10)
            return super().useful(query, contexts)

    loop_ran, words = threading.Event(), Waits()
    judging = asyncio.create_task(LocalJudge(lexical=words).judge(RUN))
    while not judging.done():
        loop_ran.set()
        await asyncio.sleep(0)
    assert len((await judging).verdicts) == 3
    assert threading.get_ident() not in words.threads


# ---- calibration ------------------------------------------------------------------------------------------------


def written(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "calibration.json"
    path.write_text(content)
    return path


async def test_calibration_moves_probabilities_and_the_version(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"a": 1.0, "b": -1.0, "n": 50}))
    judge = LocalJudge(lexical=Words(), calibration=path)
    judgement = await judge.judge(RUN)
    assert judgement.verdicts[1].useful == pytest.approx(0.26894, abs=1e-5)
    assert judge.version != LocalJudge(lexical=Words()).version != LocalJudge(lexical=Words("words-2")).version


@given(st.floats(0.01, 20), st.floats(-20, 20), st.floats(0, 1), st.floats(0, 1))
def test_calibration_keeps_order_and_bounds(a: float, b: float, p: float, q: float) -> None:
    calibration = Calibration(a, b)
    low, high = calibration(min(p, q)), calibration(max(p, q))
    assert 0 <= low <= high <= 1


@given(st.floats(0, 1))
def test_no_calibration_changes_nothing(p: float) -> None:
    assert Calibration()(p) == p


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": 1}', '{"a": 0, "b": 0}', '{"a": NaN, "b": 0}', '{"a": "x", "b": 0}']
)
def test_a_calibration_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=r"judge\.calibration: .*calibration\.json"):
        LocalJudge(lexical=Words(), calibration=path)
    with pytest.raises(ConfigError, match=r"judge\.calibration: .*absent"):
        LocalJudge(lexical=Words(), calibration=tmp_path / "absent")
