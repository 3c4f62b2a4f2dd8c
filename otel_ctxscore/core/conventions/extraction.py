"""From a trace to the runs in it: query, ranked contexts and response of each user turn."""

from __future__ import annotations

from collections.abc import Sequence

from otel_ctxscore.core.conventions.contexts import Sorted, candidates_in, settled
from otel_ctxscore.core.conventions.fallbacks import parted, stand_ins
from otel_ctxscore.core.conventions.mapping import Mapping
from otel_ctxscore.core.conventions.parts import parts_of
from otel_ctxscore.core.conventions.reading import Seen, seen_in
from otel_ctxscore.core.conventions.report import considered_in, hint_for, reads_of
from otel_ctxscore.core.conventions.result import Extraction, Options, Plugin
from otel_ctxscore.core.conventions.runs import Found, run_of, service_of
from otel_ctxscore.core.conventions.turns import Turn, turns_in
from otel_ctxscore.core.model import RagRun
from otel_ctxscore.core.outcomes import Reason, TraceOutcome, first_reason
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Trace

DEFAULTS = Options()


def extract(trace: Trace, options: Options = DEFAULTS, *, plugins: Sequence[Plugin] = ()) -> Extraction:
    """The runs of a trace. Mappings that apply are read first, else plug-ins are asked, else the dialects read.

    Raises nothing on any trace. A plug-in that raises is `extractor_error`, and so is a pattern of a mapping that takes
    too long over a text.
    """
    try:
        mappings = tuple(mapping for mapping in options.mappings if mapping.applies(trace))
        if not mappings and (found := _asked(plugins, trace, options)) is not None:
            return found
        return _read(trace, options, mappings)
    except TimeoutError as slow:
        hint = f"extraction.mappings: the pattern {slow}"
        return Extraction(outcome=TraceOutcome.UNSCORED, reason=Reason.EXTRACTOR_ERROR, hint=hint)


def _asked(plugins: Sequence[Plugin], trace: Trace, options: Options) -> Extraction | None:
    """What the first plug-in says that knows the trace."""
    for plugin in plugins:
        try:
            found = plugin(trace, options)
        except Exception as error:
            hint = f"the plug-in convention {_name(plugin)} failed: {type(error).__name__}: {error}"
            return Extraction(outcome=TraceOutcome.UNSCORED, reason=Reason.EXTRACTOR_ERROR, hint=hint)
        if found is not None:
            return found
    return None


def _name(plugin: Plugin) -> str:
    return str(getattr(plugin, "__qualname__", None) or type(plugin).__qualname__)


def _read(trace: Trace, options: Options, mappings: Sequence[Mapping]) -> Extraction:
    seen = seen_in(trace, [mapping.dialect() for mapping in mappings])
    turns = [_found(turn, seen, options) for turn in turns_in(seen, options.retrieval_tools)]
    found = [turn for turn in turns if turn.sorted.kept or (options.own_contexts and turn.parts.query)]
    runs = tuple(run_of(one, seen, options, trace.trace_id, redelivered=trace.redelivered) for one in found)
    outcome, reason = verdict(runs, evaluated=seen.evaluated)
    return Extraction(
        convention=runs[0].convention if runs else None,
        runs=runs,
        considered=considered_in(turns, seen, options, mappings),
        outcome=outcome,
        reason=reason,
        hint=hint_for(runs, found, seen),
        reads=reads_of(found, seen),
        service=_service(trace, runs),
    )


def _service(trace: Trace, runs: Sequence[RagRun]) -> str:
    """The service of the first run, else that of the root or, without one, of the first span."""
    if runs:
        return runs[0].service
    first = next((span for span in trace.spans if not span.parent_span_id), trace.spans[0] if trace.spans else None)
    return service_of(first.resource.attributes) if first is not None else UNKNOWN_SERVICE


def _found(turn: Turn, seen: Seen, options: Options) -> Found:
    candidates = candidates_in(turn, seen, options.retrieval_tools)
    kept = settled(candidates, seen.tree)
    elsewhere = stand_ins(turn, seen, kept.kept, options.retrieval_tools, options.prompt_separator)
    counted = elsewhere or parted(kept.kept, candidates, options.prompt_separator)
    chosen = Sorted(counted, kept.rejected)
    return Found(turn, chosen, parts_of(turn, seen, chosen.kept), candidates)


def verdict(runs: Sequence[RagRun], *, evaluated: bool = False) -> tuple[TraceOutcome | None, Reason | None]:
    """Outcome and reason of a trace whose runs no scorer can judge; (None, None) where one can."""
    if not runs:
        return (TraceOutcome.OWN_EVALUATION if evaluated else TraceOutcome.NOT_RAG), None
    refused = [run.refused for run in runs]
    if None in refused:
        return None, None
    return TraceOutcome.UNSCORED, first_reason(reason for reason in refused if reason is not None)
