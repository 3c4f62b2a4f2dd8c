"""`docs/records.md`: what each recording rule holds, and the alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.prometheus_rules import ALERTS, recording_groups, segment_groups
from tools.prometheus_rules.rule import Alert
from tools.prometheus_rules.series import WINDOWS

_HEAD = f"""\
# Records and alerts

Made by `make generate` from `tools/prometheus_rules`, as `deploy/prometheus` is. `W` stands for the window:
{", ".join(f"`{window}`" for window in WINDOWS)}. A record that would divide by nothing is not there; none is NaN.
How the formulas go is in [statistics.md](statistics.md), how to read them in [numbers.md](numbers.md).
"""
_SERIES = "service, scorer, version"
_ASKED = "service, scorer"

READ = {
    "estimate_mean:W": (
        _SERIES,
        "mean score of all traffic of the window, 0 to 1; segments: by segment and value, too",
    ),
    "estimate_lower:W": (_SERIES, "lower end of its 95 % interval"),
    "estimate_upper:W": (_SERIES, "upper end"),
    "estimate_n_eff:W": (_SERIES, "effective number of judged traces; below 10 there is no interval"),
    "estimate_low_n:W": (_SERIES, "1 where it is below 30, else 0: no decision should rest on that"),
    "estimate_truncated:W": (_SERIES, "1 where the budget's fuse was blown within the window: no interval holds"),
    "coverage:W": (_ASKED, "share of what was to be scored that has a value"),
    "empty_share:W": ("service", "share of retrievals that found nothing"),
    "bad_share:W": (_SERIES, "weighted share of scores below `bad_below` of the target"),
    "psi:W": (_SERIES, "population stability index against the pinned baseline"),
    "psi_floor:W": (f"{_SERIES}, level", "what noise alone exceeds once in 100 (1 000) windows"),
    "ks:W": (_SERIES, "largest difference of the two distribution functions (Kolmogorov-Smirnov)"),
    "ks_floor:W": (_SERIES, "what noise alone exceeds once in 100 windows"),
    "score_share:W": (f"{_SERIES}, bucket", "weighted share of the scores in each cell"),
    "target": (_SERIES, "target of the series, over all replicas"),
    "baseline_share": (f"{_SERIES}, bucket, group", "pinned share of each cell"),
    "baseline_n_eff": (_SERIES, "effective number of traces in the baseline"),
}
"""Records to read and to draw."""

PIECES = {
    "estimator_sum:W": "increase of each estimator sum, by stage and term",
    "screened_w:W": "weight of the screened traces",
    "screened_f:W": "weighted mean of the local judge's score over the screened traces (F)",
    "screened_ww:W": "squared weights over the squared weight, screened",
    "screened_wwf:W": "the same with the local judge's score",
    "screened_wwff:W": "the same with its square",
    "judged_w:W": "weight of the judged traces",
    "judged_f:W": "weighted mean of the local judge's score over the judged traces (G)",
    "judged_ww:W": "squared weights over the squared weight, judged: 1 / n_eff",
    "judged_wwf:W": "the same with the local judge's score",
    "judged_wwff:W": "the same with its square",
    "judged_y:W": "weighted mean of the published score (Y)",
    "judged_wwy:W": "squared weights with the published score",
    "judged_wwyy:W": "the same with its square",
    "judged_wwyf:W": "squared weights with the product of both scores",
    "estimate_cff:W": "variance of the local judge's mean (Cff)",
    "estimate_cyf:W": "covariance of both means (Cyf)",
    "estimate_lambda:W": "how much the local judge's score says about the published one, 0 to 1 (l)",
    "half_y:W": "Y with half a run of each end added, as are all that follow",
    "half_cyf:W": "Cyf",
    "half_lambda:W": "l",
    "half_mean:W": "the mean",
    "half_cyy:W": "variance of the published mean (Cyy)",
    "half_variance:W": "variance of the estimate (V)",
    "half_centre:W": "the mean, kept half a run away from 0 and 1 (p)",
    "half_width:W": "half of the interval's width in log odds (h)",
    "score_weight:W": "weight of the scores in each cell",
    "group_share:W": "smoothed share of each group of cells, now",
    "share_shift:W": "share of each cell now less its pinned share",
    "values:W": "scores with a value",
    "unscored:W": "what had none",
    "asked:W": "the sum of both",
    "retrievals:W": "retrievals",
    "bad_budget": "share of bad runs that the target leaves room for",
    "bad_limit_fast": "share of bad runs within an hour that pages",
    "bad_limit_slow": "share of bad runs within six hours that pages",
    "baseline_groups": "groups of cells in the baseline",
    "baseline_group_share": "smoothed share of each group, pinned",
}
"""Records that only other records and alerts read."""


def records() -> list[str]:
    """The names of all records without prefix, `W` for the window and each once, in the order of evaluation."""
    rules = [rule for group in (*recording_groups(), *segment_groups()) for rule in group.rules]
    ends = "|".join(WINDOWS)
    return list(dict.fromkeys(re.sub(rf":({ends})$", ":W", rule.name.removeprefix("ctxscore:")) for rule in rules))


def page() -> str:
    """The whole page. KeyError where a record is not described."""
    return "\n".join([_HEAD, *_read(), "", *_alerts(), "", *_pieces(), ""])


def _read() -> Iterator[str]:
    yield "## To read and to draw\n"
    yield "| record | labels | |\n|---|---|---|"
    yield from (f"| {_name(name)} | {labels} | {meaning} |" for name, (labels, meaning) in READ.items())


def _alerts() -> Iterator[str]:
    yield "## Alerts\n"
    yield "`page` is for now, `ticket` for working hours. The link leads to what to look at and what to do.\n"
    yield "| alert | severity | after | |\n|---|---|---|---|"
    yield from (_alert(rule) for rule in ALERTS.rules if isinstance(rule, Alert))


def _alert(rule: Alert) -> str:
    said = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"*\1*", rule.annotations["summary"])
    said = re.sub(r"\{\{.*\}\}", "", said)
    return f"| [`{rule.name}`](runbook.md#{rule.name.lower()}) | {rule.labels['severity']} | {rule.wait} | {said} |"


def _pieces() -> Iterator[str]:
    yield "## Pieces of the formulas\n"
    yield "They are records so that each rule can be checked by itself, and may change with the formulas. In brackets:"
    yield "the letter in [statistics.md](statistics.md#the-estimate).\n"
    yield "| record | |\n|---|---|"
    for name in records():
        bare = name.removeprefix("segment_")
        if bare not in READ and name == bare:
            yield f"| {_name(name)} | {PIECES[bare]} |"


def _name(name: str) -> str:
    segments = f", `ctxscore:segment_{name}`" if f"segment_{name}" in records() and name in READ else ""
    return f"`ctxscore:{name}`{segments}"
