"""The site: pages as they stand on it, and a build that fails on what is lost."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.files import ROOT
from tools.docs.pages import DOCS, REPOSITORY, LostLinkError, navigation, on_site


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[a](numbers.md#drift)", "[a](numbers.md#drift)"),
        ("[numbers.md](numbers.md)", "[](numbers.md)"),
        ("[r](../README.md#judges)", f"[r]({REPOSITORY}/blob/main/README.md#judges)"),
        ("[deploy](../deploy)", f"[deploy]({REPOSITORY}/tree/main/deploy)"),
        ("[x](https://h/x.md)", "[x](https://h/x.md)"),
        ("[x](#here)", "[x](#here)"),
        ("`[x](../no.md)`", "`[x](../no.md)`"),
        ("```\n[x](../no.md)\n```\n[d](../deploy)", f"```\n[x](../no.md)\n```\n[d]({REPOSITORY}/tree/main/deploy)"),
        ('## <a id="x"></a>A title', "(x)=\n## A title"),
    ],
)
def test_links_lead_somewhere_from_the_site(written: str, shown: str) -> None:
    assert on_site("page", written) == shown


def test_a_link_to_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(LostLinkError, match=r"page\.md: \.\./no\.md"):
        on_site("page", "[x](../no.md)")


def test_every_page_is_in_the_menu_once() -> None:
    trees = navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    listed = [line for line in trees.splitlines() if re.fullmatch(r"[\w-]+", line)]
    assert sorted(listed) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def build(docs: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does, for a folder of pages."""
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"-m (sphinx .*) -c tools/docs docs build/docs", make)
    assert found is not None
    command = [sys.executable, "-m", *found[1].split(), "-c", "tools/docs", str(docs), str(into)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("", ""),
        ("\n[x](numbers.md#no-such-heading)\n", "no-such-heading"),
        ("\n[x](no-such-page.md)\n", "no-such-page"),
    ],
)
def test_a_lost_link_or_heading_fails_the_build(tmp_path: Path, added: str, said: str) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    page = tmp_path / "docs" / "kafka.md"
    page.write_text(page.read_text(encoding="utf-8") + added, encoding="utf-8")
    built = build(tmp_path / "docs", tmp_path / "site")
    assert (built.returncode != 0) is bool(said), built.stderr
    assert said in built.stderr
    assert (tmp_path / "site" / "first-ten-minutes.html").exists() or said
