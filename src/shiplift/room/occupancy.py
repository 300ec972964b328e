"""Who takes room on which node, kept current event by event, and a read-only view of a moment.

`Occupancy` follows every node, pod, volume and namespace of the cluster at a few microseconds for an event.
A `Room` shares it and copies nothing. It is good until the next event: whoever asks it later is told so,
rather than given a mixture of two moments. What was worked out for kinds of pods about nodes alone
(`Targets`) is remembered for longer, until a node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, PodTerm, Spread
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim
from shiplift.room.node_room import NODE_NAME, Anchor, Cause, Demand, NodeRoom

ByNode = dict[str, int]
"""How many on each node."""
Group = tuple[tuple[str | None, ...], list[NodeRoom]]
"""Values of labels, and the places that have them."""
Key = TypeVar("Key", Labels, PodTerm)
Peers = dict[str, dict[Labels, ByNode]]
"""Pods by namespace and labels."""

_MOST_KINDS = 100
"""Kinds of pods that are remembered, each with the nodes that it may use."""


def guard_owner(namespace: str, term: PodTerm) -> str:
    """The namespace that a term without namespaces is about; none where it says itself which it is about."""
    return "" if term.namespaces or term.namespace_selector is not None else namespace


class Occupancy:
    """The cluster as the scheduler sees it. One thread only."""

    def __init__(self) -> None:
        self.version = 0
        self.places: dict[str, NodeRoom] = {}
        self.peers: Peers = {}
        self.ending: Peers = {}
        """Pods that were asked to go: they count for affinity, not for spread."""
        self.guards: dict[str, dict[PodTerm, ByNode]] = {}
        """Anti-affinity of pods that are there, by the namespace that it is about (`guard_owner`)."""
        self.spaces: dict[str, Labels] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[tuple[str, str], PersistentVolumeClaim] = {}

    def put_node(self, node: Node) -> None:
        self.version += 1
        self._place(node.name).become(node)

    def drop_node(self, name: str) -> None:
        """The node is gone; pods that are still said to be on it are remembered, and count nowhere."""
        self.version += 1
        place = self._place(name)
        place.become(None)
        self._forget_if_empty(place)

    def put_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and _takes_the_same(old, new):
            return
        self.version += 1
        if old is not None and not old.finished:
            self._count(old, -1)
        if new is not None and not new.finished:
            self._count(new, 1)

    def put_first_pods(self, pods: Iterable[Pod]) -> None:
        """All at once, where none was known. Siblings follow each other: what they share is found once."""
        self.version += 1
        sibling: Pod | None = None
        by_node: ByNode = {}
        for pod in pods:
            if pod.finished:
                continue
            node, spec = pod.node, pod.spec
            if not node or pod.deleting or spec.anti_affinity:
                self._count(pod, 1)
                continue
            if sibling is None or pod.labels is not sibling.labels or pod.namespace != sibling.namespace:
                sibling = pod
                by_node = self.peers.setdefault(pod.namespace, {}).setdefault(pod.labels, {})
            by_node[node] = by_node.get(node, 0) + 1
            (self.places.get(node) or self._place(node)).take(spec)

    def put_namespace(self, old: Namespace | None, new: Namespace | None) -> None:
        self.version += 1
        if old is not None:
            self.spaces.pop(old.name, None)
        if new is not None:
            self.spaces[new.name] = new.labels

    def put_volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        self.version += 1
        if old is not None:
            self.volumes.pop(old.name, None)
        if new is not None:
            self.volumes[new.name] = new

    def put_claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        self.version += 1
        if old is not None:
            self.claims.pop((old.namespace, old.name), None)
        if new is not None:
            self.claims[new.namespace, new.name] = new

    def room(self, eligible: Callable[[Node], bool]) -> Room:
        """A view of this moment, with the nodes that count as targets."""
        return Room(self, self.targets(eligible))

    def targets(self, eligible: Callable[[Node], bool]) -> Targets:
        """Those nodes; good until a node changes, whatever becomes of pods."""
        return Targets({name: place for name, place in self.places.items() if _is(eligible, place)})

    def _place(self, name: str) -> NodeRoom:
        place = self.places.get(name)
        if place is None:
            place = self.places[name] = NodeRoom(name)
        return place

    def _forget_if_empty(self, place: NodeRoom) -> None:
        if place.node is None and not place.pods:
            del self.places[place.name]

    def _count(self, pod: Pod, times: int) -> None:
        """The node it is on, or the one that was cleared for it."""
        name = pod.node or pod.nominated_node
        if not name:
            return
        place = self.places.get(name) or self._place(name)
        place.take(pod.spec, times)
        if pod.node:
            _tally(self.ending if pod.deleting else self.peers, pod.namespace, pod.labels, name, times)
            for term in pod.spec.anti_affinity:
                _tally(self.guards, guard_owner(pod.namespace, term), term, name, times)
        if times < 0:
            self._forget_if_empty(place)


def _is(eligible: Callable[[Node], bool], place: NodeRoom) -> bool:
    return place.node is not None and eligible(place.node)


def _takes_the_same(old: Pod, new: Pod) -> bool:
    """Most events change nothing here."""
    return (
        old.spec is new.spec
        and old.labels is new.labels
        and old.node == new.node
        and (not old.deleting) == (not new.deleting)
        and (old.phase == new.phase or old.finished == new.finished)
        and old.nominated_node == new.nominated_node
    )


def _tally(counts: dict[str, dict[Key, ByNode]], owner: str, key: Key, node: str, number: int) -> None:
    by_key = counts.get(owner)
    if by_key is None:
        by_key = counts[owner] = {}
    by_node = by_key.get(key)
    if by_node is None:
        by_node = by_key[key] = {}
    total = by_node.get(node, 0) + number
    if total:
        by_node[node] = total
        return
    del by_node[node]
    if not by_node:
        del by_key[key]
        if not by_key:
            del counts[owner]


class Slots:
    """The targets that pods of one kind may use at all, and how many others may not, by cause."""

    def __init__(self, places: list[NodeRoom], refused: Mapping[str, int]) -> None:
        self.places = places
        self.refused = refused
        self._groups: dict[tuple[str, ...], list[Group]] = {}
        self._by_label: dict[str, dict[str, list[NodeRoom]]] = {}

    def grouped(self, keys: tuple[str, ...]) -> list[Group]:
        """By the values of these labels, which is all that topology looks at."""
        groups = self._groups.get(keys)
        if groups is None:
            found: dict[tuple[str | None, ...], list[NodeRoom]] = {}
            for place in self.places:
                labels = _labels(place)
                found.setdefault(tuple(map(labels.get, keys)), []).append(place)
            groups = self._groups[keys] = list(found.items())
        return groups

    def narrowed(self, anchors: Iterable[Anchor]) -> Slots:
        """Those of them where all the volumes can be used."""
        places = self.places
        for anchor in anchors:
            places = [
                place for place in self._near(anchor, places) if place.node and anchor.holds(place.node)
            ]
        missing = len(self.places) - len(places)
        return Slots(places, {**self.refused, Cause.VOLUME: missing} if missing else self.refused)

    def _near(self, anchor: Anchor, places: list[NodeRoom]) -> Iterable[NodeRoom]:
        """A volume of one machine names it: no need to look at all the others."""
        named = anchor.named() if places is self.places else None
        if named is None:
            return places
        return {place.name: place for key, value in named for place in self._with(key, value)}.values()

    def _with(self, key: str, value: str) -> list[NodeRoom]:
        index = self._by_label.get(key)
        if index is None:
            index = self._by_label[key] = {}
            for place in self.places:
                own = place.name if key == NODE_NAME else _labels(place).get(key)
                if own is not None:
                    index.setdefault(own, []).append(place)
        return index.get(value, [])


class Targets:
    """The nodes where pods are to go; what was worked out for kinds of pods is remembered."""

    def __init__(self, eligible: Mapping[str, NodeRoom]) -> None:
        self.eligible = eligible
        self._slots: dict[Demand, Slots] = {}

    @property
    def many(self) -> bool:
        """Whether more is remembered than is worth it. Not cut down by itself: who books goes by identity."""
        return len(self._slots) > _MOST_KINDS

    def slots(self, demand: Demand) -> Slots:
        slots = self._slots.get(demand)
        if slots is None:
            slots = self._slots[demand] = self._all_slots(demand)
        return slots

    def _all_slots(self, demand: Demand) -> Slots:
        places: list[NodeRoom] = []
        refused: dict[str, int] = {}
        for place in self.eligible.values():
            cause = demand.refuses(place.node) if place.node is not None else Cause.NOT_READY
            if cause is None:
                places.append(place)
            else:
                refused[cause] = refused.get(cause, 0) + 1
        return Slots(places, refused)


class Domains(msgspec.Struct, frozen=True, eq=False):
    """Which nodes count for a spread constraint, and in which domain; equal only to itself."""

    by_node: Mapping[str, str]
    none: Mapping[str, int]
    """Each domain with no pod in it."""


class Room:
    """What is free now, and where; those who look at it change nothing but what is remembered."""

    def __init__(self, occupancy: Occupancy, targets: Targets) -> None:
        self.occupancy = occupancy
        self.eligible = targets.eligible
        self._targets = targets
        self._version = occupancy.version
        self._slots: dict[tuple[Demand, tuple[Anchor, ...]], Slots] = {}
        self._domains: dict[object, Domains] = {}

    def check_current(self) -> None:
        if self.occupancy.version != self._version:
            raise RuntimeError("a room was asked after the cluster had changed: make a new one")

    def slots(self, demand: Demand, anchors: tuple[Anchor, ...]) -> Slots:
        if not anchors:
            return self._targets.slots(demand)
        slots = self._slots.get((demand, anchors))
        if slots is None:
            slots = self._slots[demand, anchors] = self._targets.slots(demand).narrowed(anchors)
        return slots

    def anchors(self, pod: Pod) -> tuple[Anchor, ...] | str:
        """Where its volumes hold it, or what the scheduler will wait for first.

        A claim without a volume gets one where the pod goes.
        """
        found: list[Anchor] = []
        for name in pod.spec.claims:
            claim = self.occupancy.claims.get((pod.namespace, name))
            if claim is None:
                return f"claim {pod.namespace}/{name} does not exist"
            volume = self.occupancy.volumes.get(claim.volume)
            if volume is not None:
                found.append(Anchor.of(volume, pod.node))
            elif claim.volume:
                return f"volume {claim.volume} of claim {pod.namespace}/{name} does not exist"
        return tuple(found)

    def local_claim(self, pod: Pod) -> str:
        """The first claim of a pod whose volume lies on one machine; empty where there is none."""
        for name in pod.spec.claims:
            claim = self.occupancy.claims.get((pod.namespace, name))
            volume = self.occupancy.volumes.get(claim.volume) if claim is not None else None
            if volume is not None and volume.local:
                return f"claim {pod.namespace}/{name} (local volume {volume.name})"
        return ""

    def domains(self, demand: Demand, spread: Spread, keys: tuple[str, ...]) -> Domains:
        """The domain of every node that counts for a spread constraint.

        Those are nodes that have all of the pod's topology keys. Honouring affinity, they are targets that
        the pod asks for: what binds it to the targets is a node affinity too.
        """
        key = (demand, keys, spread.topology_key, spread.honours_affinity, spread.honours_taints)
        domains = self._domains.get(key)
        if domains is None:
            places = self.eligible if spread.honours_affinity else self.occupancy.places
            nodes = [place.node for place in places.values() if place.node is not None]
            by_node = {
                node.name: node.labels[spread.topology_key]
                for node in nodes
                if all(one in node.labels for one in keys) and _counts(demand, spread, node)
            }
            domains = self._domains[key] = Domains(by_node, dict.fromkeys(by_node.values(), 0))
        return domains

    def value(self, key: str) -> Callable[[str], str | None]:
        """The value of a label, by the name of a node."""
        places = self.occupancy.places

        def of(name: str) -> str | None:
            place = places.get(name)
            return None if place is None else _labels(place).get(key)

        return of


def _counts(demand: Demand, spread: Spread, node: Node) -> bool:
    return (not spread.honours_affinity or demand.matches(node)) and (
        not spread.honours_taints or demand.tolerates(node)
    )


def _labels(place: NodeRoom) -> Labels:
    return NO_LABELS if place.node is None else place.node.labels
