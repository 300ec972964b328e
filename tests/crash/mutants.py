"""Bugs put into copies of the code on purpose: the plans must catch them, or they would not catch ours."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.crash.plans import Trouble


class Mutant(msgspec.Struct, frozen=True):
    """One bug: a piece of text of a file becomes another; and the runs that may catch it, likeliest first."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    plans: tuple[tuple[str, Trouble], ...]
    """Scenarios of the layer, and what goes wrong in them."""
    package: str = "shiplift"
    """The package that the file is in: a layer that lives in the tests has its bugs there."""


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A copy of the source with that bug in it."""
    shutil.rmtree(folder, ignore_errors=True)
    source = Path(str(importlib.import_module(mutant.package).__file__)).parent
    shutil.copytree(source, folder / mutant.package, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / mutant.package / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
    changed = text.replace(mutant.old, mutant.new)
    compile(changed, str(path), "exec")
    path.write_text(changed)
    return folder


def check(mutants: Iterable[Mutant]) -> None:
    """Every mutant fits the code as it is; else an error says which does not."""
    with tempfile.TemporaryDirectory() as folder:
        for mutant in mutants:
            mutated(mutant, Path(folder) / "code")
