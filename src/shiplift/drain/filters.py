"""Which pods of a node a drain is about: the filters of `kubectl drain`, in its order.

What differs from it: a pod that ends already is waited for whatever volumes and owners it has; a pod is told
all that speaks against its eviction, not the first thing only; and what comes back to the cordoned node
because it tolerates that is evicted once, not for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from shiplift.drain.model import Judgement, Presence, Reason, Settings, Verdict, full_name
from shiplift.facts.nodes import Taint
from shiplift.facts.pods import Pod, tolerated

MIRROR = "kubernetes.io/config.mirror"
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What Kubernetes' own controllers make of a cordon."""


def _never_late(_: Pod) -> bool:
    return False


def _not_ours(_: Pod) -> bool:
    return False


class Around(NamedTuple):
    """What filters know besides the pod."""

    settings: Settings
    daemon_set: Callable[[Pod], Presence]
    """Whether the DaemonSet that a pod names as its controller is there."""
    now: int
    """Seconds since 1970, as in all rows."""
    came_late: Callable[[Pod], bool] = _never_late
    """Whether a pod came after the node was cordoned, as far as that is known."""
    ours: Callable[[Pod], bool] = _not_ours
    """Whether a pod is the operator's own."""


class Finding(NamedTuple):
    """What one filter says; a pod may go as far as a filter that says nothing is concerned."""

    verdict: Verdict
    reason: Reason | None = None


Filter = Callable[[Pod, Around], Finding | None]


def _deleted(pod: Pod, around: Around) -> Finding | None:
    """The time at which a pod was asked to go is that at which it has to be gone."""
    limit = around.settings.skip_wait_for_delete
    late = pod.deleting and around.now - pod.deleting > limit > 0
    return Finding(Verdict.LEAVE, Reason.LONG_DELETED) if late else None


def _daemon_set(pod: Pod, around: Around) -> Finding | None:
    if not of_daemon_set(pod) or pod.finished:
        return None
    match around.daemon_set(pod):
        case Presence.THERE:
            return Finding(Verdict.LEAVE, Reason.DAEMON_SET)
        case Presence.GONE:
            allowed = around.settings.evict_unmanaged
            return Finding(Verdict.EVICT if allowed else Verdict.CANNOT, Reason.DAEMON_SET_GONE)
        case Presence.UNKNOWN:
            return Finding(Verdict.CANNOT, Reason.DAEMON_SET_UNKNOWN)


def of_daemon_set(pod: Pod) -> bool:
    """Whether a DaemonSet is what the pod names as its controller."""
    owner = pod.controller
    return owner is not None and (owner.kind, owner.api_version) == ("DaemonSet", "apps/v1")


def _mirror(pod: Pod, _: Around) -> Finding | None:
    return Finding(Verdict.LEAVE, Reason.MIRROR) if MIRROR in pod.annotations else None


def _comes_back(pod: Pod, around: Around) -> Finding | None:
    back = not pod.deleting and tolerated(pod.spec.tolerations, CORDON) and around.came_late(pod)
    return Finding(Verdict.LEAVE, Reason.COMES_BACK) if back else None


def _going(pod: Pod, _: Around) -> Finding | None:
    return Finding(Verdict.GOING) if pod.deleting else None


def _empty_dir(pod: Pod, around: Around) -> Finding | None:
    """What the operator itself keeps in temporary files is had again."""
    if not pod.spec.empty_dir or pod.finished or around.ours(pod):
        return None
    allowed = around.settings.delete_empty_dir_data
    return Finding(Verdict.EVICT if allowed else Verdict.CANNOT, Reason.EMPTY_DIR)


def _unmanaged(pod: Pod, around: Around) -> Finding | None:
    """Whoever names a controller is managed, also by one that is not known here."""
    if pod.controller is not None or pod.finished:
        return None
    allowed = around.settings.evict_unmanaged
    return Finding(Verdict.EVICT if allowed else Verdict.CANNOT, Reason.UNMANAGED)


def _finished(pod: Pod, _: Around) -> Finding | None:
    return Finding(Verdict.EVICT, Reason.FINISHED) if pod.finished else None


FILTERS: tuple[Filter, ...] = (
    _deleted,
    _daemon_set,
    _mirror,
    _comes_back,
    _going,
    _empty_dir,
    _unmanaged,
    _finished,
)
_SETTLED = (Verdict.LEAVE, Verdict.GOING)


def judge(pod: Pod, around: Around) -> Judgement:
    """What a drain does with a pod of its node."""
    findings = list[Finding]()
    for one in FILTERS:
        if (found := one(pod, around)) is None:
            continue
        if found.verdict in _SETTLED:
            return Judgement(pod, found.verdict, _reasons([found]))
        findings.append(found)
    against = [found for found in findings if found.verdict is Verdict.CANNOT]
    return Judgement(pod, Verdict.CANNOT if against else Verdict.EVICT, _reasons(against or findings))


def _reasons(findings: Iterable[Finding]) -> tuple[Reason, ...]:
    return tuple(found.reason for found in findings if found.reason is not None)


def judge_all(pods: Iterable[Pod], around: Around) -> tuple[Judgement, ...]:
    """All pods of a node, by name."""
    return tuple(judge(pod, around) for pod in sorted(pods, key=lambda pod: (full_name(pod), pod.uid)))
