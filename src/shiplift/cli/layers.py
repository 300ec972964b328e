"""`--layers a,b`: which layers a command is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from cyclopts import Parameter

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
    """`--layers a,b` and `--layers a b` are the same."""
    return [name for group in layers for name in group.split(",") if name]
