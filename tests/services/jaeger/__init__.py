"""Jaeger v2 with its store in memory, built from a Go module."""

from tests.services.jaeger.server import JAEGER, Jaeger

__all__ = ["JAEGER", "Jaeger"]
