"""A node that is not there yet: whether a pod would fit on the next node of a pool, empty as it comes.

The answer is the scheduler's own for what the pod asks of one node. What other pods do to it (spread,
affinity) is left out: on an empty node little of it speaks against a pod.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.quantities import Resources
from shiplift.room.node_room import Cause, Demand, NodeRoom
from shiplift.room.occupancy import Room

_NAME = "a new node"
_OS = "kubernetes.io/os"
_ENOUGH = 1 << 60
"""Of what nobody says how much there is: storage of its own disk."""


class Sample:
    """One more node of a pool, with these labels and this much room."""

    def __init__(self, labels: Mapping[str, str], *, cpu: int, memory: int, pods: int) -> None:
        size = Resources(cpu=cpu, memory=memory, storage=_ENOUGH, pods=pods)
        self._node = _node(Labels({_OS: "linux"} | dict(labels)), size)
        self._place = NodeRoom(_NAME)
        self._place.become(self._node)

    def refuses(self, room: Room, pod: Pod) -> str:
        """Why it could not take the pod; empty where it could."""
        anchors = room.anchors(pod)
        if isinstance(anchors, str):
            return anchors
        if (cause := Demand.of(pod.spec).refuses(self._node)) is not None:
            return cause
        if not all(one.holds(self._node) for one in anchors):
            return Cause.VOLUME
        return self._place.lacks(pod.spec)


def _node(labels: Labels, size: Resources) -> Node:
    return Node(
        namespace="",
        name=_NAME,
        uid="",
        resource_version=0,
        generation=0,
        created=0,
        deleting=0,
        labels=labels,
        annotations=Labels(),
        owners=(),
        finalizers=(),
        kubelet_version="",
        unschedulable=False,
        taints=(),
        ready=True,
        conditions=(),
        allocatable=size,
        capacity=size,
        addresses=(),
        provider_id="",
        machine_id="",
        boot_id="",
        os_image="",
        kernel_version="",
        container_runtime="",
        operating_system="",
        architecture="",
        volumes_in_use=(),
        volumes_attached=(),
    )
