"""What /metrics says, summed up."""

from __future__ import annotations

from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families


def sums(text: str) -> dict[str, float]:
    """Sums over all labels but `outcome` or `result`: by the name of the sample, with `:` and that label's value where
    it has one. `text` is in the classic format."""
    found: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            word = sample.labels.get("outcome") or sample.labels.get("result")
            found[sample.name + (f":{word}" if word else "")] += sample.value
    return dict(found)
