"""Anchors: whom to blame, and the steady watch."""

from __future__ import annotations

import json
import random

import pytest

from otel_ctxscore.core.stats import AnchorWatch, blame, kept_score


def noise(seed: int, shift: float, n: int = 100, spread: float = 0.2) -> list[float]:
    """n differences with exactly this mean."""
    dice = random.Random(seed)
    raw = [dice.gauss(0, spread) for _ in range(n)]
    return [max(-1.0, min(1.0, d - sum(raw) / n + shift)) for d in raw]


class TestBlame:
    @pytest.mark.parametrize(
        ("change", "shift", "culprit"),
        [
            (-0.2, 0.0, "system"),
            (-0.2, -0.2, "judge"),
            (-0.2, -0.1, "both"),
            (-0.02, 0.0, "open"),
            (0.0, -0.15, "both"),
            (-0.1, 0.01, "system"),
            (0.2, 0.2, "judge"),
        ],
    )
    def test_culprit(self, change: float, shift: float, culprit: str) -> None:
        assert blame(change, 0.02, noise(1, shift)).culprit == culprit

    def test_parts_add_up(self) -> None:
        found = blame(-0.2, 0.03, noise(2, -0.1))
        assert found.judge == pytest.approx(-0.1)
        assert found.system == pytest.approx(-0.1)
        assert found.system_error == pytest.approx((0.03**2 + found.judge_error**2) ** 0.5)

    def test_differences_without_spread_have_the_least_one(self) -> None:
        assert blame(-0.2, 0.02, [0.0] * 100).judge_error == pytest.approx(0.05 / 10)

    def test_both_needs_more_than_one_part_alone(self) -> None:
        """A judge part of 2.1 standard errors beside a clear system part is what chance does; alone it is the judge."""
        differences = noise(3, 0.042, spread=0.2)
        error = blame(0.0, 0.01, differences).judge_error
        differences = [d - 0.042 + 2.1 * error for d in differences]
        assert blame(-0.3, 0.01, differences).culprit == "system"
        assert blame(2.1 * error, 0.01, differences).culprit == "judge"

    @pytest.mark.parametrize("differences", [[], [0.1]])
    def test_too_few(self, differences: list[float]) -> None:
        assert blame(-0.5, 0.01, differences).culprit == "open"

    def test_kept_score(self) -> None:
        assert kept_score([0.2, 0.4, 0.9]) == pytest.approx(0.5)
        with pytest.raises(ValueError, match="3 times"):
            kept_score([0.2, 0.4])


class TestWatch:
    def fed(self, shift: float, ticks: int, watch: AnchorWatch | None = None) -> AnchorWatch:
        dice, watch = random.Random(5), watch or AnchorWatch()
        for tick in range(ticks):
            watch = watch.after(tick, [max(-1.0, min(1.0, dice.gauss(shift, 0.2))) for _ in range(2)])
        return watch

    def test_quiet_judge(self) -> None:
        assert self.fed(0.0, 500).ratio < 0.5

    def test_judge_that_fell(self) -> None:
        watch = self.fed(-0.2, 150)
        assert watch.fell.raised is not None
        assert watch.rose.raised is None
        assert watch.ratio >= 1

    def test_judge_that_rose(self) -> None:
        watch = self.fed(0.2, 150)
        assert watch.rose.raised is not None
        assert watch.fell.raised is None

    def test_state_survives(self) -> None:
        watch = self.fed(-0.1, 20)
        assert AnchorWatch.restored(json.loads(json.dumps(watch.as_dict()))) == watch
        with pytest.raises(ValueError, match="not the state"):
            AnchorWatch.restored({"fell": 1})

    def test_difference_out_of_range(self) -> None:
        with pytest.raises(ValueError, match="not a score"):
            AnchorWatch().after(0, [1.5])
