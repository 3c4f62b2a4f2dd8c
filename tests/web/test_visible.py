"""Texts from traces as a page shows them."""

from __future__ import annotations

from html import unescape

from hypothesis import given

from otel_ctxscore.core.unseen import plain
from otel_ctxscore.web.rendering import MAX_QUOTED, line, short, templates
from otel_ctxscore.web.visible import shown
from tests.core.test_unseen import TEXTS


@given(TEXTS)
def test_the_page_shows_the_same_escaped_and_by_itself(text: str) -> None:
    markup = shown(text)
    assert markup.startswith("<bdi>")
    assert markup.endswith("</bdi>")
    marked = markup[5:-6].replace('<i class="unseen">', "⟨").replace("</i>", "⟩")
    assert "<" not in marked
    assert unescape(marked.replace("\r", "&#13;")) == plain(text)


def test_a_text_without_any_is_shown_as_it_is() -> None:
    assert shown("שלום (12) <b>") == "<bdi>שלום (12) &lt;b&gt;</bdi>"


@given(TEXTS)
def test_a_line_is_one_and_short(text: str) -> None:
    said = line(text)
    assert "\n" not in said
    assert len(said) <= MAX_QUOTED
    assert short(text) == shown(said)


def test_a_template_shows_nothing_unseen_whatever_it_forgets() -> None:
    template = templates().from_string(
        '<p title="{{ it }}">{{ it }} {{ it | shown }} {{ 7 }}</p><b>{{ it | verbatim }}</b>'
    )
    page, _, kept = template.render(it="a\u202e<b>").partition("</p>")
    assert page == (
        '<p title="a⟨U+202E⟩&lt;b&gt;">a⟨U+202E⟩&lt;b&gt; <bdi>a<i class="unseen">U+202E</i>&lt;b&gt;</bdi> 7'
    )
    assert kept == "<b>a\u202e&lt;b&gt;</b>"
