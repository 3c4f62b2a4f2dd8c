"""What every test may use."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure of a property.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# `make test-fast` looks at fewer examples of each property; `make test` at all.
settings.register_profile("fast", settings.get_profile("patient"), max_examples=20)

_NUMBERS = count()

pytest_plugins = ["tests.services.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the stored goldens anew instead of comparing")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are no name of a test: compressed ones hold the time, and workers that begin at different times would not
    agree on what they collected."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test finds what another one left, or what the user has: the XDG state folder is an empty one."""
    # Numbered here: to find the next number, pytest would read the names of all folders.
    folder = tmp_path_factory.mktemp(f"state-{next(_NUMBERS)}", numbered=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder
