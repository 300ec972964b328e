"""What is looked at once more before a node is touched, and what follows where somebody takes our cordon
back."""

from __future__ import annotations

import msgspec

from shiplift.api.nodes import NodeState
from shiplift.nodes.decide import claiming, draining, resting, timing
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.model import Reason


def withheld(case: Case) -> Passed | None:
    """Nothing was done to it yet, and since it was chosen somebody paused the rollout, its window closed, or
    another node went down. It is chosen again when its turn comes; a control-plane node waits for others, and
    one that was chosen for a slot that is about to be free waits for that."""
    if case.marked:
        return None
    put_off = case.rollout.spec.paused or not timing.may_begin(case.rollout, case.now)
    crowded = bool(case.crowded) and not case.member.down
    if crowded and not put_off and case.member.control_plane:
        return case.waits(Reason.NO_HEALTHY_CONTROL_PLANE, case.crowded)
    if not crowded and not put_off:
        return Passed(case.record) if case.in_line else None
    steps = resting.closing(case)
    return Passed(case.record, steps) if steps else Passed(None)


def lonely(case: Case) -> Passed | None:
    """Another control-plane node went down since this one was cordoned: it is not changed before that is up
    again. What was changed and is put back is not held up by it."""
    if not case.member.control_plane or case.member.down or not case.crowded:
        return None
    if case.record.state is NodeState.REVERTING:
        return None
    return case.waits(Reason.NO_HEALTHY_CONTROL_PLANE, case.crowded)


def undrainable(case: Case) -> Passed | None:
    """A node with a pod that must not go holds no slot: it is named, and begun again when the pod is gone."""
    if not (why := draining.must_not(case)):
        return None
    if steps := resting.closing(case):
        return Passed(case.record, steps)
    return Passed(case.to(NodeState.WAITING, Reason.DRAIN_BLOCKED, why, token=None).record)


def unclaimed(case: Case) -> Passed | None:
    """A control-plane node is claimed before it is touched."""
    if not case.member.control_plane:
        return None
    claim = claiming.to_open(case)
    if claim is None:
        return None
    if why := claiming.others(case.view, claim.token):
        again = case.now + claiming.READ_AGAIN if case.view.claims is None else None
        return case.waits(case.record.reason, why, due=again)
    return case.waits(case.record.reason, "the control plane is claimed for it", claim)


def cordoned_again(case: Case) -> Passed:
    """Whoever had cordoned it before, and takes that back meanwhile, finds it uncordoned in the end."""
    if case.before.unschedulable and not case.member.row.unschedulable:
        before = msgspec.structs.replace(case.before, unschedulable=False)
        return Passed(case.to(case.record.state, case.record.reason, before=before).record, (case.cordon(),))
    step = case.cordon()
    made = case.view.changes.get(step.change)
    if made is not None and made.times >= draining.CONTESTED_AFTER:
        return case.waits(Reason.CONTESTED, step.undone_by_others(), step)
    return case.waits(case.record.reason, "somebody took our cordon back: it is cordoned again", step)
