"""The dialects that are known, in the order in which their markers are tried."""

from otel_ctxscore.core.conventions.dialects import openinference, otel_genai
from otel_ctxscore.core.conventions.vocabulary import Dialect

CATALOGUE: tuple[Dialect, ...] = (openinference.DIALECT, otel_genai.DIALECT)
