"""What people are told names its object: `spec.onMissing` alone reads as if of whatever was named before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiplift

SOURCES = Path(shiplift.__file__).parent
FIELD = re.compile(r"(?<![\w.])spec\.[a-z]\w*\b(?! of |=)")
"""A field selector (`spec.nodeName=`) is a question to the API server, and told to nobody."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module but docstrings, where any may name a field."""
    source = path.read_text()
    if not FIELD.search(source):
        return
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def test_a_field_that_somebody_is_to_set_is_named_with_its_object() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {text}"
        for path in SOURCES.rglob("*.py")
        for line, text in texts(path)
        if FIELD.search(text)
    ]
    assert found == []


def test_no_hint_would_take_something_from_an_installation_in_a_cluster() -> None:
    """What the bare command prints takes Pod Security off the namespace when it is applied over that, and
    gives the account rights of layers that do not run. It is for where nothing is installed."""
    bare = "shiplift manifests | kubectl"
    found = {
        path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if bare in path.read_text()
    }
    assert found <= {"cli/manifests.py"}


@pytest.mark.parametrize(
    "words", ["apply `shiplift manifests`", "`shiplift manifests` has it", "with `shiplift crds` and"]
)
def test_what_is_missing_is_brought_by_what_installed_shiplift(words: str) -> None:
    """Helm as well, and each with the options that it was installed with."""
    assert [path for path in SOURCES.rglob("*.py") if words in path.read_text()] == []
