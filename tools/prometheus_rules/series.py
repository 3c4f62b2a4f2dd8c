"""Names of records and the expressions that many rules have in common."""

from __future__ import annotations

from otel_ctxscore.telemetry.catalogue import Metric

WINDOWS = {"5m": "30s", "1h": "1m", "6h": "2m", "1d": "4m"}
"""Windows, and how often each is evaluated: a day's counters hold many samples, and a record that is evaluated less
often than each five minutes would be stale between two evaluations."""

SERIES = ("service", "scorer", "version")
"""Labels that a score's series has once replicas are added up."""


def record(name: str, window: str = "") -> str:
    """The full name of a record."""
    return f"ctxscore:{name}:{window}" if window else f"ctxscore:{name}"


def names(labels: tuple[str, ...]) -> str:
    """Labels as a clause has them."""
    return ", ".join(labels)


def increase(metric: Metric, window: str, by: tuple[str, ...], where: str = "", suffix: str = "") -> str:
    """What a counter gained in a window, over all replicas."""
    selector = f"{metric.full_name}{suffix}" + (f"{{{where}}}" if where else "")
    return f"sum by ({names(by)}) (increase({selector}[{window}]))"


def gauge(metric: Metric, by: tuple[str, ...]) -> str:
    """A gauge that every replica shows with the same value."""
    return f"max by ({names(by)}) ({metric.full_name})"
