"""What every test may use."""

pytest_plugins = ["tests.services.fixtures"]
