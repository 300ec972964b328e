"""One node and what is free on it, and what a pod asks of a node before anything else on it counts.

Every answer is the scheduler's own (NodeResourcesFit, NodePorts, NodeUnschedulable, TaintToleration,
NodeAffinity, VolumeBinding, VolumeZone), with three exceptions. A node that is not ready is never a place
to go. Our own marks are ignored: a pod that is made again gets new ones. A volume that lies on one machine
keeps its pod there, also where nothing but the data itself says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL, UPGRADE_TAINT
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import HostPort, PodSpec, Toleration, tolerated
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, any_term_matches
from shiplift.facts.storage import PersistentVolume

NODE_NAME = "metadata.name"
_OUR_LABELS = frozenset({TARGET_LABEL, OFF_TARGET_LABEL})
_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute"})
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - as a pod asks for it; nothing is bound here
_CURRENT_ZONE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONE_LABELS = frozenset({*_CURRENT_ZONE_LABELS, *_CURRENT_ZONE_LABELS.values()})


class Cause(StrEnum):
    """Why a node cannot take a pod; what a pod lacks by name (CPU, a device) is said in words of its own."""

    NOT_READY = "not ready"
    CORDONED = "unschedulable"
    TAINT = "taint"
    NODE_AFFINITY = "node affinity"
    VOLUME = "volume elsewhere"
    PODS = "too many pods"
    PORT = "host port taken"
    SPREAD = "topology spread"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"


Port = tuple[str, str, int]


class NodeRoom:
    """What is free on a node. Below zero while pods are known and their node is not, or not any more."""

    __slots__ = ("cpu", "extended", "memory", "name", "node", "pods", "ports", "storage")

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: Node | None = None
        self.cpu = self.memory = self.storage = self.pods = 0
        self.extended: dict[str, int] = {}
        self.ports: dict[Port, int] = {}

    def copy(self) -> NodeRoom:
        twin = NodeRoom(self.name)
        twin.node = self.node
        twin.cpu, twin.memory, twin.storage, twin.pods = self.cpu, self.memory, self.storage, self.pods
        twin.extended, twin.ports = self.extended.copy(), self.ports.copy()
        return twin

    def become(self, node: Node | None) -> None:
        if self.node is not None:
            self._add(self.node.allocatable, -1, -self.node.allocatable.pods)
        if node is not None:
            self._add(node.allocatable, 1, node.allocatable.pods)
        self.node = node

    def take(self, spec: PodSpec, times: int = 1) -> None:
        """Room for one pod more, or for one less."""
        self._add(spec.requests, -times, -times)
        if spec.host_ports:
            for port in map(_port, spec.host_ports):
                self.ports[port] = self.ports.get(port, 0) + times
                if not self.ports[port]:
                    del self.ports[port]

    def lacks(self, spec: PodSpec) -> str:
        """What is missing for one pod more; nothing of a resource always has room."""
        want = spec.requests
        if self.pods < 1:
            return Cause.PODS
        if want.cpu > self.cpu and want.cpu > 0:
            return "insufficient cpu"
        if want.memory > self.memory and want.memory > 0:
            return "insufficient memory"
        if want.storage > self.storage and want.storage > 0:
            return "insufficient ephemeral-storage"
        for name, amount in want.extended:
            if amount > self.extended.get(name, 0) and amount > 0:
                return f"insufficient {name}"
        return Cause.PORT if spec.host_ports and self._clashes(spec.host_ports) else ""

    def _add(self, amount: Resources, times: int, pods: int) -> None:
        self.cpu += times * amount.cpu
        self.memory += times * amount.memory
        self.storage += times * amount.storage
        self.pods += pods
        if amount.extended:
            for name, number in amount.extended:
                self.extended[name] = self.extended.get(name, 0) + times * number

    def _clashes(self, wanted: Iterable[HostPort]) -> bool:
        return any(_clash(port, taken) for port in map(_port, wanted) for taken in self.ports)


def _port(port: HostPort) -> Port:
    return port.ip or _EVERY_ADDRESS, port.protocol or "TCP", port.port


def _clash(one: Port, other: Port) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or _EVERY_ADDRESS in (one[0], other[0]))


class Demand(msgspec.Struct, frozen=True):
    """What the pods of many workloads ask of a node alike."""

    selector: Labels
    terms: tuple[NodeTerm, ...] | None
    tolerations: tuple[Toleration, ...]

    @classmethod
    def of(cls, spec: PodSpec) -> Demand:
        return cls(spec.node_selector, _without_ours(spec.node_terms), spec.tolerations)

    def matches(self, node: Node) -> bool:
        labels = node.labels
        return all(labels.get(key) == value for key, value in self.selector.items()) and any_term_matches(
            self.terms, labels, node.name
        )

    def tolerates(self, node: Node) -> bool:
        return all(
            tolerated(self.tolerations, taint)
            for taint in node.taints
            if taint.effect in _KEEPS_AWAY and taint.key != UPGRADE_TAINT
        )

    def refuses(self, node: Node) -> Cause | None:
        if not node.ready:
            return Cause.NOT_READY
        if node.unschedulable and not tolerated(self.tolerations, _CORDONED):
            return Cause.CORDONED
        if node.taints and not self.tolerates(node):
            return Cause.TAINT
        return None if self.matches(node) else Cause.NODE_AFFINITY


def _without_ours(terms: tuple[NodeTerm, ...] | None) -> tuple[NodeTerm, ...] | None:
    """The user's own terms. One that held nothing but our marks stands for every node."""
    if terms is None or not any(one.key in _OUR_LABELS for term in terms for one in term.labels):
        return terms
    own: list[NodeTerm] = []
    for term in terms:
        labels = tuple(one for one in term.labels if one.key not in _OUR_LABELS)
        if not labels and not term.fields and term.labels:
            return None
        own.append(NodeTerm(labels, term.fields))
    return tuple(own)


class Anchor(msgspec.Struct, frozen=True):
    """Where one volume can be used."""

    terms: tuple[NodeTerm, ...] | None
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Labels of the volume that speak of zones, and the values that they name."""

    @classmethod
    def of(cls, volume: PersistentVolume, where_its_pod_is: str) -> Anchor:
        terms = volume.node_terms
        if terms is None and volume.local and where_its_pod_is:
            terms = (NodeTerm(fields=(Requirement(NODE_NAME, "In", (where_its_pod_is,)),)),)
        pairs = ((key, volume.labels[key]) for key in sorted(_ZONE_LABELS & volume.labels.keys()))
        return cls(terms, tuple((key, tuple(value.split("__"))) for key, value in pairs))

    def holds(self, node: Node) -> bool:
        """Whether it can be used there. A node that names no zone at all is asked for none."""
        if not any_term_matches(self.terms, node.labels, node.name):
            return False
        if not self.zones or not _ZONE_LABELS & node.labels.keys():
            return True
        return all(_zone(node.labels, key) in values for key, values in self.zones)

    def named(self) -> Iterator[tuple[str, str]] | None:
        """Labels (or names) of which every fitting node has one; None where it cannot be said so."""
        found = [_listed(term) for term in self.terms or ()]
        pairs = [one for one in found if one is not None]
        if not pairs or len(pairs) < len(found):
            return None
        return ((one.key, value) for one in pairs for value in one.values)


def _zone(labels: Mapping[str, str], key: str) -> str | None:
    value = labels.get(key)
    return labels.get(_CURRENT_ZONE_LABELS.get(key, key)) if value is None else value


def _listed(term: NodeTerm) -> Requirement | None:
    return next((one for one in (*term.fields, *term.labels) if one.operator == "In"), None)
