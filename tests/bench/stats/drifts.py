"""Drift: false alerts, and what is found."""

from __future__ import annotations

import itertools

import numpy as np

from otel_ctxscore.core.stats import CELLS, Baseline, cell, compare
from otel_ctxscore.core.stats.drift import Drift
from tests.bench.stats.goal import Row
from tests.bench.stats.population import Population


def _windows(
    rng: np.random.Generator, population: Population, n: int, reps: int, reference: int, old: Population, *, tail: bool
) -> list[Drift]:
    """Windows of n kept runs, each against a baseline of its own; `tail`: low scores kept, one in five of the rest."""
    scores, shares = population.distribution
    kept = np.where(scores < 0.5, 1.0, 0.2) if tail else np.ones(len(scores))
    got = kept * shares / float(kept @ shares)
    into = np.eye(len(CELLS))[[cell(score) for score in scores.tolist()]]
    found = []
    for _ in range(reps):
        pinned = rng.multinomial(reference, old.distribution[1]) @ into
        counts = rng.multinomial(n, got)
        n_eff = float((counts @ (1 / kept)) ** 2 / (counts @ (1 / kept**2)))
        found.append(compare(Baseline.pin(pinned.tolist(), reference), ((counts / kept) @ into).tolist(), n_eff))
    return found


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng = np.random.default_rng(seed)
    reps = 1500 if quick else 10_000
    same = Population(0.68)
    result = []
    for n, tail in itertools.product((50, 200, 1000), (False, True)):
        rates, one = [], []
        for reference, mean in itertools.product((500, 5000), (0.68, 0.89)):
            old = Population(mean)
            found = _windows(rng, old, n, reps, reference, old, tail=tail)
            rates.append(sum(drift.moved for drift in found) / reps)
            psi = [(drift.psi, drift.psi_floors[0]) for drift in found if drift.psi is not None and drift.psi_floors]
            one.append(sum(value > floor for value, floor in psi) / max(len(psi), 1))
        silent = "" if any(drift.enough for drift in found) else "; silent, not enough runs"
        result.append(
            Row(
                f"drift alert without drift, n = {n}, {'weights 1:5' if tail else 'equal weights'}, worst of 4",
                "<= .3 %",
                f"{max(rates):.2%} (beyond the 1 % point alone: {max(one):.1%}){silent}",
                max(rates) <= 0.003,
            )
        )
    for n, mean in ((200, 0.60), (200, 0.50), (1000, 0.60)):
        found = _windows(rng, Population(mean), n, reps // 5, 5000, same, tail=False)
        power = sum(
            drift.g is not None and drift.psi_floors is not None and (drift.psi or 0) > drift.psi_floors[0]
            for drift in found
        )
        alerts = sum(drift.moved for drift in found)
        total = len(found)
        shown = f"beyond the 1 % point {power / total:.2f}, alert {alerts / total:.2f}"
        result.append(Row(f"drift of the mean from .68 to {mean}, n = {n}", "shown", shown))
    return result
