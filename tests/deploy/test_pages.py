"""What the pages and the files of deploy/ name is there: commands, flags, settings, pages, headings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from otel_ctxscore.cli import COMMANDS, group
from otel_ctxscore.config import Config, parse
from tests.deploy.files import DEPLOY, PAGES, ROOT, Block, blocks

PROGRAM = "otel-ctxscore"
FILES = tuple(
    path
    for path in (*PAGES, ROOT / "deploy" / "Dockerfile", *sorted(DEPLOY.rglob("*.y*ml")))
    if path.name not in {"CHANGELOG.md", "commands.md"} and "tests" not in path.parts
)
"""Where commands are named. The changelog speaks of the past, and docs/commands.md is made from the commands."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ---- Commands ---------------------------------------------------------------------------------------------------


def invocations(text: str) -> Iterator[str]:
    """What stands after the program's name, in code."""
    for found in re.finditer(rf"(?:^|[`/(\s]){PROGRAM} ([a-z][^`\n]*)", text, re.MULTILINE):
        yield found[1]


def words(invocation: str) -> list[str]:
    """The words of one command, up to what the shell would take for itself."""
    bare = re.split(r"\s[#|>&;]|\s&&|[;)]", invocation)[0]
    try:
        return shlex.split(bare)
    except ValueError:
        return bare.split()


def faults(invocation: str) -> Iterator[str]:
    """What the command line does not know."""
    command: click.Command = group
    context = click.Context(group)
    rest = words(invocation)
    while rest and isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        if found is None:
            if command is group or not command.params:
                yield f"no command {rest[0]!r}"
            break
        command, rest = found, rest[1:]
    known = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
    yield from (
        f"no flag {word}" for word in rest if word.startswith("-") and len(word) > 1 and word.split("=")[0] not in known
    )


def code(path: Path) -> str:
    """Of a page what is code, of another file the lines that give the program a flag: sentences, too, may begin with
    the program's name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        return "\n".join(line for line in text.splitlines() if re.search(rf"{PROGRAM} [a-z].* --?\w", line))
    inline = re.findall(rf"`({PROGRAM} [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return "\n".join([*(block.text for block in blocks(path)), *(" ".join(one.split()) for one in inline)])


@pytest.mark.parametrize("path", FILES, ids=name)
def test_commands_and_flags_are_known(path: Path) -> None:
    wrong = {f"{PROGRAM} {found}": list(faults(found)) for found in invocations(code(path))}
    assert {command: told for command, told in wrong.items() if told} == {}


def test_the_check_sees_what_is_wrong() -> None:
    assert list(faults("serve -c config.yaml")) == []
    assert list(faults("alarms ack ID --by NAME")) == []
    assert list(faults("serve --port 3")) == ["no flag --port"]
    assert list(faults("start -c config.yaml")) != []


@pytest.mark.parametrize("started", ["deploy/Dockerfile", "deploy/k8s/statefulset.yaml"])
def test_containers_start_a_command_that_there_is(started: str) -> None:
    text = (ROOT / started).read_text(encoding="utf-8")
    found = re.search(r"^CMD (\[.*\])$|args: (\[.*\])$", text, re.MULTILINE)
    assert found is not None
    arguments = yaml.safe_load(found[1] or found[2])
    assert arguments[0] in COMMANDS
    assert list(faults(" ".join(arguments))) == []


# ---- Configurations ---------------------------------------------------------------------------------------------

CONFIGURATIONS = [
    block
    for page in PAGES
    for block in blocks(page)
    if block.language == "yaml" and set(yaml.safe_load(block.text) or {}) & set(Config.model_fields)
]


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=str)
def test_a_configuration_in_a_page_is_valid(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("none", encoding="utf-8")
    for variable in re.findall(r"\$\{env:(\w+)\}", block.text):
        monkeypatch.setenv(variable, "none")
    parse(yaml.safe_load(re.sub(r"\$\{file:[^}]+\}", f"${{file:{secret}}}", block.text)))


def test_pages_have_configurations() -> None:
    assert len(CONFIGURATIONS) > 5


# ---- Links ------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as they are made on the web, and its own."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    plain = [re.sub(r"<[^>]*>|[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    made = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}
    return made | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link or link.startswith("mailto:"):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", index)}
    assert {path.name for path in (ROOT / "docs").iterdir() if path.is_file() and path.name != "index.md"} <= listed


# ---- Settings and metrics that pages name -----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_metrics_that_a_page_names_exist(page: Path) -> None:
    known = set(re.findall(r"## `(ctxscore_\w+)`", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")))
    suffixes = ("_bucket", "_sum", "_count", "_created")
    named = set(re.findall(r"\bctxscore_[a-z_]+[a-z]\b", page.read_text(encoding="utf-8")))
    bare = {
        next((one.removesuffix(end) for end in suffixes if one.endswith(end) and one not in known), one)
        for one in named
    }
    assert bare - known == set()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_that_a_page_names_exist(page: Path) -> None:
    sections = "|".join(Config.model_fields)
    named = set(re.findall(rf"`((?:{sections})(?:\.[a-z_]+)+)`", page.read_text(encoding="utf-8")))
    reference = yaml.safe_load((ROOT / "docs" / "configuration.schema.json").read_text(encoding="utf-8"))
    assert [one for one in sorted(named) if not _known(one.split("."), reference, reference)] == []


def _known(steps: list[str], schema: dict[str, object], root: dict[str, object]) -> bool:
    """Whether a path leads to a property, through references, alternatives and lists."""
    if not steps:
        return True
    pointer = schema.get("$ref")
    if isinstance(pointer, str):
        target: object = root
        for step in pointer.removeprefix("#/").split("/"):
            assert isinstance(target, dict)
            target = target[step]
        assert isinstance(target, dict)
        return _known(steps, target, root)
    properties = schema.get("properties")
    if isinstance(properties, dict) and steps[0] in properties and _known(steps[1:], properties[steps[0]], root):
        return True
    inner = [schema.get("items"), schema.get("additionalProperties")]
    for kind in ("anyOf", "oneOf", "allOf"):
        found = schema.get(kind)
        inner.extend(found if isinstance(found, list) else [])
    return any(_known(steps, one, root) for one in inner if isinstance(one, dict))
