"""What survives a restart: one SQLite file. Scores and offsets depend on nothing in it."""

from otel_ctxscore.core.errors import StateError
from otel_ctxscore.io.state.database import Database, opened
from otel_ctxscore.io.state.history import History
from otel_ctxscore.io.state.kept import Kept
from otel_ctxscore.io.state.verdicts import StoredVerdicts

__all__ = ["Database", "History", "Kept", "StateError", "StoredVerdicts", "opened"]
