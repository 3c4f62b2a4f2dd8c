"""What instrumentations write today is scored end to end: each application in its own process, against `serve`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks import environment
from tests.services.fixtures import need
from tests.services.process import wait_until
from tests.serving import Serving, lines

APPLICATIONS = (
    "openinference_langchain",
    "openinference_llama_index",
    "openinference_haystack",
    "genai_langchain",
    "traceloop_langchain",
    "haystack",
    "pydantic_ai",
)
ANSWER = "The warranty on the Aurora kettle is 24 months."


@pytest.fixture(scope="module")
def serving(services_folder: Path) -> Iterator[Serving]:
    need("frameworks")
    folder = services_folder / "frameworks"
    config = {
        "sinks": {"jsonl": {"path": str(folder / "scores.jsonl")}},
        "content": {"emit": True},
        "state": {"path": str(folder / "state")},
    }
    with Serving(folder, config) as service:
        yield service


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_instrumented_application_is_scored(name: str, serving: Serving) -> None:
    print(environment.run(name, serving.http))

    def scored() -> list[dict[str, Any]] | None:
        return [line for line in lines(serving.folder / "scores.jsonl") if line["service"] == name] or None

    [line] = wait_until(scored, 20, f"a score of {name}")
    assert line["query"] == "How long is the warranty on the Aurora kettle?"
    [retrieval] = line["retrievals"]
    assert retrieval["ranked"]
    assert [context["text"].split()[0] for context in retrieval["contexts"]] == ["The", "Returns", "The"]
    assert retrieval["contexts"][0]["text"].startswith("The warranty on the Aurora kettle is 24 months and covers")
    assert line["response"] == ANSWER
    assert line["outcome"] == "scored"
    assert line["scores"][0]["value"] == 1
