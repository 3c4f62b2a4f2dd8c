"""Platt scaling: what a judge's probabilities are worth on a user's own traces."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from otel_ctxscore.core.errors import ConfigError, in_words

_EDGE = 1e-6
_TURNS = 100


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling fitted on a user's own labels: p becomes the logistic of `a * logit(p) + b`. Order is kept, for
    `a` is above 0."""

    a: float = 1.0
    b: float = 0.0

    @classmethod
    def read(cls, path: str | Path) -> Calibration:
        """From a JSON file `{"a": ..., "b": ...}` as `calibrate` writes it. Raises ConfigError."""
        try:
            found = json.loads(Path(path).read_text())
            a, b = float(found["a"]), float(found["b"])
        except OSError as error:
            raise ConfigError(f"judge.calibration: {path} cannot be read: {in_words(error)}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f'judge.calibration: {path} is no calibration {{"a": ..., "b": ...}} as `calibrate --write` makes it'
            ) from error
        if not (math.isfinite(a) and math.isfinite(b) and a > 0):
            raise ConfigError(f"judge.calibration: {path}: a must be above 0, and a and b finite")
        return cls(a, b)

    def __call__(self, p: float) -> float:
        return p if self == Calibration() else logistic(self.a * logit(p) + self.b)

    def after(self, first: Calibration) -> Calibration:
        """The one calibration that does what `first` and then this one do."""
        return Calibration(self.a * first.a, self.a * first.b + self.b)


def logit(p: float) -> float:
    """Log odds; probabilities of 0 and 1 are taken as a millionth away from them."""
    p = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(p / (1 - p))


def logistic(z: float) -> float:
    """The probability of log odds."""
    return 1 / (1 + math.exp(-max(-700.0, z)))


def fitted(pairs: Sequence[tuple[float, bool]]) -> Calibration | None:
    """The calibration of greatest likelihood on (probability, label by a person), None where the order of the
    probabilities says nothing of the labels (a slope of 0 or less) or there is a single class.

    Platt's regularised targets (Platt 1999), in place of 0 and 1, keep it finite where the classes do not overlap;
    Newton's method with halved steps.
    """
    positives = sum(label for _, label in pairs)
    negatives = len(pairs) - positives
    if not positives or not negatives:
        return None
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    points = [(logit(p), high if label else low) for p, label in pairs]
    a, b = _newton(points)
    return Calibration(a, b) if a > 0 else None


def _newton(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    a, b = 1.0, 0.0
    loss = _loss(points, a, b)
    for _ in range(_TURNS):
        step_a, step_b = _step(points, a, b)
        size = 1.0
        while size > 1e-10 and (reached := _loss(points, a - size * step_a, b - size * step_b)) > loss:
            size /= 2
        if size <= 1e-10:
            break
        a, b = a - size * step_a, b - size * step_b
        if loss - reached < 1e-12 * max(1.0, loss):
            break
        loss = reached
    return a, b


def _loss(points: Sequence[tuple[float, float]], a: float, b: float) -> float:
    """Cross-entropy: log(1 + e^z) - t z, without overflow."""
    scored = ((a * x + b, t) for x, t in points)
    return math.fsum(max(z, 0.0) + math.log1p(math.exp(-abs(z))) - t * z for z, t in scored)


def _step(points: Sequence[tuple[float, float]], a: float, b: float) -> tuple[float, float]:
    """The Newton step: the gradient divided by the Hessian, kept invertible by a little ridge."""
    values = [(x, logistic(a * x + b), t) for x, t in points]
    ga = math.fsum((p - t) * x for x, p, t in values)
    gb = math.fsum(p - t for _, p, t in values)
    haa = math.fsum(p * (1 - p) * x * x for x, p, _ in values) + 1e-9
    hab = math.fsum(p * (1 - p) * x for x, p, _ in values)
    hbb = math.fsum(p * (1 - p) for _, p, _ in values) + 1e-9
    determinant = haa * hbb - hab * hab
    return (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
