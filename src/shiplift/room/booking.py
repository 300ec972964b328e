"""Before a pod is evicted: is there a place for it on a target node, now?

A `Booking` answers for one decision. What it has promised to one pod it does not promise to the next,
and it changes nothing but itself. The answer is the scheduler's own for a pod made again with the same
specification and labels, bound to the targets; see `places` for where it is stricter. Not looked at:
limits of attached volumes, claimed devices, topologies of a storage class, room gained by preemption.

    a pod ──▶ targets its kind may use (Slots) ──▶ groups alike in topology ──rules──▶ first with room

In a group a place that has no room is never looked at again: bookings only take room. What a leaving pod
gives up is free for itself alone, since nobody knows when it will be gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.pods import HostPort, Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.room.node_room import Cause, Demand, NodeRoom
from shiplift.room.occupancy import Occupancy as Occupancy  # noqa: PLC0414 - handed on
from shiplift.room.occupancy import Room as Room  # noqa: PLC0414 - handed on
from shiplift.room.occupancy import Slots
from shiplift.room.topology import Board, Rule


class NoSlot(msgspec.Struct, frozen=True):
    """No target can take the pod; the reason counts them by cause, as the scheduler's message does."""

    reason: str
    bound: str = ""
    """The claim whose volume is on a machine that is no target, and can be used nowhere else."""
    full: bool = False
    """A target is open to the pod and only lacks room."""


class _Queue:
    """The places of a group that have not been found full, in turn from where the last pod went."""

    __slots__ = ("at", "left", "places")

    def __init__(self, places: list[NodeRoom], at: int) -> None:
        self.places = places
        self.left: int = len(places)
        self.at: int = at % self.left

    def find(self, spec: PodSpec, changed: Mapping[str, NodeRoom], full: Counter[str]) -> NodeRoom | None:
        while self.left:
            place = self.places[self.at]
            lacking = changed.get(place.name, place).lacks(spec)
            if not lacking:
                return place
            full[lacking] += 1
            self.left -= 1
            self.at = (self.at + 1) % len(self.places)
        return None


class _Search:
    """For pods that are all alike to the scheduler."""

    def __init__(
        self, slots: Slots, at: int, rules: Sequence[Rule] = (), any_room: _Search | None = None
    ) -> None:
        self.slots = slots
        self.rules = rules
        self._any_room = any_room
        """The same without rules: where it finds nothing, nothing is to be found."""
        keys = tuple(sorted({rule.key for rule in rules}))
        self._rules = [(keys.index(rule.key), rule) for rule in rules]
        self._groups = slots.grouped(keys)
        self._queues: list[_Queue | None] = [None] * len(self._groups)
        self._first = at
        self._turn = at % len(self._groups) if self._groups else 0
        self._full: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    @property
    def at(self) -> int:
        """Where the last pod went, if there is but one queue to go by."""
        queue = self._queues[0] if self._queues else None
        return queue.at if queue else self._first

    def find(self, spec: PodSpec, changed: Mapping[str, NodeRoom]) -> NodeRoom | None:
        if self._any_room is not None and self._any_room.find(spec, changed) is None:
            return None
        for rule in self.rules:
            rule.begin()
        self._refused.clear()
        for step in range(len(self._groups)):
            turn = (self._turn + step) % len(self._groups)
            place = self._find_in(turn, spec, changed)
            if place is not None:
                self._turn = turn
                return place
        return None

    def allows(self, place: NodeRoom) -> bool:
        labels = place.node.labels if place.node else NO_LABELS
        for rule in self.rules:
            rule.begin()
        return all(rule.allows(labels.get(rule.key)) for rule in self.rules)

    @property
    def met_full_ones(self) -> bool:
        """Whether a place would do if it were not full."""
        return bool(self._full) or (self._any_room is not None and self._any_room.met_full_ones)

    def causes(self) -> Counter[str]:
        """Of the last time that it found nothing."""
        if self._any_room is not None and self._any_room.exhausted:
            return self._any_room.causes()
        return Counter(self.slots.refused) + self._full + self._refused

    @property
    def exhausted(self) -> bool:
        return all(queue is not None and not queue.left for queue in self._queues)

    def _find_in(self, turn: int, spec: PodSpec, changed: Mapping[str, NodeRoom]) -> NodeRoom | None:
        queue = self._queues[turn]
        if queue is not None and not queue.left:
            return None
        values, places = self._groups[turn]
        for index, rule in self._rules:
            if not rule.allows(values[index]):
                self._refused[rule.cause] += queue.left if queue else len(places)
                return None
        if queue is None:
            queue = self._queues[turn] = _Queue(places, self._first)
        return queue.find(spec, changed, self._full)


