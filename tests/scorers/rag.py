"""Runs and judgements for tests, and strategies that draw them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from otel_ctxscore.core.model import LEVELS, Context, JudgedBy, Judgement, RagRun, Retrieval, Verdict

CANARY = "canary-in-content"
"""Stands in all content of drawn runs and judgements, and nowhere else."""

LOCAL = JudgedBy("local", "lexical", "v1", calls=1, cost_usd=0.0)

flags = st.lists(st.booleans(), min_size=1, max_size=12)
scales = st.floats(0.001, 1000)
chances = st.booleans() | st.floats(0, 1)
verdicts = st.builds(
    Verdict, useful=chances, relevance=st.sampled_from(LEVELS), used=chances, note=st.just(f"because {CANARY}")
)


def judgement(useful: Sequence[bool | float]) -> Judgement:
    """A judgement that fills everything, with these usefulnesses."""
    return Judgement([Verdict(u, "high", True, "a note") for u in useful], missing=(), judged_by=LOCAL)


def listed(*texts: str, **fields: object) -> Retrieval:
    """A retrieval of these texts."""
    return Retrieval([Context(text) for text in texts], **fields)  # type: ignore[arg-type]


def run_of(*lists: Sequence[str], response: str | None = "It is 7443.", **fields: object) -> RagRun:
    """A run with a retrieval a list; contexts have their text and its first word as id."""
    retrievals = [Retrieval([Context(text, id=text.split()[0]) for text in texts]) for texts in lists]
    return RagRun("Which port?", retrievals, response, **fields)  # type: ignore[arg-type]


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[RagRun, Judgement]:
    """A run of one list of up to 30 distinct contexts with a judgement of them, full of canaries."""
    drawn = draw(st.lists(verdicts, min_size=1, max_size=30))
    contexts = [
        Context(f"{CANARY} number {i}", id=draw(st.sampled_from([None, f"doc-{i}"]))) for i in range(len(drawn))
    ]
    missing = [f"{CANARY} piece {i}" for i in range(draw(st.integers(0, 5)))]
    return RagRun(CANARY, [Retrieval(contexts)], CANARY), Judgement(drawn, missing, LOCAL)
