"""Every link of a page leads to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.clone import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As they are made of headings: lower-case words with hyphens between."""
    return {
        re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in HEADING.findall(page.read_text())
    }


def is_there(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not is_there(page, link)] == []


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ("upgrade.md", True),
        ("examples", True),
        ("upgrade.md#preflight", True),
        ("#what-it-waits-for-by-reason", True),
        ("reference/status.md#layersupgrade", True),
        ("upgraded.md", False),
        ("upgrade.md#preflights", False),
    ],
)
def test_links_are_followed(link: str, there: bool) -> None:
    assert is_there(ROOT / "docs/upgrade.md", link) is there
