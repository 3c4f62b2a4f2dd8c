"""OpenTelemetry Collector, built from Go modules with the components listed in main.go."""

from tests.services.otelcol.collector import COLLECTOR, Collector, validate

__all__ = ["COLLECTOR", "Collector", "validate"]
