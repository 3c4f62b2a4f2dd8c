"""The admin address: the page, metrics and health."""

from otel_ctxscore.web.app import AdminServer
from otel_ctxscore.web.status import Snapshot, SourceStatus, Status

__all__ = ["AdminServer", "Snapshot", "SourceStatus", "Status"]
