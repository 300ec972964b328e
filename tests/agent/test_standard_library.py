"""An agent needs nothing but Python: what it imports, anywhere in it, is Python's own or the agent's."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiplift.agent

FOLDER = Path(shiplift.agent.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    """Names of modules, also of those that are imported within a function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not told apart here"
            yield from (f"{node.module}.{one.name}" for one in node.names)


def may_be(name: str) -> bool:
    """The version is in the package above the agent, and the one file of the agent has that, too."""
    own = name == "shiplift.__version__" or name.startswith("shiplift.agent.")
    return own or name.partition(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_all_that_is_imported_is_pythons_own_or_the_agents(path: Path) -> None:
    assert [name for name in imported(path.read_text()) if not may_be(name)] == []


@pytest.mark.parametrize(
    "line",
    ["import msgspec", "from cronsim import CronSim", "import tzdata", "from shiplift.kube import client"],
)
def test_what_is_not_is_found_wherever_it_is_imported(line: str) -> None:
    (name,) = imported(f"def within():\n    {line}\n")
    assert not may_be(name)
