"""What the service tells of itself: the metric catalogue, its counters and the structured log."""

from otel_ctxscore.telemetry.log import configure_logging
from otel_ctxscore.telemetry.metrics import Evaluator, Intake, Metrics

__all__ = ["Evaluator", "Intake", "Metrics", "configure_logging"]
