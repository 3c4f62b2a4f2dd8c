"""From traces to runs: query, ranked contexts and response, in every way that instrumentations write them."""

from otel_ctxscore.core.conventions.extraction import extract, verdict
from otel_ctxscore.core.conventions.mapping import Mapping
from otel_ctxscore.core.conventions.page import page
from otel_ctxscore.core.conventions.result import Considered, Extraction, Options, Plugin, SpanRead

__all__ = ["Considered", "Extraction", "Mapping", "Options", "Plugin", "SpanRead", "extract", "page", "verdict"]
