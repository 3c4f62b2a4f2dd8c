"""What the values that flow refuse to hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy
import pytest

from otel_ctxscore.core.model import Context, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.scorers.context_precision import ContextPrecision

SCORED_BY_WORD = Context("a", document_score="high")  # type: ignore[arg-type]
BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a string as the list": (lambda: Retrieval("abc"), TypeError, "contexts must be a list of them, not a single str"),  # type: ignore[arg-type]
    "bytes as the list": (lambda: Retrieval(b"abc"), TypeError, "not a single bytes"),  # type: ignore[arg-type]
    "a number as a context": (lambda: Retrieval([5]), TypeError, "must be Context or str, .* not 5"),  # type: ignore[list-item]
    "a context without a text": (lambda: Retrieval([Context(5)]), TypeError, r"not Context\(text=5"),  # type: ignore[arg-type]
    "a word as a score": (
        lambda: Retrieval([SCORED_BY_WORD]),
        TypeError,
        "document_score must be a number, not 'high'",
    ),
    "contexts for retrievals": (
        lambda: RagRun("q", ["a"]),  # type: ignore[list-item]
        TypeError,
        "each of retrievals must be a Retrieval, not 'a'",
    ),
    "a turn as a mapping": (
        lambda: RagRun("q", [], history=[{"role": "user", "text": "hi"}]),  # type: ignore[list-item]
        TypeError,
        r"each of history must be a pair \(role, text\)",
    ),
    "an answer in place of a verdict": (lambda: Judgement([True]), TypeError, "each of verdicts .* Verdict, not True"),  # type: ignore[list-item]
    "one missing piece": (lambda: Judgement([], missing="abc"), TypeError, "missing must be a list"),
    "a word for useful": (lambda: Verdict(useful="yes"), ValueError, "useful must be .* not 'yes'"),  # type: ignore[arg-type]
    "a list for used": (lambda: Verdict(used=[1]), ValueError, r"used must be .* not \[1\]"),  # type: ignore[arg-type]
    "more than certain": (lambda: Verdict(useful=1.5), ValueError, "useful must be .* not 1.5"),
    "not a number": (lambda: Verdict(used=float("nan")), ValueError, "used must be .* not nan"),
    "no level": (lambda: Verdict(relevance="top"), ValueError, "relevance must be one of high"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_value_is_refused_where_it_is_made(what: str) -> None:
    make, error, said = BAD[what]
    with pytest.raises(error, match=said):
        make()


def test_strings_are_contexts_and_any_iterable_is_a_list() -> None:
    assert Retrieval(iter(["a", Context("b")])).contexts == (Context("a"), Context("b"))  # type: ignore[arg-type]
    assert Judgement([Verdict(useful=True, used=0.5)], missing=["c"]).missing == ("c",)


@pytest.mark.parametrize("kind", [numpy.float64, numpy.float32, Fraction])
def test_any_kind_of_number_is_a_number(kind: Callable[[float], float]) -> None:
    """Models answer with numpy's, whose comparisons give no booleans of Python and which JSON does not know."""
    verdict = Verdict(useful=kind(0.75), used=kind(0.25))
    assert (verdict.is_useful is True, verdict.is_used is False) == (True, True)
    assert {type(verdict.useful), type(verdict.used)} == {float}
    judgement = Judgement([verdict, Verdict(useful=kind(0.0), used=numpy.bool_(False))])  # type: ignore[arg-type]
    assert ContextPrecision().score(judgement).value == 1
    [context] = Retrieval([Context("a", document_score=kind(0.5))]).contexts
    assert (context.document_score, type(context.document_score)) == (0.5, float)
