"""Errors that end a command."""


class ConfigError(ValueError):
    """The configuration, or what it names, does not allow to start. `lines` has one line for each fault."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
