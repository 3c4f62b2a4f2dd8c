"""What `maker` makes cannot be told from what the class makes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from otel_ctxscore.core.frozen import maker
from otel_ctxscore.core.spans import Scope, Span


def test_it_is_the_same_and_as_frozen() -> None:
    made = maker(Span)(b"t" * 16, b"s" * 8, b"", "name", scope=Scope("a scope"))
    usual = Span(b"t" * 16, b"s" * 8, b"", "name", scope=Scope("a scope"))
    assert type(made) is Span
    assert (made, repr(made), replace(made, name="x")) == (usual, repr(usual), replace(usual, name="x"))
    with pytest.raises(FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(TypeError):
        maker(Span)()
