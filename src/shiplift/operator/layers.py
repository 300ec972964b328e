"""Which layers there are, and where: each is a folder with the same two doors.

`controller.PART` is what the operator runs, `face.FACE` what people see. Each is imported when it is asked
for: a command that only shows a layer does not import what runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shiplift.face.parts import Face
    from shiplift.kube.part import LayerPart


class Layers(Mapping[str, "LayerPart"]):
    """The part of each layer by the layer's name; in the order in which they were named."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def __getitem__(self, name: str) -> LayerPart:
        return import_module(f"{self._folders[name]}.controller").PART

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def face(self, name: str) -> Face:
        return import_module(f"{self._folders[name]}.face").FACE


LAYERS = Layers(
    {
        "upgrade": "shiplift.upgrade",
        "workloads": "shiplift.workloads",
        "nodes": "shiplift.nodes",
        "machines": "shiplift.machines",
        "policy": "shiplift.policy",
        "journal": "shiplift.journal",
        "operators": "shiplift.operators",
        "quorum": "shiplift.quorum",
        "notify": "shiplift.notify",
    }
)
"""Every layer by name; the conductor first: what it asks of others is told, and undone, before theirs."""


class UnknownLayerError(ValueError):
    """A layer that does not exist was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no layer {name!r}")
        self.hint = f"layers: {', '.join(LAYERS) or 'none yet'}"


def chosen(names: Iterable[str] = ()) -> tuple[LayerPart, ...]:
    """The layers of these names, in order; all of them where none is named."""
    return tuple(LAYERS[name] for name in _wanted(names))


def faces(names: Iterable[str] = ()) -> dict[str, Face]:
    """What people see of the layers of these names, in order; of all of them where none is named."""
    return {name: LAYERS.face(name) for name in _wanted(names)}


def _wanted(names: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(names)) or list(LAYERS)
    for name in wanted:
        if name not in LAYERS:
            raise UnknownLayerError(name)
    return wanted
