"""The configuration: one typed model, from which schema, reference and checks come."""

from otel_ctxscore.config.load import load, parse
from otel_ctxscore.config.masking import environment_secrets, masked, secret, secrets
from otel_ctxscore.config.model import Config
from otel_ctxscore.config.reference import reference, schema
from otel_ctxscore.config.values import revealed

__all__ = [
    "Config",
    "environment_secrets",
    "load",
    "masked",
    "parse",
    "reference",
    "revealed",
    "schema",
    "secret",
    "secrets",
]
