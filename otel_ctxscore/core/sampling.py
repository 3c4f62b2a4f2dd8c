"""Which traces are judged, and with what probability.

One number u(trace id), uniform in [0, 1) and salted, decides on every replica, on retry and on replay alike. Before
decoding a trace is kept if u is below the highest rate of any rule; after assembly a run is admitted if the same u
is below the rate of its own rule. So the sets nest, and the inclusion probability of a run is exactly that rate.
The bare id is not used: upstream samplers choose by it, and choosing by it again would keep all or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from xxhash import xxh3_64_intdigest

from otel_ctxscore.core.model import RagRun
from otel_ctxscore.core.spans import Attributes, Value

_SPACE = 2**64
_THRESHOLD_DIGITS = 14  # `th` has up to 14 hex digits: 56 bits
_NEGATIVE = frozenset({"negative", "thumbs_down", "thumbsdown", "down", "bad", "dislike", "-1"})


def uniform(trace_id: bytes, seed: int) -> float:
    """A number in [0, 1) that depends on the trace id and the seed only. Other seeds give independent numbers."""
    return float(xxh3_64_intdigest(trace_id, seed) / _SPACE)


def seed_of(salt: str, purpose: str = "sampling") -> int:
    """The seed for a salt. Each purpose has numbers of its own."""
    return xxh3_64_intdigest(f"{purpose}\0{salt}".encode())


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions on a run; all that are given must hold. `min_duration` is in seconds."""

    service: str | None = None
    route: str | None = None
    attributes: Attributes = field(default_factory=dict)
    status: Literal["error", "ok"] | None = None
    min_duration: float | None = None
    feedback: Literal["negative"] | None = None

    def holds(self, run: RagRun) -> bool:
        return (
            (self.service is None or run.service == self.service)
            and (self.route is None or run.attributes.get("http.route") == self.route)
            and all(_same(run.attributes.get(key), wanted) for key, wanted in self.attributes.items())
            and (self.status is None or run.error == (self.status == "error"))
            and (self.min_duration is None or run.end_ns - run.start_ns >= self.min_duration * 1e9)
            and (self.feedback is None or negative_feedback(run.attributes))
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A share of the runs that match."""

    name: str
    match: Match
    rate: float


class Sampler:
    """The two decisions, before decoding and after assembly. `rules`: the first that matches a run has its rate."""

    def __init__(self, rate: float = 1.0, rules: Sequence[Rule] = (), salt: str = "") -> None:
        self.rate = rate
        self.rules = tuple(rules)
        self._seed = seed_of(salt)
        self.head = max([rate, *(rule.rate for rule in rules)])
        self._below = int(self.head * _SPACE)

    def keeps(self, trace_id: bytes) -> bool:
        """Whether any run of this trace could be admitted."""
        return xxh3_64_intdigest(trace_id, self._seed) < self._below

    def probability(self, run: RagRun) -> float:
        """The rate of the first rule that matches the run."""
        return next((rule.rate for rule in self.rules if rule.match.holds(run)), self.rate)

    def admits(self, trace_id: bytes, rate: float) -> bool:
        """Whether a run of this trace with this rate is judged."""
        return xxh3_64_intdigest(trace_id, self._seed) < int(rate * _SPACE)

    def admitted(self, run: RagRun, trace_id: bytes) -> RagRun | None:
        """The run with its inclusion probability, upstream thinning included; None where it is left out."""
        rate = self.probability(run)
        if not self.admits(trace_id, rate):
            return None
        return replace(run, probability=rate * upstream_probability(run.trace_state))


def upstream_probability(trace_state: str) -> float:
    """The probability with which an upstream sampler kept a trace: 1 - T / 2^56 of `ot=th:T` in `tracestate`, 1
    where none is stated or it is malformed (OpenTelemetry: probability sampling, rejection threshold)."""
    for member in trace_state.split(","):
        vendor, _, pairs = member.strip().partition("=")
        if vendor != "ot":
            continue
        for pair in pairs.split(";"):
            key, _, threshold = pair.partition(":")
            if key == "th":
                return _kept_share(threshold)
    return 1.0


def _kept_share(threshold: str) -> float:
    digits = threshold.strip()
    if not 1 <= len(digits) <= _THRESHOLD_DIGITS or not all(d in "0123456789abcdefABCDEF" for d in digits):
        return 1.0
    rejected: int = int(digits.ljust(_THRESHOLD_DIGITS, "0"), 16)
    return 1 - rejected / (1 << 4 * _THRESHOLD_DIGITS)


def negative_feedback(attributes: Attributes) -> bool:
    """Whether an attribute whose name has `feedback` in it says no: a negative word, a negative number, false."""
    return any("feedback" in key.lower() and _negative(value) for key, value in attributes.items())


def _negative(value: Value) -> bool:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value < 0
    return isinstance(value, str) and value.strip().lower() in _NEGATIVE


def _same(value: Value, wanted: Value) -> bool:
    return value == wanted or (value is not None and str(value) == str(wanted))
