"""Which workloads are held and which released, and what the placements have to say for that.

A release is kept: once a placement says Released for this target (in mode Template: once the record says that
the toleration was given), the workload stays released, whatever becomes of its dependencies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from shiplift.api.marks import label_value
from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.workloads import Mode, OnNoCapacity
from shiplift.engine import retries
from shiplift.facts.kinds import WORKLOAD_PLACEMENT
from shiplift.workloads.decide import last
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Placement, View
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.record import NO_RECORD, RECORDS, Record
from shiplift.workloads.steps import CheckInForce, DeletePlacement, WritePlacement

MOST_NAMED = 5000
"""Of one namespace, as the API server lets us write them; new pods of further workloads go anywhere."""
ASK_AGAIN = 30.0
"""Seconds after which the API servers are asked again, also where nothing moves."""
Records = Mapping[WorkloadId, Record]


def record_of(view: View, id_: WorkloadId) -> Record:
    """What we changed on a workload so far."""
    placement = view.placements.get(id_.namespace)
    return placement.records.get(id_.owner_key, NO_RECORD) if placement and placement.records else NO_RECORD


def released(view: View) -> Collection[WorkloadId]:
    """Workloads whose release was written down for this target."""
    if view.target.mode is Mode.INJECT:
        return view.all_placements.released.get(label_value(view.target.version), frozenset())
    return {
        id_
        for placement in view.placements.values()
        for id_, target in placement.tolerating.items()
        if target == view.target.version
    }


def may_move(view: View, early: frozenset[WorkloadId]) -> frozenset[WorkloadId]:
    """Workloads that are released, and unless we are paused, those that wait for nothing."""
    makes_room = view.spec.on_no_capacity in (OnNoCapacity.CONSOLIDATE, OnNoCapacity.PROVISION)
    if view.target.mode is Mode.INJECT and not view.fleet.targets and not makes_room:
        # whoever was released before the target nodes went could run nowhere
        return frozenset()
    kept = frozenset(released(view))
    if view.spec.paused:
        return frozenset(id_ for id_ in kept if id_ in view.tallies)
    more = (kept | early) - view.order.open
    free = view.order.open if (ours := last.kept(view)) is None else view.order.open - {ours}
    more |= (kept | early) & {ours}
    return free | {id_ for id_ in more if id_ in view.tallies} if more else free


def not_held(view: View) -> WorkloadId | None:
    """The operator's own workload: were its pods lost, and the next ones held off target nodes, nobody would
    be there to release them. It is evicted in its turn all the same."""
    return view.own_workload if view.target.mode is Mode.INJECT else None


def placement_steps(view: View, may_move: frozenset[WorkloadId], changed: Records) -> list[WritePlacement]:
    """What the placements have to say; `changed` are records that become others."""
    namespaces = {id_.namespace for id_ in changed}
    inject = view.target.mode is Mode.INJECT
    namespaces |= (
        _outdated(view, may_move) if inject else {one for one in view.placements if _retarget(view, one)}
    )
    namespaces |= view.all_placements.misguarded
    namespaces -= view.unreadable_in(WORKLOAD_PLACEMENT).keys()
    wanted = _turns(view, may_move, namespaces) if inject and namespaces else {}
    steps = (_placement(view, one, wanted.get(one, {}), changed) for one in sorted(namespaces))
    return [step for step in steps if step is not None]


def without_placement(view: View) -> list[str]:
    """Namespaces of workloads that take part which have no placement, unless it cannot be written."""
    held = view.order.ours - {not_held(view)}
    if view.target.mode is not Mode.INJECT or held <= view.all_placements.listed:
        return []
    needed = {id_.namespace for id_ in held}
    known = view.placements.keys() | view.unreadable_in(WORKLOAD_PLACEMENT).keys()
    return sorted(name for name in needed - known if not not_written(view, name))


def not_written(view: View, namespace: str) -> str:
    """Why the placement of a namespace cannot be written; empty where it can, or may still be."""
    last = view.outcomes.last.get(WritePlacement.key_for(namespace))
    if last is None or not retries.has_failed(last):
        return ""
    return f"WorkloadPlacement {namespace}/{PLACEMENT} cannot be written: {last.message}"


def _retarget(view: View, namespace: str) -> bool:
    spec = view.placements[namespace].spec
    return spec.target != label_value(view.target.version) or bool(spec.turns)


def _outdated(view: View, may_move: frozenset[WorkloadId]) -> set[str]:
    """Namespaces whose placement names or releases others than it should, or is for another target."""
    value, ours = label_value(view.target.version), view.order.ours - ({not_held(view)} - may_move)
    old = {
        name for target, names in view.all_placements.namespaces.items() if target != value for name in names
    }
    free = view.all_placements.released.get(value, frozenset[WorkloadId]())
    different = (ours ^ view.all_placements.listed) | ((may_move & ours) ^ (free & ours))
    return old | {id_.namespace for id_ in different}


def _turns(view: View, may_move: frozenset[WorkloadId], namespaces: set[str]) -> dict[str, dict[str, Turn]]:
    wanted, never = dict[str, dict[str, Turn]](), not_held(view)
    for id_, tally in view.tallies.items():
        turn = Turn.RELEASED if id_ in may_move else Turn.HELD
        left_out = turn is Turn.HELD and id_ == never
        if id_.namespace in namespaces and not tally.skipped and not left_out:
            wanted.setdefault(id_.namespace, {})[id_.owner_key] = turn
    return {name: dict(sorted(turns.items())[:MOST_NAMED]) for name, turns in wanted.items()}


def _records(view: View, namespace: str, changed: Records) -> dict[str, str]:
    placement = view.placements.get(namespace)
    kept = dict(placement.spec.ledger) if placement else {}
    for id_, record in changed.items():
        if id_.namespace == namespace:
            kept.pop(id_.owner_key, None)
            kept |= RECORDS.encode({id_.owner_key: record}) if record else {}
    return kept


def _binds(view: View, namespace: str, changed: Records) -> bool:
    """Whether the records, as they become, say what has to be undone before they may be lost."""
    placement = view.placements.get(namespace)
    fresh = {id_.owner_key: record for id_, record in changed.items() if id_.namespace == namespace}
    if any(record.binds for record in fresh.values()):
        return True
    if placement is None:
        return False
    kept = (record for owner, record in placement.records.items() if owner not in fresh)
    return bool(placement.broken) or any(record.binds for record in kept)


def finalizers(placement: Placement | None, *, binding: bool) -> tuple[str, ...] | None:
    """What a placement is to have, where it has others; it lasts for as long as its records bind."""
    have = placement.row.finalizers if placement else ()
    if (FINALIZER in have) == binding:
        return None
    others = tuple(one for one in have if one != FINALIZER)
    return (*others, FINALIZER) if binding else others


def _placement(view: View, namespace: str, turns: dict[str, Turn], changed: Records) -> WritePlacement | None:
    placement, ledger = view.placements.get(namespace), _records(view, namespace, changed)
    target = label_value(view.target.version)
    guards = finalizers(placement, binding=_binds(view, namespace, changed))
    if placement is None:
        return (
            WritePlacement(namespace, "", 0, target, turns, ledger, _news({}, turns), guards)
            if turns or ledger
            else None
        )
    spec = placement.spec
    if guards is None and spec.target == target and spec.turns == turns and spec.ledger == ledger:
        return None
    row = placement.row
    before = spec.turns if spec.target == target else {}
    return WritePlacement(
        namespace, row.uid, row.resource_version, target, turns, ledger, _news(before, turns), guards
    )


def _news(before: Mapping[str, Turn], after: Mapping[str, Turn]) -> str:
    """Workloads that are newly held or released, the first few by name."""
    released = sorted(owner for owner, turn in after.items() if turn is Turn.RELEASED != before.get(owner))
    held = sum(turn is Turn.HELD and owner not in before for owner, turn in after.items())
    named = ", ".join(released[:3]) + (f" and {len(released) - 3} more" if len(released) > 3 else "")
    parts = [f"{named} to target nodes only"] if released else []
    parts += [f"{held} held"] if held else []
    return "; ".join(parts) or "records"


def is_in_force(view: View, namespace: str) -> bool:
    """Whether the API servers were seen to go by the placement of that namespace."""
    placement = view.placements.get(namespace)
    return placement is not None and placement.is_in_force(view.in_force)


def relied_on(view: View, id_: WorkloadId) -> tuple[str, int]:
    """The placement that has to be in force when a pod of the workload goes, by uid, and its generation."""
    placement = view.placements.get(id_.namespace)
    if placement is None or view.target.mode is not Mode.INJECT:
        return "", 0
    return placement.row.uid, placement.row.generation


def checks(view: View, namespaces: Iterable[str]) -> list[CheckInForce]:
    """Placements that something is about to rely on, and that were not seen to be in force, or have to be
    seen so again."""
    wanted = {name for name in namespaces if not is_in_force(view, name)}
    wanted |= {one.workload.namespace for one in view.strays}
    wanted |= set(out_of_force(view)) or _looked_after(view)
    return [
        CheckInForce(name, placement.row.uid, placement.row.generation)
        for name in sorted(wanted)
        if (placement := view.placements.get(name)) is not None
    ]


def out_of_force(view: View) -> list[str]:
    """Namespaces whose placement no API server went by when it was last asked."""
    if view.target.mode is not Mode.INJECT:
        return []
    return [name for name, one in view.placements.items() if view.in_force.get(one.row.uid) == 0]


def _looked_after(view: View) -> set[str]:
    """One namespace, now and then: one policy steers the pods of all, also of those that are only held."""
    if view.target.mode is not Mode.INJECT or view.unasked < ASK_AGAIN:
        return set()
    return set(sorted(name for name, one in view.placements.items() if one.listed)[:1])


def taken_away(placement: Placement) -> WritePlacement | DeletePlacement:
    """What takes a placement away of which no record is left: our finalizer goes first."""
    row, spec = placement.row, placement.spec
    if FINALIZER not in row.finalizers:
        return DeletePlacement(row.namespace, row.uid, row.resource_version)
    guards = finalizers(placement, binding=False)
    return WritePlacement(
        row.namespace, row.uid, row.resource_version, spec.target, {}, {}, "no record is left", guards
    )
