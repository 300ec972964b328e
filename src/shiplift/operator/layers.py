"""Which layers there are."""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.kube.part import LayerPart
from shiplift.workloads.controller import PART as WORKLOADS

LAYERS: dict[str, LayerPart] = {part.name: part for part in (WORKLOADS,)}
"""Every layer by name."""


class UnknownLayerError(ValueError):
    """A layer that does not exist was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no layer {name!r}")
        self.hint = f"layers: {', '.join(LAYERS) or 'none yet'}"


def chosen(names: Iterable[str]) -> tuple[LayerPart, ...]:
    """The layers of these names, in order; all of them where none is named."""
    wanted = list(dict.fromkeys(names)) or list(LAYERS)
    for name in wanted:
        if name not in LAYERS:
            raise UnknownLayerError(name)
    return tuple(LAYERS[name] for name in wanted)
