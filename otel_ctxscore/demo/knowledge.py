"""What the demo's assistant knows: facts about the services of a company, each one passage, and how it retrieves.

Every question has one passage that answers it, so the truth about each retrieved passage is known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

SERVICES = (
    "ledger", "payments", "search", "billing", "catalogue", "shipping", "invoice", "session",
    "inventory", "reporting", "identity", "notification",
)  # fmt: skip
TOP_K = 5
FAULTY = "handbook"
INDEXES = (FAULTY, "tickets")
"""Where passages are looked for; the fault is at the first."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A passage, the question that it answers and the answer."""

    id: str
    about: str
    question: str
    passage: str
    answer: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with what was retrieved for it, in rank order, and what was answered. `index` is where it was looked
    for; `similarities` are the retriever's numbers, one for each passage."""

    question: str
    passages: tuple[Fact, ...]
    response: str
    wanted: Fact
    index: str
    similarities: tuple[float, ...]


KINDS = {
    "port": (
        "Which port does the {name} service listen on?",
        "The {name} service listens on port {port}; health checks use the same port.",
        "It listens on port {port}.",
    ),
    "backup": (
        "When does the nightly backup of the {name} database run?",
        "Backups of the {name} database run every night at 0{hour}:30 UTC and take about ten minutes.",
        "The backup runs at 0{hour}:30 UTC.",
    ),
    "retention": (
        "How long are logs of the {name} service kept?",
        "Logs of the {name} service are kept for {days} days, then they are deleted.",
        "They are kept for {days} days.",
    ),
    "region": (
        "In which region is the {name} service hosted?",
        "The {name} service is hosted in the {region} region, with a standby next door.",
        "It is hosted in {region}.",
    ),
    "owner": (
        "Which team owns the {name} service?",
        "Team {team} owns the {name} service and answers pages for it.",
        "Team {team} owns it.",
    ),
}
"""Question, passage and answer of each kind of fact."""


@cache
def facts() -> tuple[Fact, ...]:
    """All facts, the same in every process."""
    draw = random.Random(11)
    found: list[Fact] = []
    for name in SERVICES:
        words: dict[str, object] = {
            "name": name,
            "port": draw.randint(3000, 9000),
            "hour": draw.randint(1, 5),
            "days": draw.choice((14, 30, 90, 365)),
            "region": draw.choice(("Dublin", "Frankfurt", "Oregon", "Mumbai")),
            "team": draw.choice(("Blue", "Amber", "Jade")),
        }
        for kind, texts in KINDS.items():
            found.append(Fact(f"{name}-{kind}", name, *(text.format(**words) for text in texts)))
    return tuple(found)


class Retriever:
    """Draws turns. `broken` is the fault: at one of the two indexes the reranker is off and what it holds is stale, so
    that the passage that is wanted stands near the end of the list, or is not in it at all."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.broken = False

    def turn(self) -> Turn:
        draw = self._draw
        index = draw.choices(INDEXES, weights=(4, 1))[0]
        broken = self.broken and index == FAULTY
        wanted = draw.choice(facts())
        near = [fact for fact in facts() if fact.about == wanted.about and fact is not wanted]
        far = draw.sample([fact for fact in facts() if fact.about != wanted.about], TOP_K)
        others = far if broken else [*draw.sample(near, 2), *far]
        place = draw.choice((TOP_K - 1, None)) if broken else draw.choices((0, 1), weights=(9, 1))[0]
        passages = others[:TOP_K] if place is None else [*others[:place], wanted, *others[place : TOP_K - 1]]
        response = "I could not find that in the documentation." if place is None else wanted.answer
        top = 0.6 if broken else 0.85
        similarities = sorted((round(draw.gauss(top, 0.05), 3) for _ in passages), reverse=True)
        return Turn(wanted.question, tuple(passages), response, wanted, index, tuple(similarities))


@cache
def by_question() -> dict[str, Fact]:
    """The fact that answers each question."""
    return {fact.question: fact for fact in facts()}


def truth(question: str, passages: list[str], response: str | None) -> dict[str, object]:
    """What a judge that knows everything says: the answer of the demo's scripted judge."""
    wanted = by_question().get(question)
    verdicts: list[dict[str, object]] = []
    for index, text in enumerate(passages):
        right = wanted is not None and text == wanted.passage
        used = right and response == (wanted.answer if wanted else None)
        near = wanted is not None and wanted.about in text
        note = "answers the question" if right else f"is about {'the service' if near else 'another service'}"
        level = "high" if right else "medium" if near else "none"
        verdicts.append({"index": index, "useful": right, "relevance": level, "used": used, "note": note})
    found = any(verdict["useful"] for verdict in verdicts)
    return {"verdicts": verdicts, "missing": [] if found or wanted is None else [wanted.answer]}
