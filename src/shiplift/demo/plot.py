"""What a play of the demo is made of: scenes, and by what one sees that a scene is over.

A layer that can be seen at work has a play: `moving` is that of workloads, `changing` that of nodes.
A scene is over when the cluster shows it, never because time has gone by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from shiplift.face.parts import DemoPart
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client
from shiplift.local.nodes import Nodes, Pool
from shiplift.view.cluster import ClusterView
from shiplift.view.section import Act

FROM, TARGET = "v1.35.4", "v1.36.3"
ZONES = ("zone-a", "zone-b")


class Hands(Protocol):
    """What a scene may do to the stage when it begins."""

    @property
    def nodes(self) -> Nodes: ...

    def start(self) -> None:
        """Starts the operator, and asks its layers for the target."""
        ...


class Played(msgspec.Struct, frozen=True):
    """What one layer plays, at one moment."""

    part: DemoPart[Any]
    act: Act


def _nothing(_hands: Hands) -> None:
    pass


class Scene(msgspec.Struct, frozen=True):
    """What is going on."""

    words: str
    over: Callable[[Seen], bool]
    """Whether the cluster shows its end."""
    begin: Callable[[Hands], None] = _nothing

    def __str__(self) -> str:
        return self.words


class Seen(msgspec.Struct, frozen=True):
    """The demo at one moment."""

    scene: Scene
    cluster: ClusterView
    played: tuple[Played, ...]
    residue: tuple[str, ...]
    """What of ours is in the cluster."""
    seconds: int
    """Since the shop opened, or, once that has begun, since the operator was started."""

    @property
    def over(self) -> bool:
        """Whether the scene is at its end."""
        return self.scene.over(self)

    @property
    def half_way(self) -> bool:
        """The moment that shows most, for one of the layers."""
        return any(one.act.half_way for one in self.played)

    @property
    def moved(self) -> bool:
        """All that the layers were asked for has been done."""
        return all(one.act.moved for one in self.played)

    @property
    def settled(self) -> bool:
        """No layer has anything more to do, and nothing of ours is left."""
        return all(one.act.settled for one in self.played) and not self.residue


class Verdict(Protocol):
    """How it went."""

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What happened: what each line is about, and what is said of it."""
        ...

    @property
    def broken(self) -> bool:
        """Whether something that was promised was not so."""
        ...


class Witness(Protocol):
    """Writes down what happens, whatever the operator says; to be subscribed to a store."""

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None: ...

    def begin(self) -> None:
        """What happens from now on is the operator's doing."""
        ...

    def verdict(self) -> Verdict:
        """The last word: nothing is written down any more."""
        ...


class Play(msgspec.Struct, frozen=True):
    """What is played where."""

    layers: tuple[str, ...]
    """Those that the operator runs."""
    pools: tuple[Pool, ...]
    """The nodes that there are when it opens."""
    sample: Callable[[], Iterable[dict[str, Any]]]
    """What runs on them, in the order in which it is to be created."""
    scenes: tuple[Scene, ...]
    witness: Callable[[], Witness]
    failed: str
    """What is said where the witness has seen something else than was promised."""
    agents: bool = False
    """Whether simulated agents answer on the nodes."""
    asked: Callable[[Client, Path], AbstractContextManager[None]] | None = None
    """Who asks for the target, until the end: the client, and where the cluster's keys are. None where each
    layer is asked by hand."""
    reported: bool = False
    """Whether it ends with the report."""

    @property
    def last(self) -> Scene:
        return self.scenes[-1]

    def after(self, scene: Scene) -> Scene:
        return self.scenes[self.scenes.index(scene) + 1]


def is_open(seen: Seen) -> bool:
    """Everything runs, and the budgets have noticed."""
    view = seen.cluster
    return view.settled and all(budget.allows for one in view.workloads for budget in one.budgets)


def never(_seen: Seen) -> bool:
    """Of the last scene."""
    return False
