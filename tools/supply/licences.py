"""The licences of what is shipped: read from the packages' own metadata, and allowed by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import metadata

from license_expression import AND, LicenseExpression, get_spdx_licensing  # type: ignore[import-untyped]

ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MPL-2.0",
        "PSF-2.0",
        "Python-2.0",
    }
)
"""Licences under which a package may stand unchanged beside an Apache-2.0 program. MPL-2.0 binds changes of its own
files only, and none is changed."""

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What older packages say in place of an SPDX expression."""

READ = {"protobuf": "BSD-3-Clause", "tiktoken": "MIT"}
"""Read in the licence file: their metadata names none of these in a form that a program reads."""

_SPDX = get_spdx_licensing()


def faults(names: Iterable[str]) -> Iterator[str]:
    """Packages whose licence is not allowed, or cannot be read."""
    for name in sorted(names):
        expression = expression_of(name)
        if expression is None:
            yield f"{name}: its metadata names no licence; read it, and say so in tools/supply/licences.py"
        elif not allowed(expression):
            yield f"{name}: {expression} is not among the allowed licences (tools/supply/licences.py)"


def expression_of(name: str) -> str | None:
    """The licence of an installed package as an SPDX expression; None where its metadata has none."""
    said = metadata(name)
    if stated := said.get_all("License-Expression"):
        return str(stated[0])
    if name in READ:
        return READ[name]
    ends = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or () if line.startswith("License ::")]
    if ends and all(end in CLASSIFIERS for end in ends):
        return " AND ".join(CLASSIFIERS[end] for end in ends)
    word = " ".join(said.get_all("License") or ())
    return CLASSIFIERS.get(word) or (word if word and _is_spdx(word) else None)


def _is_spdx(text: str) -> bool:
    return len(text) < 100 and not _SPDX.validate(text).errors


def allowed(expression: str) -> bool:
    """Whether one may choose within the expression so that only allowed licences are left."""
    return _allows(_SPDX.parse(expression))


def _allows(part: LicenseExpression) -> bool:
    if not getattr(part, "args", ()):
        return str(part.render()) in ALLOWED
    inner = [_allows(one) for one in part.args]
    return all(inner) if isinstance(part, AND) else any(inner)
