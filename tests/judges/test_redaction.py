import pytest

from otel_ctxscore.judges.llm import LLMJudge, Options
from otel_ctxscore.judges.redaction import redaction
from otel_ctxscore.ports import ConfigError
from tests.judges.completions import ScriptedCompletion, run_of
from tests.virtual_time import run


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


def test_a_pattern_that_tries_without_end_is_given_up_and_nothing_is_sent() -> None:
    model = ScriptedCompletion()
    judge = LLMJudge([model], Options(redact=[r"\d", r"(a|aa)+$"]))
    with pytest.raises(TimeoutError, match=r"^redact\[1\] took too long on a text of 101 characters$"):
        run(judge.judge(run_of("a" * 100 + "!")))
    assert not model.questions


@pytest.mark.parametrize("size", [100, 100_000, 3_000_000])
def test_a_pattern_that_reads_its_text_once_has_the_time_for_it(size: int) -> None:
    secret = "token=" + "x" * 20
    redact = redaction([r"(?i)(?<=token=)\S+", r"\b[\w.+-]+@[\w-]+\.[\w.]+\b"])
    assert redact(secret + " word" * (size // 5)).startswith("token=[redacted] word")


@pytest.mark.parametrize("rule", [r"\p{L}+", r"(?|a|b)", r"(?<=a+)b"])
def test_a_pattern_is_one_of_pythons_own(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"^redact\[0\]: "):
        redaction([rule])
