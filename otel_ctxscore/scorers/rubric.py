"""Rubrics: a question to an LLM, written in Markdown, whose answer is one score a run.

The front matter (YAML between two `---` lines) has `name`, `version`, `needs` (of `query`, `contexts`, `response`; all
three by default), optionally `labels` (word: value in 0..1) and `scale`. The text below is the instruction. With
`labels` the reply names one of the words, without it gives a number in 0..1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from otel_ctxscore.core.errors import ConfigError, in_words
from otel_ctxscore.core.model import JudgedBy, RagRun, Score
from otel_ctxscore.core.outcomes import Reason, first_reason
from otel_ctxscore.core.version import evaluator_version
from otel_ctxscore.scorers import explanation, numbers
from otel_ctxscore.scorers.grounds import cut_list, no_response
from otel_ctxscore.scorers.rubric_reply import plain, read_reply

PARTS = frozenset({"query", "contexts", "response"})
BUILT_IN = ("faithfulness", "answer_relevancy")
_KEYS = frozenset({"name", "version", "needs", "labels", "scale"})
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rubric:
    """A scorer with a call of its own. Any change of its text is a new evaluator version.

    `labels` maps the words that a reply may use to values in 0..1; empty where the reply is a number. `needs` are
    the parts of a run that the LLM is shown, and without which it is not asked.
    """

    name: str
    text: str
    rubric_version: str = "1"
    needs: frozenset[str] = PARTS
    labels: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1
    _: KW_ONLY
    quote: bool = False

    def __post_init__(self) -> None:
        numbers.check_scale(self.scale)
        if unknown := self.needs - PARTS:
            raise ValueError(f"needs: {', '.join(sorted(unknown))}; there is only {', '.join(sorted(PARTS))}")
        if not self.text.strip():
            raise ValueError("there is no text below the front matter")
        for word, value in self.labels.items():
            if not 0 <= value <= 1:
                raise ValueError(f"labels: {word} must be worth a number in 0..1, not {value!r}")
        if len(self.labels) == 1 or len({plain(word) for word in self.labels}) != len(self.labels):
            raise ValueError("labels must be at least two words, of which no two are alike but for case and space")

    @classmethod
    def load(cls, name_or_path: str | Path, *, quote: bool = False) -> Rubric:
        """A rubric that comes with the package (`faithfulness`, `answer_relevancy`), or a Markdown file. Raises
        ConfigError, naming the file and what is wrong."""
        built_in = str(name_or_path) in BUILT_IN
        try:
            path = files(__package__) / "rubrics" / f"{name_or_path}.md" if built_in else Path(name_or_path)
            return replace(_parsed(path.read_text(encoding="utf-8")), quote=quote)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ConfigError(f"{name_or_path}: {in_words(error)}") from error

    @property
    def definition(self) -> str:
        return f"{self.name}/rubric"

    @property
    def instructions(self) -> str:
        return self.text

    @property
    def schema(self) -> dict[str, object]:
        """The JSON schema of the reply: `label` or `score`, and `note`."""
        answer: dict[str, object] = {"label": {"type": "string", "enum": list(self.labels)}}
        if not self.labels:
            answer = {"score": {"type": "number", "minimum": 0, "maximum": 1}}
        return {
            "type": "object",
            "properties": {**answer, "note": {"type": "string"}},
            "required": [*answer, "note"],
            "additionalProperties": False,
        }

    def refusal(self, run: RagRun) -> Reason | None:
        """What the run lacks of what the rubric needs."""
        lacks = (
            no_response(run) if "response" in self.needs else None,
            cut_list(run) if "contexts" in self.needs else None,
        )
        return run.refused or first_reason(reason for reason in lacks if reason)

    def shown(self, run: RagRun) -> RagRun:
        """The run with only the parts that the rubric needs."""
        return replace(
            run,
            query=run.query if "query" in self.needs else None,
            history=run.history if "query" in self.needs else (),
            retrievals=run.retrievals if "contexts" in self.needs else (),
            response=run.response if "response" in self.needs else None,
        )

    def read(self, run: RagRun, reply: str, judged_by: JudgedBy) -> Score:
        """The score of a reply. Raises JudgeError for anything that was not offered."""
        answer = read_reply(reply, self.labels, _material(self.shown(run)))
        value = numbers.round2(answer.ratio * self.scale)
        version = self._version(judged_by)
        said = f'Label "{answer.label}".' if answer.label is not None else f"Score {numbers.round2(answer.ratio):g}."
        return Score(
            self.name,
            self.definition,
            version,
            value,
            label=answer.label,
            explanation=explanation.composed(
                said,
                explanation.scaled(value, self.scale),
                explanation.bounded(answer.note) if self.quote else "",
                f'Rubric "{self.name}" version {self.rubric_version}, judged by {judged_by.tier} {judged_by.model}, '
                f"evaluator version {version}.",
            ),
            scale=self.scale,
            ratio=answer.ratio,
        )

    def refuse(self, run: RagRun, reason: Reason, judged_by: JudgedBy | None = None) -> list[Score]:
        """The score, unscored: for the run's own reason where it has one, else for `reason`."""
        why = self.refusal(run) or reason
        return [Score(self.name, self.definition, self._version(judged_by), None, unscored=why, scale=self.scale)]

    def _version(self, judged_by: JudgedBy | None) -> str:
        options = {"text": self.text, "labels": dict(self.labels), "needs": sorted(self.needs)}
        return evaluator_version(self.definition, options, judged_by)


def _material(run: RagRun) -> list[str]:
    """All texts that the LLM was shown of a run."""
    texts = [context.text for retrieval in run.retrievals for context in retrieval.contexts]
    return [text for text in (run.query, run.response, *texts, *(said for _, said in run.history)) if text]


def _parsed(source: str) -> Rubric:
    found = _FRONT_MATTER.match(source.replace("\r\n", "\n").removeprefix("\ufeff"))
    if found is None:
        raise ValueError("it must begin with front matter between two lines of ---")
    head: Any = yaml.load(found[1], yaml.BaseLoader)  # noqa: S506 -- all scalars stay text: `yes` is a fine label
    if not isinstance(head, dict) or not head.get("name") or not isinstance(head["name"], str):
        raise ValueError("the front matter must have a name")
    if unknown := sorted(head.keys() - _KEYS):
        raise ValueError(f"{', '.join(unknown)}: there is only {', '.join(sorted(_KEYS))}")
    labels, needs = head.get("labels", {}), head.get("needs", sorted(PARTS))
    if not isinstance(labels, dict) or not isinstance(needs, list):
        raise ValueError("labels must map words to values, and needs must be a list")
    return Rubric(
        head["name"],
        found[2].strip(),
        rubric_version=str(head.get("version", 1)),
        needs=frozenset(str(part) for part in needs),
        labels={word: _number(f"labels: {word}", value) for word, value in labels.items()},
        scale=_number("scale", head.get("scale", "1")),
    )


def _number(key: str, text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise ValueError(f"{key} must be a number, not {text!r}") from None
