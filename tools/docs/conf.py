"""Sphinx's configuration of the site. Pages are Markdown as GitHub reads it, anchors included."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from tools.docs.pages import REPOSITORY, on_site

project = "otel-ctxscore"
author = "The otel-ctxscore authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # `ctxscore:...` is PromQL that the lexer does not know
myst_enable_extensions = ["colon_fence"]
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_theme = "furo"
html_title = "otel-ctxscore"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
}


def setup(app: Sphinx) -> None:
    """Pages are changed as they are read."""
    app.connect("source-read", _read)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = on_site(name, source[0])
