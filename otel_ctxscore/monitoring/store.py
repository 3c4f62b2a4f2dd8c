"""Where what must outlive a restart is kept, as far as monitoring sees it."""

from __future__ import annotations

from typing import Any, Protocol

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What reading a value raises that is not what was kept."""


class Store(Protocol):
    """Small values (as JSON has them) by kind and name."""

    def put(self, kind: str, name: str, value: object) -> None:
        """Keep a value, in place of the one before."""

    def remove(self, kind: str, name: str) -> None:
        """Forget a value."""

    async def all(self, kind: str, prefix: str = "") -> dict[str, Any]:
        """All values of a kind whose names begin with `prefix`, by name; those that cannot be read are left out."""
