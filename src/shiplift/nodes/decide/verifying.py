"""What an agent says is looked at before it is believed: an ordered tuple of checks, the first that does not
hold is told.

A check that can only come true by itself is waited for as long as `nodeTimeout`; a package of another version
than ordered fails the node at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shiplift.agent.protocol import Operation, fits
from shiplift.api.nodes import Reboot
from shiplift.api.values import duration
from shiplift.engine.step import Step
from shiplift.nodes.decide.case import Case
from shiplift.nodes.decide.wanted import package, same
from shiplift.nodes.model import LeaseSeen, Reason
from shiplift.nodes.names import CONTROLLERS, CONTROLLERS_SPACE, KUBEADM, KUBELET, controllers_after
from shiplift.nodes.steps import CheckLease

_BETWEEN_LOOKS = timedelta(seconds=0.25)
"""Each waits up to a second for the Lease to be renewed."""
_LEASE_LOOKS = 36
"""A kubelet that is there renews its Lease within 40 s; a new leader has seen nothing of it yet."""


class Doubt(NamedTuple):
    """What does not hold yet, or never will."""

    reason: Reason
    message: str
    final: bool = False
    steps: tuple[Step, ...] = ()
    due: datetime | None = None
    sure: bool = True
    """Whether it was looked at long enough to tell that it does not hold."""


Check = Callable[[Case], Doubt | None]


def doubt(case: Case) -> Doubt | None:
    """The first check that does not hold; None where the node is as it should be."""
    found = next((one for check in CHECKS if (one := check(case)) is not None), None)
    if found is None or found.final:
        return found
    limit = duration(case.rollout.spec.node_timeout)
    if case.late(limit) and found.sure:
        text = f"{found.message} {int(limit.total_seconds())} s after its agent was through"
        return Doubt(found.reason, text, final=True)
    return (
        found
        if case.late(limit)
        else found._replace(due=min(found.due or case.since + limit, case.since + limit))
    )


def _at_rest(case: Case) -> Doubt | None:
    """An agent whose answer somebody took off the node does again what it was asked to do."""
    return Doubt(Reason.CHANGING, "its agent is at work again") if case.at_work else None


def _packages(case: Case) -> Doubt | None:
    for one in case.record.software:
        current = case.member.current.get(one.name, "")
        if fits(one.desired, current) or _known_by_kubelet(case, one.name):
            continue
        if not current:
            # somebody may have taken the annotation off: its agent says it again in a moment
            return Doubt(Reason.WRONG_VERSION, f"its agent does not say which {one.name} it has")
        text = f"its agent is through, and it has {one.name} {current} and not {one.desired}"
        return Doubt(Reason.WRONG_VERSION, text, final=True)
    return None


def _known_by_kubelet(case: Case, name: str) -> bool:
    """An agent that says nothing of the kubelet: the kubelet speaks for itself."""
    return name == KUBELET and name not in case.member.current


def _kubelet(case: Case) -> Doubt | None:
    wanted = next((one.desired for one in case.record.software if one.name == KUBELET), "")
    version = case.member.row.kubelet_version
    if not wanted or fits(wanted, package(version)) or same(version, wanted.partition("-")[0]):
        return None
    return Doubt(Reason.WRONG_VERSION, f"its kubelet says {version or 'nothing'} and not v{wanted}")


def _api_server(case: Case) -> Doubt | None:
    if case.operation is Operation.PACKAGES:
        return None
    wanted = next((one.desired for one in case.record.software if one.name == KUBEADM), "")
    version = case.view.api_servers.get(case.member.name, "")
    if same(version, wanted.partition("-")[0]):
        return None
    return Doubt(Reason.WRONG_VERSION, f"its API server says {version or 'nothing'} and not v{wanted}")


def _restarted(case: Case) -> Doubt | None:
    before, now = case.before.boot_id, case.member.row.boot_id
    asked = case.rollout.spec.reboot is Reboot.ALWAYS and case.operation is Operation.PACKAGES
    if not asked or not before or before != now:
        return None
    return Doubt(Reason.NOT_READY, "it was to be restarted, and its boot id is the one from before")


def _ready(case: Case) -> Doubt | None:
    if case.member.row.ready:
        return None
    return Doubt(Reason.NOT_READY, "it is not Ready")


def _lease(case: Case) -> Doubt | None:
    """A Ready from before the change stays for a minute: the Lease tells that the kubelet is there now."""
    step = CheckLease(case.member.name, case.member.uid, 0)
    return _renewed(case, step, "it has not renewed its Lease yet")


def _controllers(case: Case) -> Doubt | None:
    """Whoever led them may have run on this node, and another leads only after a quarter of a minute: the
    next node is not emptied before, or Services would lead to pods that are gone."""
    if case.operation is Operation.PACKAGES:
        return None
    step = CheckLease(CONTROLLERS, controllers_after(case.member.uid), 0, CONTROLLERS_SPACE)
    return _renewed(case, step, f"nobody leads as {CONTROLLERS} yet")


def _renewed(case: Case, looked: CheckLease, told: str) -> Doubt | None:
    seen = case.view.leases.get(looked.uid, LeaseSeen())
    if seen.advancing:
        return None
    step = msgspec.structs.replace(looked, attempt=seen.attempt)
    doubt_ = Doubt(Reason.NOT_READY, told, sure=seen.attempt > _LEASE_LOOKS)
    last = case.view.outcomes.of(step)
    again = last.at + _BETWEEN_LOOKS if last is not None and last.at is not None else case.now
    under_way = step.key in case.view.outcomes.running
    return doubt_._replace(steps=(step,)) if under_way or again <= case.now else doubt_._replace(due=again)


CHECKS: tuple[Check, ...] = (
    _at_rest,
    _packages,
    _kubelet,
    _api_server,
    _restarted,
    _ready,
    _lease,
    _controllers,
)
