from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.receipts import Outcome, Receipt


@given(st.lists(st.sampled_from(Outcome), max_size=8))
def test_source_hears_the_worst_outcome_once_and_only_when_no_hold_is_left(outcomes: list[Outcome]) -> None:
    heard: list[Outcome] = []
    receipt = Receipt(heard.append)
    for _ in outcomes:
        receipt.hold()
    receipt.settle()
    for outcome in outcomes:
        assert not heard
        receipt.settle(outcome)
    assert heard == [max(outcomes, default=Outcome.DONE)]
    assert not receipt.open


def test_a_settled_receipt_takes_no_hold_and_no_second_settling() -> None:
    receipt = Receipt()
    receipt.settle()
    with pytest.raises(RuntimeError):
        receipt.hold()
    with pytest.raises(RuntimeError):
        receipt.settle()
