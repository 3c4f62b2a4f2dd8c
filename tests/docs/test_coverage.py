"""What one can set, ask for or read has a place in the pages that says what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from pydantic import BaseModel

from otel_ctxscore.config import Config
from otel_ctxscore.config.faults import models
from otel_ctxscore.telemetry.catalogue import CATALOGUE
from tests.cli.command_lines import every_command
from tests.deploy.files import PAGES, ROOT, blocks

GENERATED = {"commands.md", "configuration.md", "metrics.md", "records.md", "CHANGELOG.md"}
REFERENCE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
WRITTEN = {page.name: page.read_text(encoding="utf-8") for page in PAGES if page.name not in GENERATED}
"""The pages that people have written, by name."""


def settings(model: type[BaseModel], seen: frozenset[type] = frozenset()) -> Iterator[tuple[str, str | None]]:
    """Each key of the configuration with its description."""
    for name, field in model.model_fields.items():
        yield name, field.description
        for inner in models(field.annotation):
            if inner not in seen:
                yield from settings(inner, seen | {inner})


ALL_COMMANDS = every_command()


def test_each_setting_is_explained_where_settings_are_listed() -> None:
    keys = dict.fromkeys(settings(Config))
    assert len(keys) > 100
    assert [key for key, meaning in keys if not meaning] == []
    first = {key: str(meaning).splitlines()[0][:60] for key, meaning in keys if key != "type"}
    lost = [key for key, meaning in first.items() if not re.search(rf"\b{key}:.*# .*{re.escape(meaning)}", REFERENCE)]
    assert lost == []


@pytest.mark.parametrize("section", Config.model_fields)
def test_each_section_is_spoken_of_where_people_read(section: str) -> None:
    """Not in the reference alone: a page says when one would use it."""
    named = rf"`{section}[.`]|`{section}: ?\{{|^{section}:"
    assert [name for name, text in WRITTEN.items() if re.search(named, text, re.MULTILINE)] != []


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.full_name)
def test_each_metric_and_each_label_has_a_meaning(metric: object) -> None:
    assert metric.help  # type: ignore[attr-defined]
    assert [label.name for label in metric.labels if not label.help] == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_each_command_and_each_option_says_what_it_does(name: str) -> None:
    command = ALL_COMMANDS[name]
    assert command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.opts[-1] for one in options if not one.help] == []


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_each_command_is_shown_in_use(name: str) -> None:
    """A page that people have written has it in code: its help alone says how, and not what for."""
    code = [block.text for page in PAGES if page.name in WRITTEN for block in blocks(page)]
    code += re.findall(r"`([^`\n]+)`", "\n".join(WRITTEN.values()))
    assert any(re.search(rf"\b{name}\b", one) for one in code)
