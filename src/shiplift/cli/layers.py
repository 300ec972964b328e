"""`--layers a,b`: which layers a command is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from cyclopts import Parameter

from shiplift.cli.output import CommandError

Layers = Annotated[
    tuple[str, ...],
    Parameter(
        name="--layers",
        consume_multiple=True,
        negative="",
        show_default=False,
        help="Which layers, as a,b; all when none is named.",
    ),
]


def split(layers: Iterable[str]) -> list[str]:
    """`--layers a,b` and `--layers a b` are the same; one that names none, as an empty variable of a script
    does, does not mean all."""
    groups = tuple(layers)
    names = [name for group in groups for word in group.split(",") if (name := word.strip())]
    if groups and not names:
        raise CommandError("no layer is named by --layers", "leave it out for all of them")
    return names
