"""Rooms of a few nodes and pods, in a line each."""

from __future__ import annotations

from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.room.booking import NoSlot, Occupancy, Room
from tests.room.cases import (
    NEW,
)

WEB = Labels(app="web")
PICKS_WEB = Selector(WEB)


def is_target(node: Node) -> bool:
    return node.kubelet_version == NEW


def occupied(*rows: Node | Pod) -> Occupancy:
    occupancy = Occupancy()
    for row in rows:
        if isinstance(row, Node):
            occupancy.put_node(row)
        else:
            occupancy.put_pod(None, row)
    return occupancy


def room_of(*rows: Node | Pod) -> Room:
    return occupied(*rows).room(is_target)


def spec(cpu: int = 100, **parts: object) -> PodSpec:
    return PodSpec(requests=Resources(cpu=cpu, pods=1), **parts)


def reason(answer: str | NoSlot) -> str:
    assert isinstance(answer, NoSlot), f"it was promised {answer}"
    return answer.reason


def wanting(*requirements: Requirement) -> tuple[NodeTerm, ...]:
    return (NodeTerm(requirements),)
