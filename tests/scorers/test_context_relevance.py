"""Context relevance: the formula, its penalties, and when there is no score."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import JudgedBy, Judgement, RagRun, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.ports import HasCheapScores
from otel_ctxscore.scorers.context_relevance import WEIGHTS, ContextRelevance, Penalties
from tests.scorers.rag import judged_runs, judgement, listed, run_of

R = Reason
rates = st.floats(0, 2)
penalties = st.builds(Penalties, rates, rates, rates)


def judged(levels: str, unused: int = 0, missing: int = 0) -> Judgement:
    """Levels by first letter (h, m, l, n); the last `unused` of the high ones are not used."""
    names = {level[0]: level for level in WEIGHTS}
    last_used = levels.count("h") - unused
    verdicts = [Verdict(relevance=names[x], used=levels[: i + 1].count("h") <= last_used) for i, x in enumerate(levels)]  # type: ignore[arg-type]
    return Judgement(verdicts, missing=["piece"] * missing)


@pytest.mark.parametrize(
    ("scorer", "judgement", "value", "label"),
    [
        (ContextRelevance(), judged("hhhmn", unused=1), 0.64, "mixed"),
        (ContextRelevance(penalties=Penalties(unused_high=0.05)), judged("hhhmn", unused=1), 0.69, "mixed"),
        (ContextRelevance(), judged("hlnnn"), 0.26, "poor"),
        (ContextRelevance(), judged("hhh"), 1.0, "excellent"),
        (ContextRelevance(scale=100), judged("h", missing=1), 85, "good"),
        (ContextRelevance(), judged("h", missing=9), 0.5, "mixed"),
        (ContextRelevance(), judged("n", missing=1), 0, "very_poor"),
        (ContextRelevance(penalties=Penalties(0, 0, 0)), judged("h", unused=1, missing=9), 1.0, "excellent"),
    ],
)
def test_known_values(scorer: ContextRelevance, judgement: Judgement, value: float, label: str) -> None:
    score = scorer.score(judgement)
    assert (score.value, score.label) == (value, label)


@given(judged_runs(), penalties)
def test_the_parts_make_the_number_within_bounds(drawn: tuple[RagRun, Judgement], rates: Penalties) -> None:
    score = ContextRelevance(penalties=rates).score(drawn[1])
    assert score.ratio is not None
    assert score.base is not None
    assert score.usage_penalty is not None
    assert score.missing_penalty is not None
    assert 0 <= score.ratio <= score.base <= 1
    assert 0 <= score.missing_penalty <= rates.max_missing
    assert score.ratio == max(0, score.base - score.usage_penalty - score.missing_penalty)


@given(judged_runs(), st.data())
def test_a_better_level_or_use_never_lowers_the_base_and_a_higher_rate_never_raises_the_score(
    drawn: tuple[RagRun, Judgement], data: st.DataObject
) -> None:
    verdicts = list(drawn[1].verdicts)
    at = data.draw(st.integers(0, len(verdicts) - 1))
    verdicts[at] = replace(verdicts[at], relevance="high", used=True)
    raised = ContextRelevance().score(replace(drawn[1], verdicts=verdicts))
    plain = ContextRelevance().score(drawn[1])
    dearer = ContextRelevance(penalties=Penalties(0.2, 0.3, 0.9)).score(drawn[1])
    assert (raised.ratio or 0) >= (plain.ratio or 0) >= (dearer.ratio or 0)


@given(judged_runs())
def test_derived_needs_no_missing_and_subtracts_none(drawn: tuple[RagRun, Judgement]) -> None:
    derived = ContextRelevance(derived=True)
    with_missing, without = derived.score(drawn[1]), derived.score(replace(drawn[1], missing=None))
    assert with_missing.value == without.value
    assert without.missing_penalty is None
    assert (without.name, without.definition) == ("context_relevance", "context_relevance/derived")


@pytest.mark.parametrize("field", ["unused_high", "missing_per_item", "max_missing"])
@pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf")])
def test_rates_are_numbers_of_at_least_zero(field: str, rate: float) -> None:
    with pytest.raises(ValueError, match=f"{field} must be a number of at least 0"):
        Penalties(**{field: rate})


@given(judged_runs())
def test_the_cheap_score_is_that_of_derived_levels(drawn: tuple[RagRun, Judgement]) -> None:
    run, screened = drawn
    without_missing = replace(screened, missing=None)
    assert ContextRelevance().cheap_scores(run, without_missing) == [
        ContextRelevance(derived=True).score(screened).ratio
    ]
    assert ContextRelevance().cheap_scores(replace(run, response=None), without_missing) == [None]
    assert isinstance(ContextRelevance(), HasCheapScores)


# ---- a run ------------------------------------------------------------------------------------------------------

WHOLE = judgement([True, True])
RUN = run_of(["a", "b"])
CUT = listed("half", refused=R.DOCUMENTS_INCOMPLETE)


def without(**fields: None) -> Judgement:
    """The whole judgement without these fields in its last verdict."""
    return replace(
        WHOLE,
        verdicts=[WHOLE.verdicts[0], replace(WHOLE.verdicts[1], **fields)],  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("run", "judged", "reason"),
    [
        (RUN, WHOLE, None),
        (replace(RUN, retrievals=[*RUN.retrievals, listed()]), WHOLE, None),
        (replace(RUN, retrievals=[listed("a", "b", ranked=False)]), WHOLE, None),
        (replace(RUN, response=None), WHOLE, R.NO_RESPONSE),
        (replace(RUN, response=" \n"), WHOLE, R.NO_RESPONSE),
        (replace(RUN, retrievals=[*RUN.retrievals, CUT]), WHOLE, R.DOCUMENTS_INCOMPLETE),
        (replace(RUN, retrievals=[*RUN.retrievals, CUT], response=None), WHOLE, R.NO_RESPONSE),
        (replace(RUN, query=" "), WHOLE, R.NO_QUERY),
        (replace(RUN, retrievals=[listed()]), WHOLE, R.NO_CONTEXTS),
        (RUN, replace(WHOLE, missing=None), R.JUDGE_INCOMPLETE),
        (RUN, replace(WHOLE, verdicts=WHOLE.verdicts[:1]), R.JUDGE_INCOMPLETE),
        (RUN, replace(WHOLE, verdicts=[*WHOLE.verdicts, Verdict(True, "high", True)]), R.JUDGE_INCOMPLETE),
        (RUN, without(relevance=None), R.JUDGE_INCOMPLETE),
        (RUN, without(used=None), R.JUDGE_INCOMPLETE),
        (RUN, without(useful=None), None),
    ],
)
def test_reasons(run: RagRun, judged: Judgement, reason: Reason | None) -> None:
    [score] = ContextRelevance().score_run(run, judged)
    assert (score.unscored, score.value is None, score.retrieval) == (reason, reason is not None, None)
    [refused] = ContextRelevance().refuse(run, R.JUDGE_REFUSED)
    assert refused.unscored == (ContextRelevance().refusal(run) or R.JUDGE_REFUSED)


def test_an_empty_judgement_has_no_score() -> None:
    assert ContextRelevance().score(Judgement([], missing=())).unscored is R.NO_CONTEXTS


def test_the_version_follows_what_makes_scores_comparable() -> None:
    def version(scorer: ContextRelevance, judged_by: JudgedBy | None) -> str:
        return scorer.score(replace(WHOLE, judged_by=judged_by)).version

    judge = JudgedBy("llm", "m", "p1")
    scorer = ContextRelevance()
    same = [version(scorer, judge), version(ContextRelevance(100), judge), version(scorer, replace(judge, calls=2))]
    different = [
        version(scorer, None),
        version(scorer, replace(judge, tier="custom")),
        version(scorer, replace(judge, model="m2")),
        version(scorer, replace(judge, version="p2")),
        version(scorer, replace(judge, criterion="is it blue")),
        version(ContextRelevance(penalties=Penalties(unused_high=0.2)), judge),
        version(ContextRelevance(derived=True), judge),
    ]
    assert len(set(same)) == 1
    assert len({same[0], *different}) == 1 + len(different)
    assert all(len(v) == 10 and int(v, 16) >= 0 for v in different)
