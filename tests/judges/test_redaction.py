import pytest

from otel_ctxscore.judges.redaction import redaction
from otel_ctxscore.ports import ConfigError


def shout(text: str) -> str:
    return text.upper()


def test_rules_are_applied_in_their_order() -> None:
    redact = redaction([r"\d{4}", f"{__name__}:shout", r"@\S+"])
    assert redact("pin 1234 of me@example.org") == "PIN [REDACTED] OF ME[redacted]"


def test_without_rules_nothing_changes() -> None:
    assert redaction([])("as it is") == "as it is"


@pytest.mark.parametrize("rule", ["(", "no_such_module:f", f"{__name__}:missing", f"{__name__}:__name__"])
def test_a_rule_that_cannot_work_is_told_at_the_start(rule: str) -> None:
    with pytest.raises(ConfigError, match="redact"):
        redaction([rule])
