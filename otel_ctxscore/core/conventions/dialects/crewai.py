"""CrewAI through its instrumentations: tasks and agents with their own attributes."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight


def read(sight: Sight) -> Reading:
    """A crew holds the turn; a task inside it says what was asked in its description."""
    crew = sight.node("crewai.crew.result", "gen_ai.crewai.crew.result")
    given = sight.node("crewai.task.description", "gen_ai.crewai.task.description", "crewai.crew.inputs")
    gave = sight.node("crewai.task.result", "crewai.agent.result", "crewai.task.output")
    if crew is None and given is None and gave is None:
        return Reading()
    answer = answer_in(crew) or answer_in(gave)
    return Reading(dialect="crewai", role=Role.CHAIN, question=question_in(given), answer=answer)


DIALECT = Dialect(
    name="crewai",
    title="CrewAI",
    read=read,
    scopes=("crewai", "openlit.instrumentation.crewai"),
    markers=("crewai.", "gen_ai.crewai."),
    versions="by the sources of the OpenLLMetry, OpenLIT and OpenInference instrumentations",
    reads=("crewai.crew.result", "crewai.task.description", "crewai.task.result", "crewai.agent.result"),
    example={
        "crewai.task.description": "How long is the warranty?",
        "crewai.task.result": "The warranty is 24 months.",
    },
)
