"""What is known of a Node."""

from __future__ import annotations

import msgspec

from shiplift.facts.meta import Condition, Row
from shiplift.facts.quantities import Resources


class Taint(msgspec.Struct, frozen=True, gc=False):
    key: str
    value: str
    effect: str


class Node(Row, frozen=True, gc=False, kw_only=True):
    """A Node. Heartbeat times are left out: they change all the time and decide nothing."""

    kubelet_version: str
    unschedulable: bool
    taints: tuple[Taint, ...]
    ready: bool
    conditions: tuple[Condition, ...]
    allocatable: Resources
    capacity: Resources
    addresses: tuple[tuple[str, str], ...]
    provider_id: str
    machine_id: str
    boot_id: str
    os_image: str
    kernel_version: str
    container_runtime: str
    operating_system: str
    architecture: str
    volumes_in_use: tuple[str, ...]
    volumes_attached: tuple[str, ...]


CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
"""The labels, and the taints, of nodes that run a control plane."""
SIMULATED, FAKE = "kwok.x-k8s.io/node", "fake"
"""The annotation, and its value, of nodes whose kubelet is played by kwok."""
GIVEN_LABELS = ("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch")
"""Labels that every node has: its name, its system, its architecture."""
ZONE = "topology.kubernetes.io/zone"
WORKER = "node-role.kubernetes.io/worker"
"""By which a node that runs no control plane may say so."""


def is_simulated(node: Node) -> bool:
    return node.annotations.get(SIMULATED) == FAKE


def is_control_plane(node: Node) -> bool:
    return any(label in node.labels for label in CONTROL_PLANE)


def is_closed_control_plane(node: Node) -> bool:
    """Whether it runs a control plane and takes no other pods."""
    if not node.taints or not is_control_plane(node):
        return False
    return any(taint.key in CONTROL_PLANE and taint.effect != "PreferNoSchedule" for taint in node.taints)
