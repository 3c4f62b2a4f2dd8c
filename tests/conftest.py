"""What every test may use."""

from pathlib import Path

import pytest
from hypothesis import settings

# `make test-fast` looks at fewer examples of each property; `make test` at all.
settings.register_profile("fast", max_examples=20)

pytest_plugins = ["tests.services.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the stored goldens anew instead of comparing")


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test finds what another one left, or what the user has: the XDG state folder is an empty one."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder
