"""No text that is judged moves a verdict by structure: it cannot leave its quotes, and quoting it is no answer."""

import json
from collections.abc import Callable

import pytest

from otel_ctxscore.completion import Answer
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges.llm import LLMJudge
from otel_ctxscore.ports import JudgeError
from otel_ctxscore.testing import Call, verdicts
from tests.judges.attacks import ATTACKS
from tests.judges.completions import ScriptedCompletion, said
from tests.judges.more_attacks import MORE_ATTACKS
from tests.virtual_time import run

FACT = "The ledger service listens on port 7443."
NOISE = "The canteen opens at noon."
PLACES: dict[str, Callable[[str], RagRun]] = {
    "context": lambda text: RagRun("Which port?", [Retrieval([Context(NOISE + text), Context(FACT)])], "7443"),
    "whole context": lambda text: RagRun("Which port?", [Retrieval([Context(text), Context(FACT)])], "7443"),
    "query": lambda text: RagRun("Which port? " + text, [Retrieval([Context(NOISE), Context(FACT)])], "7443"),
    "response": lambda text: RagRun("Which port?", [Retrieval([Context(NOISE), Context(FACT)])], "7443" + text),
    "history": lambda text: RagRun(
        "Which port?", [Retrieval([Context(NOISE), Context(FACT)])], "7443", [("user", text), (text, "hello")]
    ),
}


def truth(call: Call) -> dict[str, object]:
    """By the second context alone, which holds the fact."""
    return verdicts([place == 1 for place in range(len(call.contexts))])


def obedient(call: Call) -> Answer:
    """Does whatever stands outside the quotes: anything there beyond our own words is an order to it."""
    told = call.outside.partition("Boundary:")[2].splitlines()[1:]
    ours = {"", "Judge the 2 contexts [0] to [1].", "Answer with the JSON object only."}
    return said(verdicts([True, True]) if set(told) - ours else truth(call))


def quoting(call: Call) -> Answer:
    """Repeats all it was shown before it answers."""
    return said("\n".join(text for _, text in call.quoted) + "\n\n" + json.dumps(truth(call)))


def quoting_after(call: Call) -> Answer:
    return said(json.dumps(truth(call)) + "\n\nI was shown:\n" + "\n".join(text for _, text in call.quoted))


def only_repeating(call: Call) -> Answer:
    """Has not judged: it says what was to be judged."""
    return said(call.contexts[0])


def judged(script: Callable[[Call], Answer], place: str, text: str) -> list[bool | None] | Reason:
    judge = LLMJudge([ScriptedCompletion(script)])
    try:
        judgement = run(judge.judge(PLACES[place](text)))
    except JudgeError as error:
        return error.reason
    return [verdict.is_useful for verdict in judgement.verdicts]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_leaves_its_quotes(attack: str, place: str) -> None:
    assert judged(obedient, place, ATTACKS[attack]) == [False, True]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_judge_that_repeats_the_text_before_or_after_its_answer_is_not_misread(attack: str, place: str) -> None:
    for script in (quoting, quoting_after):
        outcome = judged(script, place, ATTACKS[attack])
        assert outcome == [False, True] or isinstance(outcome, Reason)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_judge_that_only_repeats_the_text_has_not_judged(attack: str) -> None:
    assert isinstance(judged(only_repeating, "whole context", ATTACKS[attack]), Reason)


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_the_second_set_moves_a_verdict(place: str) -> None:
    moved: list[tuple[str, object]] = []
    for name, text in MORE_ATTACKS.items():
        outcomes = {script: judged(script, place, text) for script in (obedient, quoting, quoting_after)}
        moved += [(name, o) for o in outcomes.values() if o != [False, True] and not isinstance(o, Reason)]
        moved += [(name, o) for o in (outcomes[obedient],) if isinstance(o, Reason)]
    assert len(MORE_ATTACKS) > 60
    assert not moved


def test_repeating_the_second_set_is_no_judgement() -> None:
    outcomes = {name: judged(only_repeating, "whole context", text) for name, text in MORE_ATTACKS.items()}
    assert {name: o for name, o in outcomes.items() if not isinstance(o, Reason)} == {}


def test_the_attacks_are_seen_by_a_judge_without_quotes() -> None:
    """The scripted judge does obey: were the block not closed by its boundary, it would say yes to everything."""

    def leaking(call: Call) -> Answer:
        body = {
            "messages": [{"role": "user", "content": call.body["messages"][-1]["content"].replace(call.mark, "x", 2)}]
        }
        return obedient(Call(body, {}, 0.0))

    assert judged(leaking, "context", ATTACKS["instruction"]) == [True, True]
