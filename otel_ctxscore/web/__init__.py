"""The admin address: the page, metrics and health."""

from otel_ctxscore.web.app import AdminServer
from otel_ctxscore.web.status import Reloaded, Snapshot, SourceStatus, Status, Whereabouts

__all__ = ["AdminServer", "Reloaded", "Snapshot", "SourceStatus", "Status", "Whereabouts"]
