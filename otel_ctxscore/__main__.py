"""The command line: `otel-ctxscore COMMAND`."""

from __future__ import annotations

from otel_ctxscore.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
