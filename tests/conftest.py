"""What every test may use."""

import pytest

pytest_plugins = ["tests.services.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the stored goldens anew instead of comparing")
