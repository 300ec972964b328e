"""Every `console` block of the README and the guides does, word for word, what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from shiplift.operator.layers import LAYERS
from tests.docs.clone import ROOT, clone
from tests.docs.console import Command, commands, kept
from tests.docs.shell import Result, running

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDES = [page for page in PAGES if "```console" in page.read_text()]
SECONDS = 120.0
"""For one command, on a slow computer."""
SECONDS_OF_MACHINES = 400.0
"""For one that makes a cluster of real machines."""


def complaint(command: Command, result: Result, seconds: float = SECONDS) -> str:
    """What is wrong with it; nothing, if it did what the page says."""
    if result.code is None:
        wrong = f"did not end in {seconds:.0f} s"
    elif result.code:
        wrong = f"exit code {result.code}"
    elif command.promised and not kept(command.promised, result.said):
        wrong = "says something else than the page"
    else:
        return ""
    expected = "\n".join(command.promised)
    return f"{command}\n{wrong}\n--- expected\n{expected}\n--- got\n{result.said}"


def test_the_readme_and_the_guide_of_each_layer_show_what_to_do() -> None:
    assert {page.stem for page in GUIDES} >= {"README", *LAYERS}


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.machines] if "--machines" in page.read_text() else []


@pytest.mark.long(seconds=45)
@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("page", [pytest.param(page, marks=_marks(page), id=page.stem) for page in GUIDES])
def test_a_page_can_be_followed_word_for_word(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    todo, seconds = commands(page), SECONDS
    if any("--machines" in command.text for command in todo):
        request.getfixturevalue("machine_programs")
        seconds = SECONDS_OF_MACHINES
    assert todo
    with clone(tmp_path) as fresh, running(fresh.folder, fresh.environment, tmp_path / "output") as shell:
        for command in todo:
            wrong = complaint(command, shell.run(command.text, seconds), seconds)
            assert not wrong, wrong
        left = sorted(path.name for path in (tmp_path / "state" / "clusters").glob("*/"))
        assert left == [], f"{page.name} leaves clusters behind"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_of_the_examples_is_in_them(page: Path) -> None:
    examples = [
        one for path in (ROOT / "docs/examples").glob("*.yaml") for one in documents(path.read_text())
    ]
    shown = [block.partition("```")[0] for block in page.read_text().split("```yaml\n")[1:]]
    for one in [document for block in shown for document in documents(block)]:
        assert one in examples


def documents(text: str) -> list[object]:
    return list(yaml.safe_load_all(text))
