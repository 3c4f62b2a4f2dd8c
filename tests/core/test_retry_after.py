import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.retry_after import retry_after

NOON = 1_792_584_000.0  # Wed, 21 Oct 2026 12:00:00 GMT


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("0", 0),
        ("1.5", 1.5),
        ("86400", 86400),
        ("Wed, 21 Oct 2026 12:00:30 GMT", 30),
        ("Wed, 21 Oct 2026 14:00:30 +0200", 30),
        ("Wed, 21 Oct 2026 12:00:30", 30),
        ("Wed, 21 Oct 2026 11:00:00 GMT", 0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("99 Foo 99999999 99:99:99 GMT", None),
        (None, None),
    ],
)
def test_both_forms_are_read_and_nothing_else(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOON) == seconds


@given(st.text(), st.floats(0, 4e9))
def test_no_header_raises_or_goes_back_in_time(header: str, now: float) -> None:
    seconds = retry_after(header, now)
    assert seconds is None or seconds >= 0
