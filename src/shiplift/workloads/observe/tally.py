"""Where the pods of one workload are, and whether it has arrived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, HorizontalPodAutoscaler, ReplicaSet, StatefulSet
from shiplift.pdb.index import Cover
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Role, Tally
from shiplift.workloads.names import SKIP

ENDED = frozenset({"Succeeded", "Failed"})
_NOBODY: Mapping[str, int] = {}
EVICTED = "EvictionByEvictionAPI"
"""The reason of a pod's condition DisruptionTarget while it is evicted."""


def tally(  # noqa: PLR0913 - all that a tally is made of
    id_: WorkloadId,
    row: Deployment | StatefulSet,
    sets: Sequence[ReplicaSet],
    pods: Iterable[Pod],
    roles: Mapping[str, Role],
    cover: Cover,
    autoscaler: HorizontalPodAutoscaler | None,
    *,
    seen_ready: Mapping[str, int] = _NOBODY,
) -> Tally:
    """Count the pods of one workload by where they are; `seen_ready` is when we saw some become Ready."""
    here: list[Pod] = []
    away: list[Pod] = []
    pending: list[Pod] = []
    leaving = leaving_target = ready = last_ready = 0
    evicted: tuple[str, ...] = ()
    last: Pod | None = None
    for pod in pods:
        if pod.phase in ENDED:
            continue
        if pod.disruption and pod.disruption == EVICTED:
            evicted += (pod.uid,)
        if pod.deleting:
            leaving, last = leaving + 1, pod
            leaving_target += roles.get(pod.node) is Role.TARGET
            continue
        here.append(pod)
        if not pod.node:
            pending.append(pod)
            continue
        own = roles.get(pod.node)
        if own is None:
            leaving += 1
            continue
        if pod.ready:
            ready += 1
            since = seen_ready.get(pod.uid, pod.ready_since)
            if since > last_ready:  # noqa: PLR1730 - a call for each of many pods
                last_ready = since
        if own is Role.OFF:
            away.append(pod)
    rolling = is_rolling(row, sets)
    complete = not (rolling or away or pending or leaving) and len(here) == ready == row.replicas
    skipped = row.annotations.get(SKIP) == "true"
    return Tally(
        id_,
        row,
        tuple(here),
        tuple(away),
        tuple(pending),
        leaving,
        ready,
        last_ready,
        rolling,
        complete,
        cover.budgets,
        autoscaler,
        skipped,
        evicted,
        (),
        here[0] if here else last,
        cover.apart,
        leaving_target,
    )


def with_evicting(counted: Tally, evicting: Sequence[Pod]) -> Tally:
    """With these pods, not counted so far, as leaving: they are being evicted, and nothing shows it yet."""
    return msgspec.structs.replace(
        counted,
        leaving=counted.leaving + len(evicting),
        complete=False,
        evicting=tuple(evicting),
        alike=counted.alike or evicting[0],
    )


def is_rolling(row: Deployment | StatefulSet, sets: Sequence[ReplicaSet]) -> bool:
    """Whether the owner is being rolled out; pods that are merely missing are no rollout."""
    if row.observed_generation < row.generation:
        return True
    if isinstance(row, Deployment):
        # while it is paused nothing rolls: what there is of each ReplicaSet stays
        return not row.paused and sum(1 for one in sets if one.replicas or one.current_replicas) > 1
    if row.strategy == "OnDelete" or not row.update_revision:
        return False
    if row.partition:
        return row.updated_replicas < row.replicas - row.partition
    return row.update_revision != row.current_revision
