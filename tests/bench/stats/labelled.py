"""Human labels: coverage of the corrected share, also after a shift, and of the corrected average precision."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from otel_ctxscore.core.stats import LabelledQuery, Sums, corrected_precision, corrected_share, judge_rates
from tests.bench.stats.blames import PLACES
from tests.bench.stats.goal import Row
from tests.bench.stats.population import CONTEXTS, PATTERNS, SCORES, Population

Patterns = npt.NDArray[np.int64]

SENSITIVITY, SPECIFICITY = 0.90, 0.80
WINDOW = 1000


def verdicts(rng: np.random.Generator, truth: Patterns, errors: str) -> Patterns:
    """The judge's verdicts: errors independent, alike within a query, or alike and more frequent at lower ranks."""
    wrong = np.where(truth == 1, 1 - SENSITIVITY, 1 - SPECIFICITY)
    if errors != "independent":
        wrong = np.minimum(wrong * rng.gamma(0.8, 1 / 0.8, size=(len(truth), 1)), 1.0)
    if errors == "by rank":
        wrong = np.minimum(wrong * np.linspace(0.5, 1.5, CONTEXTS), 1.0)
    flipped: Patterns = np.where(rng.random(truth.shape) < wrong, 1 - truth, truth)
    return flipped


def shares(rng: np.random.Generator, reps: int, labelled: int, errors: str, mean: float) -> tuple[float, float]:
    """(coverage, bias) of the corrected share in traffic of the given mean; labels come from a mean of .68."""
    useful = float(Population(mean).shares @ PATTERNS.mean(axis=1))
    covered, found = 0, []
    for _ in range(reps):
        truth = Population(0.68).patterns(rng, labelled)
        said = verdicts(rng, truth, errors)
        queries = [
            LabelledQuery.of([(bool(a), bool(b)) for a, b in zip(*row, strict=True)])
            for row in zip(truth.tolist(), said.tolist(), strict=True)
        ]
        rates = judge_rates(queries)
        window = verdicts(rng, Population(mean).patterns(rng, WINDOW), errors).mean(axis=1)
        share = corrected_share(float(window.mean()), float(window.var()) / WINDOW, rates) if rates else None
        if share is not None:
            covered += share.lower <= useful <= share.upper
            found.append(share.value - useful)
    return covered / len(found), float(np.mean(found))


def precision(rng: np.random.Generator, reps: int, labelled: int, errors: str) -> tuple[float, float]:
    """(coverage, bias) of the corrected average precision, labels drawn from the window itself."""
    covered, off = 0, []
    for _ in range(reps):
        truth = Population(0.68).patterns(rng, WINDOW)
        y, f = SCORES[truth @ PLACES], SCORES[verdicts(rng, truth, errors) @ PLACES]
        w = WINDOW / labelled
        window = Sums(WINDOW, WINDOW, 0, WINDOW, 0, 0, f.sum(), f.sum(), (f * f).sum(), 0)
        a, b = y[:labelled], f[:labelled]
        ww = w * w
        near = Sums(
            labelled, labelled * w, w * b.sum(), labelled * ww, ww * b.sum(), ww * (b * b).sum(),
            w * a.sum(), ww * a.sum(), ww * (a * a).sum(), ww * (a * b).sum(),
        )  # fmt: skip
        found = corrected_precision(window, near)
        assert found is not None
        assert found.mean is not None
        assert found.lower is not None
        assert found.upper is not None
        covered += found.lower <= 0.68 <= found.upper
        off.append(found.mean - 0.68)
    return covered / reps, float(np.mean(off))


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng = np.random.default_rng(seed)
    reps, result = 400 if quick else 3000, []
    slack = 2 * math.sqrt(0.95 * 0.05 / reps)
    for errors in ("independent", "alike", "by rank"):
        for labelled, mean in ((50, 0.68), (50, 0.50), (100, 0.50)):
            coverage, bias = shares(rng, reps, labelled, errors, mean)
            shift = "" if mean == 0.68 else f", traffic shifted to {mean}"
            result.append(
                Row(
                    f"corrected share, {labelled} labelled queries, errors {errors}{shift}",
                    "coverage .925-.97",
                    f"{coverage:.3f}, bias {bias:+.4f}",
                    0.925 - slack <= coverage <= 0.97 + slack,
                )
            )
        coverage, bias = precision(rng, reps, 100, errors)
        result.append(
            Row(
                f"corrected average precision, 100 labels of the window, errors {errors}",
                "coverage .925-.97",
                f"{coverage:.3f}, bias {bias:+.4f}",
                0.925 - slack <= coverage <= 0.97 + slack,
            )
        )
    return result
