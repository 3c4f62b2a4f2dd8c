"""Tests of the Prometheus rules."""
