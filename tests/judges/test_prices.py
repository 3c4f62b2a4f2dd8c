import pytest

from otel_ctxscore.judges.prices import Price, price


def test_ones_own_price_stands_over_the_shipped_one() -> None:
    own = {"openai/gpt-4.1-mini": Price(1, 2), "openai/my-own-7b": Price(0.1, 0.2)}
    assert price("openai/gpt-4.1-mini", own) == Price(1, 2)
    assert price("openai/my-own-7b", own) == Price(0.1, 0.2)


@pytest.mark.parametrize("name", ["openai/gpt-4.1-mini", "gpt-4.1-mini"])
def test_common_models_have_a_price(name: str) -> None:
    found = price(name, {})
    assert found is not None
    assert 0 < found.input < found.output


@pytest.mark.parametrize("name", ["openai/my-own-7b", "ollama/gpt-4.1-mini", "nonsense"])
def test_an_unknown_price_is_none(name: str) -> None:
    assert price(name, {}) is None


@pytest.mark.parametrize(
    ("cached", "cost"), [(0, 2 + 1), (400_000, 1.2 + 0.2 + 1), (9_000_000, 0.5 + 1), (-400_000, 2 + 1)]
)
def test_cached_tokens_have_their_own_price_and_are_part_of_the_prompt(cached: int, cost: float) -> None:
    assert Price(2, 10, 0.5).of(1_000_000, 100_000, cached) == pytest.approx(cost)
    assert Price(2, 10).of(1_000_000, 100_000, cached) == pytest.approx(2 + 1)
