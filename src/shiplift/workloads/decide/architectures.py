"""Target nodes of an architecture that no old node has: images that were never seen to run on it wait.

An image has been seen there where a pod with it is, or was, Ready on such a node: of any owner, so that one
pod run by hand is proof enough. A workload that asks for architectures itself is believed.
"""

from __future__ import annotations

from typing import NamedTuple

from shiplift.facts.pods import PodSpec
from shiplift.room.node_room import Demand
from shiplift.workloads.model import View

ARCHITECTURE = "kubernetes.io/arch"


class Unseen(NamedTuple):
    """An image, and the architecture on which it was never seen to run."""

    image: str
    architecture: str


class Architectures:
    """What pods would find on the target nodes; for one decision."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._open: dict[Demand, frozenset[str]] = {}

    def unseen(self, spec: PodSpec) -> Unseen | None:
        """What speaks against letting pods of that template go to the target nodes."""
        if not self._view.fleet.strange:
            return None
        found = self._open_to(Demand.of(spec)) & self._view.fleet.strange
        pairs = (Unseen(one.image, own) for own in sorted(found) for one in spec.containers)
        return next((one for one in pairs if (one.architecture, one.image) not in self._view.ran), None)

    def _open_to(self, demand: Demand) -> frozenset[str]:
        """The architectures of target nodes that the scheduler could choose."""
        known = self._open.get(demand)
        if known is None:
            places = () if _asks_itself(demand) else self._view.room.slots(demand, ()).places
            nodes = (place.node for place in places if place.node is not None)
            known = self._open[demand] = frozenset(node.architecture for node in nodes)
        return known


def _asks_itself(demand: Demand) -> bool:
    asked = (one.key for term in demand.terms or () for one in term.labels)
    return ARCHITECTURE in demand.selector or ARCHITECTURE in asked
