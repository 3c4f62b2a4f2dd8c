"""What is made of the evaluations over time: estimator sums, alarms, baselines, anchors, and what is said of them."""

from otel_ctxscore.monitoring.alarms import AlarmStatus
from otel_ctxscore.monitoring.findings import Circumstances
from otel_ctxscore.monitoring.monitor import Monitor
from otel_ctxscore.monitoring.past import Past
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rules import Pace
from otel_ctxscore.monitoring.series import Series

__all__ = ["AlarmRecord", "AlarmStatus", "Circumstances", "Monitor", "Pace", "Past", "Series"]
