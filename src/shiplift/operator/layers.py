"""What the operator needs to know of a layer to run it, and which layers there are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import msgspec

from shiplift.engine.layer import Layer
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client
from shiplift.kube.events import Recorder
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch

Keys = Callable[[Kind, Row | None, Row | None], Iterable[Hashable]]


class Context(msgspec.Struct, frozen=True):
    """What a layer works with, for one term of leading. `check` is called right before each write."""

    client: Client
    store: Store
    recorder: Recorder
    epoch: int
    check: Callable[[], int]


class LayerPart(msgspec.Struct, frozen=True):
    """One layer: what it reads, what wakes it, what it may write, how it is made."""

    name: str
    watches: tuple[Watch, ...]
    wakes: Keys
    """The keys to look at after a change; every row is shown once when leading begins."""
    make: Callable[[Context], Layer[Any, Any, Any]]
    rules: tuple[Mapping[str, Any], ...] = ()
    """The RBAC of its writes; reading follows from `watches`."""


LAYERS: dict[str, LayerPart] = {}
"""Every layer by name; a layer adds itself here when it is written."""


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
