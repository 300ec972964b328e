"""A census with the order of what it has counted, and all that it says, to be compared."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from shiplift.api.marks import TARGET_LABEL
from shiplift.api.workloads import Mode, WorkloadMigrationSpec
from shiplift.facts import kinds
from shiplift.facts.meta import Labels, Row
from shiplift.facts.pods import Pod, PodSpec, Toleration
from shiplift.facts.selectors import Selector
from shiplift.kube.store import Snapshot
from shiplift.room.node_room import Demand, NodeRoom
from shiplift.room.occupancy import Slots
from shiplift.workloads.model import Reason, Role, Target
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.observer import Scope
from shiplift.workloads.observe.order import Arrived, Ordering
from tests.workloads.world import NEW

TARGET = Target(NEW, Mode.TEMPLATE, Reason.MOVING)
ALL = Selector(Labels())
SCOPE = Scope(TARGET, ALL, frozenset(), "")
SPEC = WorkloadMigrationSpec()
DEMANDS = (Demand.of(PodSpec()), Demand.of(PodSpec(tolerations=(Toleration(operator="Exists"),))))
SEVERAL = ("pods", "away", "pending", "evicting")


class Counter:
    """A census with the order of what it has counted."""

    def __init__(self) -> None:
        self.census, self._ordering = Census(), Ordering()
        self._news: list[tuple[kinds.Kind, Row]] = []

    def heard(self, kind: kinds.Kind, old: Row | None, new: Row | None) -> None:
        self._news.append((kind, cast("Row", new or old)))

    def look(self, snapshot: Snapshot, scope: Scope, *evicting: str) -> dict[str, Any]:
        news, self._news = self._news, []
        self.census.refresh(snapshot, scope, news, frozenset(evicting))
        orders = tuple(snapshot.customs(kinds.WORKLOAD_ORDER))
        tallies = self.census.tallies
        return sums(
            self.census, self._ordering.order(SPEC, tallies, orders, Arrived(), self.census.declarations)
        )


def sums(census: Census, order: Any) -> dict[str, Any]:
    """All that a census says, without what is free in it: the sequence of pods and budgets."""
    fleet = census.fleet({})
    room = census.room(Role.TARGET)
    occupancy = room.occupancy
    assert all(occupancy.places[name] is place for name, place in room.eligible.items())
    return {
        "tallies": {id_: _sorted(one) for id_, one in census.tallies.items()},
        "budgets": census.covers.budgets,
        "covers": {uid: set(those) for uid, those in census.covers.workloads.items() if those},
        "holds": census.covers.holds,
        "unscheduled": set(census.unscheduled),
        "away": census.away,
        "fleet": fleet,
        "targets": set(room.eligible),
        "slots": [_slots(room.slots(demand, ())) for demand in DEMANDS],
        "free": {name: _free(place) for name, place in occupancy.places.items()},
        "peers": occupancy.peers,
        "ending": occupancy.ending,
        "guards": occupancy.guards,
        "spaces": occupancy.spaces,
        "ready": order.ready,
        "met": order.met,
        "depth": order.depth,
        "missing": order.missing,
        "others": {pod.uid: pod for pod in census.others()},
    }


def _free(place: NodeRoom) -> tuple[Any, ...]:
    devices = {name: number for name, number in place.extended.items() if number}
    return place.pods, place.cpu, place.memory, place.storage, devices, place.ports


def _slots(slots: Slots) -> tuple[set[str], Any, dict[Any, set[str]]]:
    """Which nodes, why not the others, and the nodes by a label that may change."""
    groups = {values: {place.name for place in places} for values, places in slots.grouped((TARGET_LABEL,))}
    return {place.name for place in slots.places}, slots.refused, groups


def _sorted(tally: Any) -> Any:
    ordered = {name: tuple(sorted(getattr(tally, name), key=_uid)) for name in SEVERAL}
    alike = tally.alike is not None
    return msgspec.structs.replace(tally, alike=alike, **ordered)


def _uid(pod: Pod) -> str:
    return pod.uid
