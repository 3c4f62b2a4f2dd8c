"""Benchmarks: what the project promises, measured. Not part of the test run."""