def _sentence(targets: int, causes: Counter[str]) -> str:
    if not targets:
        return "there are no target nodes"
    told = ", ".join(f"{number} {cause}" for cause, number in causes.most_common())
    return f"0 of {targets} target nodes fit: {told}"


_Alike = tuple[int, str, Labels, str]
_Plain = tuple[Slots, Resources, tuple[HostPort, ...]]


class Booking:
    """Places promised in one decision, on top of a room that stays as it is."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._board = Board(room)
        self._edition = self._board.edition
        self._changed: dict[str, NodeRoom] = {}
        self._searches: dict[_Alike, tuple[PodSpec, _Search | NoSlot]] = {}
        """With the specification, so that its identity stays its own."""
        self._plain: dict[_Plain, _Search] = {}
        self._last: dict[Slots, int] = {}

    def book(self, pod: Pod, *, leaving: bool = True) -> str | NoSlot:
        """The target that can take it, which is kept for it, or why there is none.

        Leaving, it no longer counts where it is; otherwise this is about one more like it.
        """
        self._room.check_current()
        search = self._search(pod)
        if isinstance(search, NoSlot):
            return search
        leaves = leaving and bool(pod.node) and not pod.finished
        if leaves:
            self._board.leave(pod, pod.node)
        name = self._promise(pod, search) or (self._own_place(pod, search) if leaving else "")
        if name:
            self._board.arrive(pod, name)
            return name
        if leaves:
            self._board.stay(pod, pod.node)
        told = _sentence(len(self._room.eligible), search.causes())
        return NoSlot(told, self._bound(pod, search), search.met_full_ones)

    def _bound(self, pod: Pod, search: _Search) -> str:
        """The local volume that keeps the pod off every target, where one does."""
        elsewhere = not search.slots.places and Cause.VOLUME in search.slots.refused
        return self._room.local_claim(pod) if elsewhere else ""

    def _promise(self, pod: Pod, search: _Search) -> str:
        place = search.find(pod.spec, self._changed)
        if place is None:
            return ""
        mine = self._changed.get(place.name)
        if mine is None:
            mine = self._changed[place.name] = place.copy()
        mine.take(pod.spec)
        if not search.rules:
            self._last[search.slots] = search.at
        return place.name

    def _own_place(self, pod: Pod, search: _Search) -> str:
        """The target that it is on (or was to go to), with what it has there itself."""
        name = pod.node or pod.nominated_node
        place = self._room.eligible.get(name)
        if place is None or pod.finished or not any(one is place for one in search.slots.places):
            return ""
        without = self._changed.get(name, place).copy()
        without.take(pod.spec, -1)
        return "" if without.lacks(pod.spec) or not search.allows(place) else name

    def _search(self, pod: Pod) -> _Search | NoSlot:
        if self._board.edition != self._edition:
            self._edition = self._board.edition
            self._searches.clear()
        alike = (id(pod.spec), pod.namespace, pod.labels, pod.node if pod.spec.claims else "")
        found = self._searches.get(alike)
        if found is None:
            found = self._searches[alike] = (pod.spec, self._new_search(pod))
        return found[1]

    def _new_search(self, pod: Pod) -> _Search | NoSlot:
        demand = Demand.of(pod.spec)
        anchors = self._room.anchors(pod)
        if isinstance(anchors, str):
            return NoSlot(anchors)
        slots = self._room.slots(demand, anchors)
        rules = self._board.rules(pod, demand)
        at = self._last.get(slots, 0)
        plain = (slots, pod.spec.requests, pod.spec.host_ports)
        search = self._plain.get(plain)
        if search is None:
            search = self._plain[plain] = _Search(slots, at)
        return _Search(slots, search.at, rules, search) if rules else search
