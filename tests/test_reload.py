"""What a service holds to after it read its configuration again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore import config as configuration
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.service import Service

UNPRICED = {"type": "litellm", "model": "openai/of-our-own"}
PRICED = {**UNPRICED, "prices": {"openai/of-our-own": {"input": 1.0, "output": 2.0}}}


class Reloading:
    """A service that is not running, and its file."""

    def __init__(self, file: Path, config: dict[str, Any]) -> None:
        self._file = file
        self._write(config)
        self.service = Service(configuration.load(file), file=file)

    def _write(self, config: dict[str, Any]) -> None:
        self._file.write_text(yaml.safe_dump({"admin": {"listen": "127.0.0.1:0"}, **config}))

    def reload(self, **config: Any) -> list[str]:
        """Sections that were applied."""
        self._write(config)
        return list(self.service.reload().applied)

    async def budget(self) -> dict[str, float]:
        """The budget as `/metrics` shows it."""
        page = (await self.service.metrics.render())[0].decode()
        lines = (line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("ctxscore_budget"))
        return {name.removeprefix("ctxscore_budget_"): float(value) for name, value in lines}


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Reloading]:
    found = Reloading(tmp_path / "config.yaml", {})
    yield found
    await found.service.database.close()


@pytest.fixture
async def unpriced(tmp_path: Path) -> AsyncIterator[Reloading]:
    found = Reloading(tmp_path / "config.yaml", {"judge": UNPRICED})
    yield found
    await found.service.database.close()


async def test_a_limit_that_a_reload_sets_or_lifts_is_shown_or_gone(plain: Reloading) -> None:
    assert await plain.budget() == {}
    assert plain.reload(budget={"runs_per_minute": 10}) == ["budget"]
    assert await plain.budget() == {'used_ratio{window="minute"}': 0, 'open{window="minute"}': 1}
    plain.reload(budget={"tokens_per_day": 1000})
    assert await plain.budget() == {'used_ratio{window="day"}': 0, 'open{window="day"}': 1}
    assert plain.reload() == ["budget"]
    assert await plain.budget() == {}


async def test_a_raised_limit_mends_the_fuse(plain: Reloading) -> None:
    plain.reload(budget={"tokens_per_day": 100})
    budget = plain.service.budget
    assert budget.reserve(0.0)
    budget.settle({"tokens": 100})
    assert not budget.reserve(0.0)
    assert (await plain.budget())['open{window="day"}'] == 0
    plain.reload(budget={"tokens_per_day": 1000})
    assert await plain.budget() == {'open{window="day"}': 1, 'used_ratio{window="day"}': 0.1}
    assert budget.reserve(1.0)


async def test_a_limit_in_dollars_needs_a_price_of_the_judge_that_runs(unpriced: Reloading) -> None:
    for judge in (UNPRICED, PRICED):
        with pytest.raises(ConfigError, match=r"budget\.usd_per_day: no price is known of openai/of-our-own"):
            unpriced.reload(judge=judge, budget={"usd_per_day": 5})
    assert unpriced.service.config.budget.usd_per_day is None
    assert await unpriced.budget() == {}
