"""The trained lexical model: what it is sure of, what it never depends on and how long it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from otel_ctxscore.judges.features import RELEVANCE, analyse, relevance_rows
from otel_ctxscore.judges.lexical import LexicalModel
from otel_ctxscore.judges.text import HEAD_CHARS, TAIL_CHARS, read

QUERY = "When was the Eiffel Tower in Paris completed?"
CONTEXTS = [
    "The Louvre is the most visited museum of the world and stands on the right bank of the Seine.",
    "The Eiffel Tower. The Eiffel Tower in Paris was completed on 31 March 1889 after two years of work.",
    "Sourdough bread is leavened with wild yeast and lactic acid bacteria.",
    "Many towers were built for exhibitions; few of them still stand.",
]
RESPONSE = "It was completed on 31 March 1889."

# (query, useful context, useless context) in several scripts
LABELLED = [
    ("埃菲尔铁塔是哪一年建成的？", "埃菲尔铁塔于1889年建成，位于法国巴黎。", "面包由面粉、水和酵母制成。"),
    (
        "エッフェル塔は何年に完成しましたか",
        "エッフェル塔は1889年に完成し、パリにあります。",
        "パンは小麦粉と水と酵母から作られる。",
    ),
    ("에펠탑은 언제 완공되었습니까?", "에펠탑은 1889년에 완공되었으며 파리에 있다.", "빵은 밀가루와 물로 만든다."),
    ("หอไอเฟลสร้างเสร็จเมื่อใด", "หอไอเฟลสร้างเสร็จในปี 1889 ที่กรุงปารีส", "ขนมปังทำจากแป้งและน้ำ"),
    ("एफिल टॉवर कब पूरा हुआ?", "एफिल टॉवर 1889 में पेरिस में पूरा हुआ।", "रोटी आटे और पानी से बनती है।"),
    ("Когда была построена Эйфелева башня?", "Эйфелева башня построена в 1889 году.", "Хлеб пекут из муки и воды."),
    ("Wann wurde der Kölner Dom vollendet?", "Der Kolner Dom wurde 1880 vollendet.", "Brot wird aus Mehl gebacken."),
    (
        "Quand la tour Eiffel a-t-elle été achevée à Paris ?",
        "La tour Eiffel, à Paris, a été achevée le 31 mars 1889.",
        "La mairie de la ville a été à côté de la gare, et elle est au bord de la mer.",
    ),
    (
        "Quando è stata completata la torre Eiffel?",
        "La torre Eiffel è stata completata nel 1889.",
        "Il pane è fatto con la farina, ed è una delle cose più buone che sono nella cucina.",
    ),
]

# (query, what of it is looked for in a context)
TERMS = [
    ("Quelle est la capitale du Portugal ?", {"portugal", "capital"}),  # no French was trained on
    ("Quale fiume attraversa la città?", {"fium", "attraversa", "citta"}),
    ("埃菲尔铁塔的设计者是谁？", {"埃菲", "菲尔", "尔铁", "铁塔", "设计", "计者"}),
    ("これはエッフェル塔ですか", {"エッ", "ッフ", "フェ", "ェル", "ル塔", "はエ", "塔で"}),
    ("หอไอเฟล", {"หอไอ", "อไอเ", "ไอเฟ", "อเฟล"}),
]


@pytest.fixture(scope="module")
def model() -> LexicalModel:
    return LexicalModel.load()


def test_the_context_with_the_answer_is_useful_and_the_others_are_not(model: LexicalModel) -> None:
    useful = model.useful(QUERY, CONTEXTS)
    assert [p >= 0.5 for p in useful] == [False, True, False, False]
    assert min(useful) >= 0
    assert max(useful) <= 1


def test_only_the_context_whose_words_the_response_has_is_used(model: LexicalModel) -> None:
    used = model.used(QUERY, CONTEXTS, RESPONSE)
    assert used is not None
    assert [p >= 0.5 for p in used] == [False, True, False, False]


@pytest.mark.parametrize(("query", "useful", "useless"), LABELLED)
def test_scripts_and_accents(model: LexicalModel, query: str, useful: str, useless: str) -> None:
    yes, no = model.useful(query, [useful, useless])
    assert yes > 0.5 > no


@pytest.mark.parametrize(("query", "useful", "useless"), LABELLED)
def test_a_list_without_any_useful_context_finds_none(
    model: LexicalModel, query: str, useful: str, useless: str
) -> None:
    assert max(model.useful(query, [useless, CONTEXTS[2]])) < 0.5


@pytest.mark.parametrize(("query", "terms"), TERMS)
def test_words_of_grammar_are_not_looked_for(model: LexicalModel, query: str, terms: set[str]) -> None:
    assert set(analyse(query, model.idf).terms) == terms


def test_a_query_of_such_words_alone_is_still_looked_for(model: LexicalModel) -> None:
    assert analyse("où est-il ?", model.idf).terms


def test_a_single_context_is_judged_by_what_it_holds(model: LexicalModel) -> None:
    assert model.useful(QUERY, [CONTEXTS[1]])[0] > 0.5 > model.useful(QUERY, [CONTEXTS[2]])[0]


def test_useful_contexts_do_not_make_each_other_useless(model: LexicalModel) -> None:
    others = [
        "In Paris the Eiffel Tower was completed in 1889 for the exhibition.",
        "Workers completed the Eiffel Tower on the Champ de Mars in Paris in March 1889.",
    ]
    assert min(model.useful(QUERY, [CONTEXTS[1], *others])) > 0.5
    assert [p > 0.5 for p in model.useful(QUERY, [*others, *CONTEXTS])] == [True, True, False, True, False, False]


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]])
def test_the_order_of_the_contexts_does_not_matter(model: LexicalModel, order: list[int]) -> None:
    shuffled = [CONTEXTS[i] for i in order]
    useful, used = model.useful(QUERY, CONTEXTS), model.used(QUERY, CONTEXTS, RESPONSE)
    assert used is not None
    assert model.useful(QUERY, shuffled) == [useful[i] for i in order]
    assert model.used(QUERY, shuffled, RESPONSE) == [used[i] for i in order]


def test_equal_contexts_get_equal_probabilities(model: LexicalModel) -> None:
    twice = [CONTEXTS[1], CONTEXTS[0], CONTEXTS[1]]
    first, _, again = model.useful(QUERY, twice)
    assert first == again > 0.5


@pytest.mark.parametrize(
    "response",
    ["", "  \n", "I don't know.", "Sorry, I cannot answer that.", "The context has no information about this.", None],
)
def test_without_an_answer_nothing_is_said_of_use(model: LexicalModel, response: str | None) -> None:
    assert model.used(QUERY, CONTEXTS, response) is None


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", "🙂"])
@pytest.mark.parametrize("context", ["", " \n\t", "...", "🙂", "\ud800", "a"])
def test_texts_without_words_are_judged_too(model: LexicalModel, query: str, context: str) -> None:
    (useful,) = model.useful(query, [context])
    used = model.used(query, [context], "🙂")
    assert used is not None
    assert useful < 0.5 > used[0]


def test_no_contexts(model: LexicalModel) -> None:
    assert model.useful(QUERY, []) == []
    assert model.used(QUERY, [], RESPONSE) == []


@pytest.mark.parametrize("piece", ["tower Paris ", "x", "塔", "a. ", "\n", "é", "1,", "\u0301", "a1b2 "])
def test_a_megabyte_of_context_is_read_in_bounded_time(model: LexicalModel, piece: str) -> None:
    long = (piece * 1_000_000)[:1_000_000]
    started = time.process_time()
    model.useful(QUERY, [long])
    model.used(QUERY, [long], RESPONSE)
    assert time.process_time() - started < 0.5  # a tenth of it alone; the rest is for a busy machine


def test_long_query_and_response_are_read_in_bounded_time(model: LexicalModel) -> None:
    long = " ".join(f"word{i} tower. " for i in range(100_000))
    started = time.process_time()
    model.useful(long, [long])
    model.used(long, [long], long)
    assert time.process_time() - started < 1.5


def test_of_a_long_text_the_beginning_and_the_end_are_read() -> None:
    tokens = read("begin " + "x " * (HEAD_CHARS + TAIL_CHARS) + " end").tokens
    assert tokens[0] == "begin"
    assert tokens[-1] == "end"
    assert len(tokens) <= HEAD_CHARS + TAIL_CHARS


def test_no_feature_depends_on_the_place_in_the_list(model: LexicalModel) -> None:
    passages = [read(c) for c in CONTEXTS]
    rows = relevance_rows(QUERY, passages, model.idf)
    assert relevance_rows(QUERY, passages[::-1], model.idf) == rows[::-1]
    assert all(len(row) == len(RELEVANCE) for row in rows)


def test_the_same_in_every_process() -> None:
    code = (
        "from otel_ctxscore.judges.lexical import LexicalModel as L;"
        f"m=L.load();print(m.version,m.useful({QUERY!r},{CONTEXTS!r}),m.used({QUERY!r},{CONTEXTS!r},{RESPONSE!r}))"
    )
    seen = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
