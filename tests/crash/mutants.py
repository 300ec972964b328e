"""Bugs put into copies of the code on purpose: the plans must catch them, or they would not catch ours."""

from __future__ import annotations

import importlib
import shutil
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
    changed = _changed(mutant)
    shutil.rmtree(folder, ignore_errors=True)
    copied = folder / mutant.package
    shutil.copytree(_source(mutant), copied, ignore=shutil.ignore_patterns("__pycache__"))
    (copied / mutant.file).write_text(changed)
    return folder


def check(mutants: Iterable[Mutant]) -> None:
    """Every mutant fits the code as it is; else an error says which does not."""
    for mutant in mutants:
        _changed(mutant)


def _source(mutant: Mutant) -> Path:
    return Path(str(importlib.import_module(mutant.package).__file__)).parent


def _changed(mutant: Mutant) -> str:
    """The text of its file with that bug in it."""
    path = _source(mutant) / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
    changed = text.replace(mutant.old, mutant.new)
    compile(changed, str(path), "exec")
    return changed
