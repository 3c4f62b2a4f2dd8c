"""Frozen dataclasses that are made by the million."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def maker(frozen: type[T]) -> Callable[..., T]:
    """A function with the parameters of a frozen slotted dataclass that makes one in a quarter of the time.

    A frozen dataclass goes around its own protection field by field. Here the fields are those of a twin without
    protection, which then turns into the class: Python lets an object do so where both have the same slots.
    """
    described = [(one.name, one.type, one) for one in fields(frozen)]  # type: ignore[arg-type]
    twin: Any = make_dataclass(f"_{frozen.__name__}", described, slots=True)

    def make(*values: Any, **named: Any) -> T:
        made = twin(*values, **named)
        made.__class__ = frozen
        return made  # type: ignore[no-any-return]

    return make
