"""Estimates as the API gives them."""

from __future__ import annotations

from typing import Any

from otel_ctxscore.core.hours import Window
from otel_ctxscore.core.stats import Difference, Estimate
from otel_ctxscore.monitoring.findings import Compared
from otel_ctxscore.web.rendering import rfc3339


def estimate_of(found: Estimate, n: int | None = None) -> dict[str, Any]:
    """A mean with its 95 % interval, null where there is none; `n` are the traces behind it."""
    shown = {
        "mean": found.mean,
        "lower": found.lower,
        "upper": found.upper,
        "n_eff": found.n_eff,
        "low_n": found.low_n,
    }
    return shown if n is None else {**shown, "n": n}


def difference_of(found: Difference | None) -> dict[str, Any] | None:
    """A difference with its 95 % interval, and whether that leaves 0 out."""
    if found is None:
        return None
    return {"value": found.value, "lower": found.lower, "upper": found.upper, "beyond_noise": found.told}


def compared_of(found: Compared) -> dict[str, Any]:
    """A mean before, after, and the difference."""
    return {
        "before": estimate_of(found.before, found.n_before),
        "after": estimate_of(found.after, found.n_after),
        "difference": difference_of(found.difference),
    }


def window_of(window: Window) -> dict[str, Any]:
    """From when to when."""
    return {"since": rfc3339(window.since), "until": rfc3339(window.until)}
