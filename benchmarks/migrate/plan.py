"""The cluster that is migrated: workloads, budgets, and who depends on whom.

Data stores are at the bottom and what people call is on top, as in most clusters: every layer's workloads
depend on some of the layer below, so the graph is as deep as there are layers. The
same size gives the same plan.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from enum import StrEnum

import msgspec

GONE_AFTER = 2.0
"""Seconds that each pod takes to end. A tenth of what is usual; no jitter."""
_STATEFUL = (0.6, 0.4, 0.2, 0.1)
"""The share of StatefulSets in the lowest layers; there are none above."""
_SIZES = (2, 3, 4, 6, 8, 10, 12, 16, 20, 30)


class Kind(StrEnum):
    """What a workload is."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class Size(msgspec.Struct, frozen=True):
    """How large it is: old nodes (as many new ones join them), pods, workloads, depth of the graph."""

    nodes: int
    pods: int
    workloads: int
    depth: int
    ready_after: float = 2.0
    """Seconds that each pod takes to become Ready. A tenth of what is usual; no jitter."""


SHORT = Size(nodes=6, pods=60, workloads=12, depth=4)
USUAL = Size(nodes=60, pods=1_000, workloads=100, depth=8)
FULL = Size(nodes=300, pods=5_000, workloads=400, depth=8, ready_after=12.0)
"""Pods start less quickly: with 2 s the CPU of the rig would be all that is measured."""


class Budget(msgspec.Struct, frozen=True):
    """The spec of a PodDisruptionBudget: one of the two, a number or a share in per cent."""

    max_unavailable: int | None = None
    max_percent: int | None = None
    min_percent: int | None = None

    def at_once(self, replicas: int) -> int:
        """How many pods may be away; shares round up, as the disruption controller has it."""
        if self.max_unavailable is not None:
            return self.max_unavailable
        if self.max_percent is not None:
            return _share(self.max_percent, replicas)
        return replicas - _share(self.min_percent or 0, replicas)


class Workload(msgspec.Struct, frozen=True):
    """One workload. Its name is its own in the whole cluster; pods carry it as label `app`."""

    name: str
    namespace: str
    kind: Kind
    layer: int
    replicas: int
    budget: Budget | None
    depends_on: tuple[str, ...]
    ready_after: float

    @property
    def at_once(self) -> int:
        """How many of its pods may move together: its budget, else what its own rollouts would do."""
        if self.budget:
            return self.budget.at_once(self.replicas)
        return max(1, self.replicas // 4) if self.kind is Kind.DEPLOYMENT else 1

    @property
    def least_healthy(self) -> int:
        """What its budget wants healthy at all times; none wants nothing."""
        return self.replicas - self.at_once if self.budget else 0

    @property
    def rounds(self) -> int:
        return -(-self.replicas // self.at_once)


def plan(size: Size) -> list[Workload]:
    """That many workloads with that many pods in all."""
    chance = random.Random(_seed(size))
    layers = [number * size.depth // size.workloads for number in range(size.workloads)]
    kinds = [*(_kind(layer, chance) for layer in layers[:-1]), Kind.DEPLOYMENT]
    replicas = _replicas(kinds, size.pods, chance)
    names = [f"{_word(kind)}-{number}" for number, kind in enumerate(kinds)]
    return [
        Workload(
            name=names[number],
            namespace=f"team-{number % max(1, size.workloads // 10)}",
            kind=kinds[number],
            layer=layer,
            replicas=replicas[number],
            budget=_budget(kinds[number], replicas[number], chance),
            depends_on=_dependencies(layer, layers, names, chance),
            ready_after=size.ready_after,
        )
        for number, layer in enumerate(layers)
    ]


def _seed(size: Size) -> str:
    """What the plan depends on, in words that must stay: figures can be compared only on the same plan."""
    return (
        f"migrate Size(nodes={size.nodes}, pods={size.pods}, workloads={size.workloads}, depth={size.depth})"
    )


def _kind(layer: int, chance: random.Random) -> Kind:
    share = _STATEFUL[layer] if layer < len(_STATEFUL) else 0.0
    return Kind.STATEFUL_SET if chance.random() < share else Kind.DEPLOYMENT


def _word(kind: Kind) -> str:
    return "data" if kind is Kind.STATEFUL_SET else "service"


def _replicas(kinds: Sequence[Kind], pods: int, chance: random.Random) -> list[int]:
    """Three for a StatefulSet; Deployments share the rest, some small and some large."""
    sizes = [3 if kind is Kind.STATEFUL_SET else chance.choice(_SIZES) for kind in kinds]
    flexible = [number for number, kind in enumerate(kinds) if kind is Kind.DEPLOYMENT]
    rest = pods - sum(size for size, kind in zip(sizes, kinds, strict=True) if kind is Kind.STATEFUL_SET)
    if rest < 2 * len(flexible):
        raise ValueError(f"{pods} pods are too few for {len(kinds)} workloads")
    weight = sum(sizes[number] for number in flexible)
    for number in flexible:
        sizes[number] = max(2, sizes[number] * rest // weight)
    _even_out(sizes, flexible, pods)
    return sizes


def _even_out(sizes: list[int], flexible: Sequence[int], pods: int) -> None:
    """Rounding left a few too many or too few: one more for each in turn, or one less for the largest."""
    turn = itertools.cycle(flexible)
    while sum(sizes) < pods:
        sizes[next(turn)] += 1
    while sum(sizes) > pods:
        sizes[max(flexible, key=lambda number: sizes[number])] -= 1


def _budget(kind: Kind, replicas: int, chance: random.Random) -> Budget | None:
    """Most have one."""
    if chance.random() < 0.2:
        return None
    if kind is Kind.STATEFUL_SET or replicas < 4:
        return Budget(max_unavailable=1)
    return chance.choice((Budget(max_percent=25), Budget(max_percent=25), Budget(min_percent=70)))


def _dependencies(
    layer: int, layers: Sequence[int], names: Sequence[str], chance: random.Random
) -> tuple[str, ...]:
    """Some of the layer below, and now and then one from further down."""
    below = [name for name, other in zip(names, layers, strict=True) if other == layer - 1]
    deeper = [name for name, other in zip(names, layers, strict=True) if other < layer - 1]
    chosen = chance.sample(below, min(len(below), chance.randint(1, 3)))
    if deeper and chance.random() < 0.3:
        chosen.append(chance.choice(deeper))
    return tuple(chosen)


def _share(percent: int, replicas: int) -> int:
    return -(-percent * replicas // 100)
