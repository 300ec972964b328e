"""What a layer brings to the crash harness, and what the harness asks of it.

A layer's folder has a module `suite` with a value `SUITE`. All that the harness does itself (processes,
proxies, plans, clean runs, comparing) it does the same way for every layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from tests.crash.mutants import Mutant
from tests.crash.outside import Companion, Outside
from tests.crash.plans import Spot, Trouble
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage

Json = dict[str, Any]
Flat = dict[str, Any]
"""The objects at an end, field by field, without what is free to differ."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What the harness knows of any scenario; a layer's own has more."""

    name: str
    layers: tuple[str, ...] = ()
    """The layers that the operator runs; none named: the one whose scenario it is."""
    leaves_others: bool = False
    """Whether what the others of these write is tried by their own suites, and here only now and then."""
    outside: tuple[Outside, ...] = ()
    companions: tuple[Companion, ...] = ()
    """The programs that run beside the operator."""
    outages: tuple[Spot, ...] = ()
    """Calls from which on the API server is away for a while, in a plan each."""
    meant: tuple[Trouble, ...] = ()
    """Trouble that ends otherwise by design: no plan has it."""
    takes: float = 1.0
    """How many times as long as others its runs may take."""
    repeats: str = ""
    """Another scenario of the layer whose calls it makes again: its plans are thinned."""


S = TypeVar("S", bound=Scenario)
S_contra = TypeVar("S_contra", bound=Scenario, contravariant=True)


class Player(Protocol):
    """The users, the clouds and the bystanders of one run: they look at the cluster, and do what is due."""

    @property
    def upstreams(self) -> Mapping[str, str]:
        """The real address, `host:port`, of each upstream of the scenario."""
        ...

    def play(self, state: State) -> None:
        """Called again and again, with the cluster as it is now."""
        ...

    def over(self, state: State) -> bool:
        """Whether the end is reached."""
        ...

    def complaints(self) -> list[str]:
        """What was wrong that only they have seen."""
        ...

    def beyond(self) -> State:
        """What the upstreams hold now, as objects: leaking one is residue like any other."""
        ...

    def close(self) -> None:
        """End what it started."""
        ...


class Suite(Protocol[S]):
    """One layer under the harness."""

    @property
    def part(self) -> LayerPart:
        """The layer itself."""
        ...

    @property
    def scenarios(self) -> tuple[S, ...]: ...

    @property
    def mutants(self) -> tuple[Mutant, ...]: ...

    @property
    def watched(self) -> tuple[Kind, ...]:
        """The kinds whose every change is recorded and judged."""
        ...

    def build(self, stage: Stage, scenario: S) -> None:
        """Make, in a cluster with nothing but our manifests, what is there when the operator starts."""
        ...

    def playing(self, stage: Stage, scenario: S) -> Player:
        """Everybody else, for one run; called right before the operator starts."""
        ...

    def broken(self, scenario: S, trace: Trace) -> list[str]:
        """The invariants that did not hold at some moment of the run."""
        ...

    def residue(self, state: State) -> list[str]:
        """What of ours is left behind."""
        ...

    def end(self, scenario: S, state: State) -> Flat:
        """The end without what is free to differ."""
        ...

    def counted_as(self, change: Change) -> str:
        """Under which name it counts that an object is made or removed."""
        ...

    def most(self, scenario: S, name: str) -> int:
        """How often what counts under that name may be made or removed, also where clean runs do it less."""
        ...

    def told(self, state: State) -> str:
        """One line about where a run stands, for when it does not end."""
        ...

    def is_work(self, step: str) -> bool:
        """Whether such a step is what the layer is for: the others lead up to it, or clean up after it."""
        ...

    def alike(self, scenario: S, about: str) -> str:
        """The class of an object: where writes are thinned, one of a class stands for the others."""
        ...
