"""The history of the past's metrics, as the real promtool and Prometheus take it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from otel_ctxscore.io.openmetrics import GAP_SECONDS, STEP_SECONDS, history
from otel_ctxscore.telemetry import Metrics
from tests.services.fixtures import Tool
from tests.services.process import wait_until
from tests.services.prometheus import Prometheus

NOON = 1_760_000_000 // STEP_SECONDS * STEP_SECONDS


def line(when: float, value: float | None, trace: int = 1, **fields: object) -> dict[str, Any]:
    score = {"name": "context_precision", "definition": "ap", "version": "v1", "retrieval": 0, "value": value}
    score |= {"unscored": None if value is not None else "no_contexts", "scale": 1}
    return {
        "trace_id": f"{trace:032x}",
        "span_id": "1" * 16,
        "service": "shop",
        "retrievals": [{"contexts": [{}, {}]}],
        "scores": [score],
        "outcome": "scored" if value is not None else "unscored",
        "reason": None if value is not None else "no_contexts",
        "judge": {"tier": "local", "model": "m"},
        "weight": 2.0,
        "time": datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds"),
        **fields,
    }


def without_run(when: float, trace: int) -> dict[str, Any]:
    return {
        **line(when, None, trace),
        "retrievals": [],
        "scores": [],
        "outcome": "not_rag",
        "reason": None,
        "judge": {},
    }


def text(*lines: dict[str, Any]) -> str:
    out = io.StringIO()
    history(lines, Metrics(["context_precision"])).write(out)
    return out.getvalue()


def samples(page: str, start: str) -> list[tuple[float, float]]:
    """Time since NOON and value of the one series whose line starts so."""
    found = [one.rsplit(" ", 2) for one in page.splitlines() if one.startswith(start)]
    assert len({name for name, _, _ in found}) == 1
    return [(float(when) - NOON, float(value)) for _, value, when in found]


def test_what_happened_is_there_from_the_next_step_on_and_zero_before() -> None:
    page = text(line(NOON + 700, 1.0, 2), line(NOON + 1, 0.25, 1))
    counts = samples(page, "ctxscore_score_count{")
    assert counts[:2] == [(0, 0), (60, 1)]
    assert (660, 1) in counts, "repeated right before it changes, so that the increase is where it belongs"
    assert counts[counts.index((660, 1)) + 1] == (720, 2)
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(counts)]
    assert max(gaps) <= GAP_SECONDS
    assert page.endswith("# EOF\n")


def test_the_estimator_sums_of_the_past_are_by_trace_like_those_of_now() -> None:
    page = text(line(NOON + 700, 1.0, 2), line(NOON + 1, 0.25, 1), line(NOON + 1, 0.75, 1))
    series = [one for one in page.splitlines() if one.startswith("ctxscore_estimator_sum_total{")]
    last = {
        term: float([one for one in series if f'term="{term}"' in one][-1].rsplit(" ", 2)[1])
        for term in ("n", "w", "wy", "wwyy")
    }
    assert last == {"n": 2, "w": 6, "wy": 4, "wwyy": 8}
    assert all('stage="judged"' in one for one in series)


def test_runs_of_a_trace_and_traces_without_one_have_one_outcome_each() -> None:
    page = text(line(NOON, 1.0, 1), line(NOON, None, 1), without_run(NOON + 5, 2), line(NOON + 9, 0.5, 3, time=None))
    last = {outcome: samples(page, f'ctxscore_traces_total{{job="otel-ctxscore-backfill",service="shop",outcome="{outcome}"')[-1][1]
            for outcome in ("scored", "partly_scored", "not_rag")}  # fmt: skip
    assert last == {"scored": 0, "partly_scored": 1, "not_rag": 1}


def test_past_and_present_stand_in_one_prometheus(
    promtool: Tool, service_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    now = time.time()
    began = now - 6 * 3600
    lines = [line(began + n * 30, (n % 5) / 4, n + 1) for n in range(600)] + [without_run(began + 7, 9999)]
    file = tmp_path / "past.txt"
    file.write_text(text(*lines))
    server = Prometheus(service_folder("prometheus"))
    made = promtool("tsdb", "create-blocks-from", "openmetrics", file, server.folder / "data")
    assert made.ok, made.output
    with server:
        when = f" @ {began + 600 * 30 + 120}"

        def value(expression: str) -> float:
            return float(server.query(expression)[0]["value"][1])

        wait_until(lambda: server.query(f"sum(ctxscore_score_count{when})"), 20, "the past")
        assert value(f"sum(ctxscore_score_count{when})") == 600
        assert value(f"sum(ctxscore_score_sum{when}) / sum(ctxscore_score_count{when})") == 0.5
        assert value(f'sum(ctxscore_score_bucket{{le="0.5"}}{when})') == 360
        assert value(f"sum(ctxscore_score_weight_total{when})") == 1200
        assert value(f'ctxscore_traces_total{{outcome="not_rag"}}{when}') == 1
        hour = value(f"sum(increase(ctxscore_score_count[1h] @ {began + 7200}))")
        assert abs(hour - 120) <= 4
        assert server.query(f'ctxscore_evaluator_info{{version="v1",tier="local"}}{when}')
