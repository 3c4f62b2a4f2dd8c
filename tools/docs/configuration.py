"""`docs/configuration.md`: the commented reference of the configuration, a heading a section, with where to read on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from otel_ctxscore.config import reference

_HEAD = """\
# Configuration

Made from the program by `make generate`; `otel-ctxscore reference` prints the same as [one file](configuration.yaml),
and there is a [JSON schema](configuration.schema.json) for editors. A file needs only what differs from these defaults.
Optional sections stand commented out, under the `null` that switches them off. `otel-ctxscore check FILE` says what is
wrong with a file, and with `--rate` what it would cost.

Durations are written `500ms`, `10s`, `2m`, `1h`, `30d`, sizes `64MiB`. `${env:NAME}` stands for an environment variable
and `${file:PATH}` for the content of a file: keep keys and passwords there. `targets`, `sampling` and `budget` are read
again on SIGHUP; all else needs a restart.
"""

MORE = {
    "sources": "[Kafka](kafka.md), [limits of what is received](threat-model.md#limits)",
    "sampling": "[what sampling does to the numbers](numbers.md#the-mean-and-its-band), [cost](operating.md#cost)",
    "budget": "[cost](operating.md#cost), [replicas](operating.md#replicas)",
    "assembly": "[limits](threat-model.md#limits), [how many replicas](operating.md#how-many)",
    "extraction": "[conventions](conventions.md), [mappings](mapping.md), [an extractor](extractor.md)",
    "judge": "[choosing](choosing.md#judge), [a judge of your own](plugins.md), [outages](operating.md#outages)",
    "scorers": "[choosing](choosing.md#scorer), [rubrics](rubrics.md)",
    "targets": "[alerts on targets](runbook.md#ctxscorebelowtarget)",
    "alarm": "[the alarm](alarms.md#the-alarm)",
    "segments": "[where it is worse](numbers.md#better-or-worse-by-how-much-and-since-when)",
    "metrics": "[metrics](metrics.md), [label values that are too many](runbook.md#ctxscorelabelcap)",
    "sinks": "[what is emitted](emission.md), [a sink of your own](sinks.md), [in a Collector](collector.md)",
    "state": "[state](operating.md#state)",
    "content": "[text that leaves](emission.md#text), [text that is kept](http.md#what-is-kept-and-for-how-long)",
    "admin": "[page and API](http.md), [who may see them](threat-model.md#visitors-of-the-page-and-pages-they-visit)",
    "shutdown": "[stop, restart, update](operating.md#stop-restart-update)",
    "log": "[what is never logged](threat-model.md#what-leaves-and-what-is-written)",
}
"""Where to read on about a section."""


def page() -> str:
    """The whole page. KeyError where a section has no page that speaks of it."""
    return "\n".join([_HEAD, *(line for section in _sections() for line in section)])


def _sections() -> Iterator[list[str]]:
    """The reference cut at its sections: a section begins at a key without indent."""
    for part in re.split(r"^(?=\w)", reference(), flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition(":")
        meaning = rest.splitlines()[0].partition("# ")[2]
        yield [f"## {name}", "", f"{meaning} See also: {MORE[name]}.", "", "```yaml", part.rstrip(), "```", ""]
