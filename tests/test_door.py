"""The plug-in author's door: what it holds, what it does not load, and that its documentation is true."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import otel_ctxscore
from otel_ctxscore.ports import AskingScorer, Asks, Judge, Scorer
from otel_ctxscore.scorers import context_precision, context_relevance

HEAVY = ("litellm", "aiokafka", "grpc", "numpy", "pydantic", "yaml", "aiohttp", "opentelemetry", "importlib.metadata")
DOCS = Path(__file__).parents[1] / "docs" / "python.md"


def in_a_fresh_interpreter(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_neither_providers_nor_transports() -> None:
    code = f"import sys, otel_ctxscore; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert in_a_fresh_interpreter(code) == "[]"


def test_the_local_judge_loads_no_provider_either() -> None:
    code = f"import sys; from otel_ctxscore import LocalJudge; LocalJudge(); print([n for n in {HEAVY!r} if n in sys.modules])"
    assert in_a_fresh_interpreter(code) == "[]"


@pytest.mark.parametrize("name", otel_ctxscore.__all__)
def test_all_that_it_names_is_there(name: str) -> None:
    assert getattr(otel_ctxscore, name).__doc__
    assert name in dir(otel_ctxscore)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Jugde'"):
        _ = otel_ctxscore.Jugde


def test_the_parts_fit_their_ports() -> None:
    assert isinstance(otel_ctxscore.LocalJudge(), Judge)
    assert issubclass(otel_ctxscore.LiteLLMJudge, Asks)
    assert isinstance(otel_ctxscore.ContextPrecision(), Scorer)
    assert isinstance(otel_ctxscore.ContextRelevance(), Scorer)
    assert isinstance(otel_ctxscore.Rubric.load("faithfulness"), AskingScorer)


def test_the_page_is_true() -> None:
    failed, tried = doctest.testfile(str(DOCS), module_relative=False, encoding="utf-8")
    assert (failed, tried > 20) == (0, True)


@pytest.mark.parametrize("module", [otel_ctxscore, context_precision, context_relevance])
def test_docstrings_are_true(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert (failed, tried > 0) == (0, True)
