"""What became of each node and when, and what of that time the contender is to blame for.

A node's way is seen from outside: it is cordoned, its last pod is gone, it has an order, its agent is through
and its kubelet says the new version, its Lease is renewed after that, it is uncordoned. Between these, pods
and agents take the times that are set for them. What is left is the contender's: from a free slot to the
cordon, from the last pod to the order, from the last proof to the uncordon.
"""

from __future__ import annotations

import statistics

import msgspec


class NodeSeen(msgspec.Struct, frozen=True):
    """One node at one moment."""

    at: float
    name: str
    cordoned: bool
    ordered: bool
    changed: bool
    """Its agent says that it is through with the order, and its kubelet says the new version."""


class Way(msgspec.Struct):
    """When one node was seen where; 0 where it has not been yet."""

    cordoned: float = 0.0
    emptied: float = 0.0
    ordered: float = 0.0
    changed: float = 0.0
    renewed: float = 0.0
    uncordoned: float = 0.0

    @property
    def complete(self) -> bool:
        return bool(self.uncordoned and self.ordered and self.changed)

    @property
    def to_order(self) -> float:
        return self.ordered - max(self.emptied, self.cordoned)

    @property
    def to_uncordon(self) -> float:
        return self.uncordoned - max(self.changed, self.renewed)


class Overhead(msgspec.Struct, frozen=True):
    """Medians over the nodes, in seconds. The whole is the median of sums, not the sum of the medians."""

    whole: float
    to_cordon: float
    to_order: float
    to_uncordon: float


class Timeline:
    """The ways of all nodes of one contest; what was before the first cordon of a node is not on it."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._ways: dict[str, Way] = {}

    @property
    def first_cordon(self) -> float:
        return min((way.cordoned for way in self._ways.values()), default=0.0)

    def see(self, seen: NodeSeen) -> None:
        way = self._ways.get(seen.name)
        if way is None:
            if not seen.cordoned:
                return
            way = self._ways[seen.name] = Way(cordoned=seen.at)
        if seen.ordered:
            way.ordered = way.ordered or seen.at
        if seen.changed and way.ordered:
            way.changed = way.changed or seen.at
        if not seen.cordoned:
            way.uncordoned = way.uncordoned or seen.at

    def pod_gone(self, node: str, at: float) -> None:
        """The last one before the order counts."""
        way = self._ways.get(node)
        if way is not None and not way.ordered:
            way.emptied = at

    def renewed(self, node: str, at: float) -> None:
        """The first one after the change counts."""
        way = self._ways.get(node)
        if way is not None and way.changed and not way.uncordoned:
            way.renewed = way.renewed or at

    def overhead(self) -> Overhead | None:
        """None where no node went the whole way."""
        ways = sorted((way for way in self._ways.values() if way.complete), key=lambda way: way.cordoned)
        if not ways:
            return None
        free = self._free_since(ways)
        parts = [
            (max(0.0, way.cordoned - since), way.to_order, way.to_uncordon)
            for way, since in zip(ways, free, strict=True)
        ]
        each = [statistics.median(part) for part in zip(*parts, strict=True)]
        return Overhead(statistics.median(map(sum, parts)), each[0], each[1], each[2])

    def _free_since(self, ways: list[Way]) -> list[float]:
        """Since when there was a slot for each, in the order of cordons: the first find them free."""
        freed = sorted(way.uncordoned for way in ways)
        return [ways[0].cordoned] * min(self._slots, len(ways)) + freed[: max(0, len(ways) - self._slots)]
