"""Bugs put into copies of the code on purpose: the plans must catch them, or they would not catch ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

import shiplift
from tests.crash.plans import Trouble


class Mutant(msgspec.Struct, frozen=True):
    """One bug: a piece of text of a file becomes another; and the runs that may catch it, likeliest first."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    plans: tuple[tuple[str, Trouble], ...]


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A copy of the product's source with that bug in it."""
    shutil.rmtree(folder, ignore_errors=True)
    source = Path(shiplift.__file__).parent
    shutil.copytree(source, folder / "shiplift", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "shiplift" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))
    return folder


ALL: tuple[Mutant, ...] = ()
