"""Texts from traces on a page: what is unseen is named, and nothing in a text reorders what stands beside it."""

from __future__ import annotations

from markupsafe import Markup, escape

from otel_ctxscore.core.unseen import with_names


def shown(text: str) -> Markup:
    """A text as it is, isolated from what stands around it, what is unseen in it named."""
    # What escaping writes is neither unseen nor a letter beside which a joiner is needed.
    marked = with_names(str(escape(text)), '<i class="unseen">{}</i>'.format)
    return Markup(f"<bdi>{marked}</bdi>")  # noqa: S704 -- it is escaped
