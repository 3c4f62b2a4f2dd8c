"""The cross-encoder judge: around a scripted model, and with real weights."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges.calibration import logistic
from otel_ctxscore.judges.cross_encoder import CrossEncoderJudge
from otel_ctxscore.judges.pair_model import BATCH_TOKENS, WINDOWS, PairModel, Window, _batches
from otel_ctxscore.ports import Asks, Judge

QUERY = "Which port does the ledger service listen on?"
ANSWER = "The ledger service listens on port 7443."
NOISE = "The canteen opens at noon and serves soup."


@dataclass
class Lengths:
    """Log odds: the length of the text less three; texts above ten characters are cut."""

    name: str = "lengths"
    version: str = "1"
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def log_odds(self, query: str, texts: Sequence[str]) -> tuple[list[float], int]:
        self.asked.append((query, list(texts)))
        self.threads.add(threading.get_ident())
        return [len(text) - 3.0 for text in texts], sum(len(text) > 10 for text in texts)


def run_of(*texts: str, query: str = QUERY, response: str | None = ANSWER) -> RagRun:
    return RagRun(query, [Retrieval([Context(text) for text in texts])], response)


async def test_verdicts_are_probabilities_in_the_order_of_the_run() -> None:
    pairs = Lengths()
    judge = CrossEncoderJudge(pairs)
    judgement = await judge.judge(run_of("abc", "abcde", "a" * 12))
    assert [v.useful for v in judgement.verdicts] == [0.5, logistic(2), logistic(9)]
    assert judgement.missing is None
    assert [v.relevance for v in judgement.verdicts] == [None] * 3
    by = judgement.judged_by
    assert by is not None
    assert (by.tier, by.model, by.version, by.cut_contexts) == ("cross_encoder", "lengths", judge.version, 1)
    assert (by.tokens, by.cost_usd) == (0, 0)
    assert threading.get_ident() not in pairs.threads
    assert isinstance(judge, Judge)
    assert not isinstance(judge, Asks)


async def test_each_context_is_judged_against_its_own_question_and_used_needs_a_response() -> None:
    pairs = Lengths()
    lists = [Retrieval([Context("abc")], "first"), Retrieval([Context("abcd")], "second")]
    judgement = await CrossEncoderJudge(pairs).judge(RagRun("all", lists, query_from="retrieval"))
    assert pairs.asked == [("first", ["abc"]), ("second", ["abcd"])]
    assert [v.used for v in judgement.verdicts] == [None, None]


async def test_a_calibration_moves_probabilities_and_is_part_of_the_version(tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps({"a": 2, "b": -1}))
    plain, moved = CrossEncoderJudge(Lengths()), CrossEncoderJudge(Lengths(), calibration=file)
    (verdict,) = (await moved.judge(run_of("abcd"))).verdicts
    assert verdict.useful == pytest.approx(logistic(1))
    assert moved.version != plain.version
    assert CrossEncoderJudge(Lengths(version="2")).version != plain.version


# ---- real weights -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(reranker: Path) -> PairModel:
    return PairModel(str(reranker))


def test_a_text_that_answers_is_told_from_one_that_does_not(model: PairModel) -> None:
    (answer, noise), cut = model.log_odds(QUERY, [ANSWER, NOISE])
    assert answer > 3
    assert noise < -3
    assert cut == 0


def test_what_a_text_is_worth_does_not_depend_on_its_company(model: PairModel) -> None:
    texts = [ANSWER, NOISE, *(f"{NOISE} {n} {'more ' * 20 * n}" for n in range(20))]
    together, _ = model.log_odds(QUERY, texts)
    alone = [model.log_odds(QUERY, [text])[0][0] for text in texts[:4]]
    # int8 activations are scaled by batch, so equality is not exact.
    assert together[:4] == pytest.approx(alone, abs=0.7)
    assert model.log_odds(QUERY, []) == ([], 0)


@given(st.lists(st.integers(1, 512), max_size=60))
def test_batches_hold_each_window_once_and_no_more_tokens_than_fit(lengths: list[int]) -> None:
    windows = [Window(place, [0] * length, []) for place, length in enumerate(sorted(lengths))]
    batches = list(_batches(windows))
    assert [window for batch in batches for window in batch] == windows
    assert all(len(batch) * len(batch[-1].ids) <= BATCH_TOKENS for batch in batches)


def test_a_long_text_is_read_in_windows_and_told_where_it_was_cut(model: PairModel) -> None:
    filler = "Soup is served with bread on weekdays. " * 70
    (found, lost), cut = model.log_odds(QUERY, [filler + ANSWER, filler * WINDOWS + ANSWER])
    assert found > 0 > lost
    assert cut == 1


@pytest.mark.parametrize("query", ["", "port " * 3000, "\ud83d\ude00 ポート?", "a\x00b"])
def test_odd_queries_and_texts_have_finite_odds(model: PairModel, query: str) -> None:
    odds, _ = model.log_odds(query, ["", "\x00", "ledger " * 50])
    assert np.isfinite(odds).all()


def test_of_two_logits_the_second_is_yes(model: PairModel, monkeypatch: pytest.MonkeyPatch) -> None:
    class TwoLogits:
        def run(self, outputs: list[str], given: dict[str, Any]) -> list[Any]:
            return [np.array([[1.0, 3.0]] * len(given["input_ids"]))]

    monkeypatch.setattr(model, "_session", TwoLogits())
    assert model.log_odds(QUERY, [ANSWER, NOISE])[0] == [2.0, 2.0]


async def test_the_configured_judge_scores_with_it(reranker: Path) -> None:
    config = configuration.parse({"judge": {"type": "cross_encoder", "model": str(reranker)}})
    judge = parts.judge(config)
    assert isinstance(judge, CrossEncoderJudge)
    assert judge.model == reranker.name
    first, second = await asyncio.gather(judge.judge(run_of(ANSWER, NOISE)), judge.judge(run_of(NOISE, ANSWER)))
    assert [v.is_useful for v in first.verdicts] == [True, False]
    assert [v.is_useful for v in second.verdicts] == [False, True]
    assert all(v.used is not None for v in first.verdicts)


# ---- what cannot work is one clear line -------------------------------------------------------------------------


def test_a_name_that_is_not_in_the_local_cache_is_refused_without_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"judge\.model: some/reranker is no folder.*hf download some/reranker"):
        PairModel("some/reranker")


def test_a_name_without_the_hubs_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="huggingface_hub is not installed"):
        PairModel("some/reranker")


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"needs onnxruntime: pip install 'otel-ctxscore\[cross-encoder\]'"):
        PairModel(str(tmp_path))


def test_a_folder_without_a_graph_or_with_a_broken_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no ONNX graph; looked for model\.onnx"):
        PairModel(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ConfigError, match=r"judge\.model: .* cannot be read"):
        PairModel(str(tmp_path))


def test_a_graph_in_a_folder_of_its_own_is_found_and_a_missing_tokenizer_told(reranker: Path, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx").symlink_to(reranker / "model.onnx")
    with pytest.raises(ConfigError, match="cannot be read"):
        PairModel(str(tmp_path))
    shutil.copy(reranker / "tokenizer.json", tmp_path)
    assert PairModel(str(tmp_path)).version == PairModel(str(reranker)).version
