"""How models and servers really write an answer: what is read, and what is no answer."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.thinking import said
from otel_ctxscore.judges.reply import Reading, one_object, read
from otel_ctxscore.testing import verdicts

GOOD = verdicts([True, False])
TEXT, OTHER = json.dumps(GOOD), json.dumps(verdicts([False, True]))
ENTRIES = [{key: value for key, value in entry.items() if key != "index"} for entry in GOOD["verdicts"]]
UNREADABLE, INCOMPLETE, TRUNCATED = Reason.JUDGE_UNREADABLE, Reason.JUDGE_INCOMPLETE, Reason.JUDGE_TRUNCATED


def outcome(reply: Any) -> list[bool | float | None] | Reason:
    found = read(reply if isinstance(reply, str) else json.dumps(reply), 2)
    return [verdict.useful for verdict in found.verdicts] if isinstance(found, Reading) else found.reason


def listed(*words: Any) -> dict[str, Any]:
    return {"verdicts": [{"index": place, "useful": word} for place, word in enumerate(words)]}


READ: dict[str, Any] = {
    "thinking": f"<thinking>{OTHER}</thinking>{TEXT}",
    "thinking with attributes": f'<think budget="10">{OTHER}</think>{TEXT}',
    "thinking that was begun in the prompt": f"{OTHER}</think>{TEXT}",
    "thinking twice": f"<think>{OTHER}</think>so<think>{OTHER}</think>{TEXT}",
    "thinking afterwards": f"{TEXT}\n<reflection>{OTHER}</reflection>",
    "a draft that is not closed": f'<think>{{"verdicts": [{{"index": 0, hm no</think>{TEXT}',
    "Kimi": f"◁think▷{OTHER}◁/think▷{TEXT}",
    "Magistral": f"[THINK]{OTHER}[/THINK]{TEXT}",
    "Seed": f"<seed:think>{OTHER}</seed:think>{TEXT}",
    "Sky": f"<|begin_of_thought|>{OTHER}<|end_of_thought|><|begin_of_solution|>{TEXT}<|end_of_solution|>",
    "Command": f"<|START_THINKING|>{OTHER}<|END_THINKING|><|START_RESPONSE|>{TEXT}<|END_RESPONSE|>",
    "MedGemma": f"<unused94>thought\n{OTHER}<unused95>{TEXT}",
    "channels": f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}",
    "channels without their tokens": f"analysis{OTHER}assistantfinal{TEXT}",
    "scratchpad": f"<scratchpad>{OTHER}</scratchpad><answer>{TEXT}</answer>",
    "inner monologue": f"<inner_monologue>{OTHER}</inner_monologue>{TEXT}",
    "marks in a note": json.dumps(GOOD).replace("as scripted", "</think> <analysis> assistantfinal"),
    "a comma too many in an object": TEXT.replace('"as scripted"}', '"as scripted",}'),
    "a comma too many in a list": TEXT.replace("}], ", "}, ], "),
    "Python's quotes": str(GOOD),
    "Python's quotes around quotes": str(GOOD).replace("as scripted", 'it\\\'s "so"'),
    "Python's constants": TEXT.replace("true", "True").replace("false", "False"),
    "a comma and a word in a note": json.dumps(GOOD).replace("as scripted", "None,] and True,}"),
    "result": {"result": GOOD},
    "answer in output": {"output": {"answer": GOOD}},
    "result as text": {"result": TEXT},
    "a call": f"<tool_call>{json.dumps({'name': 'judgement', 'arguments': GOOD})}</tool_call>",
    "a call with text": {"name": "judgement", "arguments": TEXT},
    "a list of one answer": [GOOD],
    "a list of verdicts": GOOD["verdicts"],
    "verdicts by index": {"verdicts": {"0": ENTRIES[0], "1": ENTRIES[1]}},
    "verdicts by index from 1": {"verdicts": {"2": ENTRIES[1], "1": ENTRIES[0]}},
    "verdicts by label": {"verdicts": {"[1]": ENTRIES[1], "[0]": ENTRIES[0]}},
    "nothing but verdicts by index": {"0": ENTRIES[0], "1": ENTRIES[1]},
    "title as index": {"verdicts": [{"index": "context [0]", "useful": True}, {"index": "Context_1", "useful": False}]},
    "text around every line": "\n".join(f"> {line}" for line in ("see:", TEXT, "done")),
    "twice": f"{TEXT}\n\nAgain, as a block:\n```json\n{TEXT}\n```",
    "unclosed fence": f"```json\n{TEXT}",
    "byte order mark": f"\ufeff{TEXT}",
    "carriage returns": json.dumps(GOOD, indent=1).replace("\n", "\r\n"),
    "NUL in a note": TEXT.replace("as scripted", "a\x00b"),
    "escaped as a whole": json.dumps(TEXT),
    "other keys": {**GOOD, "confidence": 0.3, "summary": [1]},
    "brackets in prose": f"[0] and {{1}} and [0, 1] were seen. {TEXT}",
}  # fmt: skip

NOT_READ: dict[str, tuple[Any, Reason]] = {
    "two answers that differ": (f"{TEXT}{OTHER}", UNREADABLE),
    "an answer in thinking only": (f"<think>{TEXT}</think>", UNREADABLE),
    "an answer in thinking that goes on": (f"<think>{TEXT}", UNREADABLE),
    "an answer in another model's thinking only": (f"◁think▷{TEXT}◁/think▷", UNREADABLE),
    "an answer in a text of the answer": ({"result": f"it says {TEXT}"}, UNREADABLE),
    "in two envelopes": ({"result": GOOD, "output": GOOD}, UNREADABLE),
    "in an unknown envelope": ({"document": GOOD}, UNREADABLE),
    "in too many envelopes": ({"result": {"result": {"result": {"result": GOOD}}}}, UNREADABLE),
    "keys without quotes": ("{verdicts: [{index: 0, useful: true}, {index: 1, useful: false}]}", UNREADABLE),
    "typographic quotes": (TEXT.replace('"', "”"), UNREADABLE),
    "not a number": (TEXT.replace("true", "NaN"), UNREADABLE),
    "a key twice": (TEXT.replace('"useful": true', '"useful": true, "useful": false'), UNREADABLE),
    "keys in capitals": (TEXT.replace("verdicts", "VERDICTS").replace("useful", "USEFUL"), INCOMPLETE),
    "a set": ("{'verdicts': {'yes', 'no'}}", UNREADABLE),
    "a verdict a line": ("\n".join(map(json.dumps, GOOD["verdicts"])), INCOMPLETE),
    "words without indexes": ({"verdicts": ["yes", "no"]}, INCOMPLETE),
    "one list of words": ({"useful": [True, False]}, INCOMPLETE),
    "key and index contradict": ({"verdicts": {"0": {"index": 1, "useful": True}, "1": {"index": 0, "useful": True}}}, INCOMPLETE),
    "two keys for one index": ({"verdicts": {"0": ENTRIES[0], "[0]": ENTRIES[1]}}, INCOMPLETE),
    "an index too few": (listed(True), INCOMPLETE),
    "an index too many": (listed(True, False, False), INCOMPLETE),
    "German": (listed("ja", "nein"), INCOMPLETE),
    "Chinese": (listed("是", "否"), INCOMPLETE),
    "full width": (listed("ｙｅｓ", "ｎｏ"), INCOMPLETE),
    "Cyrillic letters": (listed("уеs", "nо"), INCOMPLETE),
    "dotted capital": ({"verdicts": [{"index": 0, "relevance": "HİGH"}, {"index": 1, "relevance": "low"}]}, INCOMPLETE),
    "invisible letters": (listed("yes\u200b", "no"), INCOMPLETE),
    "per cent": (listed("80%", "0%"), INCOMPLETE),
    "digits of another script": ({"verdicts": [{"index": "٠", "useful": 1}, {"index": "١", "useful": 0}]}, INCOMPLETE),
    "cut in a string": (TEXT[:60], TRUNCATED),
    "cut before the last bracket": (TEXT[:-1], TRUNCATED),
    "typographic refusal": ("I’m sorry, but I can’t judge this.", Reason.JUDGE_REFUSED),
    "refusal after thinking": ("<think>hm</think>I cannot judge this.", Reason.JUDGE_REFUSED),
    "nothing but thinking": ("<think>hm</think>", UNREADABLE),
    "a hundred answers": ("".join(json.dumps(verdicts([True, False], missing=[str(n)])) for n in range(101)), UNREADABLE),
    "far too long": (TEXT + " " * 2_000_000, UNREADABLE),
}  # fmt: skip


@pytest.mark.parametrize("shape", READ)
def test_what_can_mean_one_thing_only_is_read(shape: str) -> None:
    assert outcome(READ[shape]) == [True, False]


@pytest.mark.parametrize("shape", NOT_READ)
def test_what_could_mean_another_is_no_answer(shape: str) -> None:
    reply, reason = NOT_READ[shape]
    assert outcome(reply) == reason


@pytest.mark.parametrize("reply", ["<think>perhaps bad</think>\n good", "◁think▷bad◁/think▷good", "bad</think>good"])
def test_a_rubric_gets_a_bare_word_without_the_thinking_before_it(reply: str) -> None:
    assert one_object(reply, {"properties": {"label": {}}}) == said(reply) == "good"


@pytest.mark.parametrize(
    ("quoted", "repeated"),
    [
        ('{"page": {"verdicts": [{"index": 0, "useful": true}]}}', '{"verdicts": [{"useful": true, "index": 0}]}'),
        ("{'verdicts': [{'index': 0, 'useful': True}]}", '{"verdicts":[{"index":0,"useful":true}]}'),
        ('{"verdicts":[{"index":0,"useful":true}]}', '{"result": {"verdicts": [{"index": 0, "useful": true}]}}'),
        ('say {"verdicts":[{"index":0,"useful":true,}]}', '{"verdicts": [{"index": 0, "useful": true}]}'),
    ],
    ids=["nested", "Python", "wrapped", "loose"],
)
def test_an_answer_of_the_material_in_another_spelling_is_still_quoted(quoted: str, repeated: str) -> None:
    found = read(repeated, 1, [quoted])
    assert not isinstance(found, Reading)
    assert found.what == "the only answer in the reply was quoted from the material"


STALLING = {
    "escaped quotes": '{"' + '\\"' * 100_000,
    "escaped quotes after brackets": ("{x" * 8 + '"verdicts' + '\\"' * 100_000),
    "broken objects": "{x}" * 100_000,
    "brackets": "[" * 300_000,
    "answers": TEXT * 3_000,
    "thinking": f"<think>{TEXT}</think>" * 3_000,
    "marks": "<think>" * 100_000 + "</think>" * 100_000,
    "half marks": "<think " * 100_000,
}


@pytest.mark.parametrize("kind", STALLING)
def test_no_reply_and_no_document_stalls_the_reader(kind: str) -> None:
    began = time.process_time()
    read(STALLING[kind], 2)
    read(TEXT, 2, [STALLING[kind]])
    assert time.process_time() - began < 5
