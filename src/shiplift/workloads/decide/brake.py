"""The brake: what stops evictions, whatever the cause, before pods are moved round and round.

- A stray: a pod was made without our rule although the placement that names its workload was in force. All
  evictions wait until every API server has proven again that it steers pods.
- An old node without its mark: pods keep off marks, not versions, so they could come back to it. All
  evictions wait until the node is marked; after ten seconds somebody has to know.
- A workload whose pods were evicted, for this target, twice as often as it ever had replicas, and are still
  on old nodes: something sends them back. It waits until a person has looked. Evictions that make room are
  counted apart, for each old node that is emptied.
- A workload of which pending pods that keep off target nodes were made again, for this target, twice as often
  as it ever had replicas, and do so still. It waits until a person has looked.
- A template that was given our toleration again, for this target, three times, and does not have it: somebody
  takes it off, and each time the workload is rolled out twice. It waits until a person has looked.

Each stop says what to do, and is over by itself when that is done.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.api.workloads import WorkloadState, WorkloadStatus
from shiplift.engine import retries
from shiplift.facts.pods import Pod
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.candidates import misplaced
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off
from shiplift.workloads.model import Effort, Line, Reason, Tally, View
from shiplift.workloads.names import PODS_POLICY

MARK_WITHIN = 10.0
"""Seconds for an old node to get its mark before somebody has to know."""
ATTEMPTS_TO_PROVE = 8
"""So often a placement may be found not to be in force before somebody has to know."""
MOST_ROUNDS = 2
"""Evictions of a workload for each of its replicas; more are no progress."""
MOST_PUT_BACK = 3
"""So often a template is given our toleration again that somebody else takes off."""
_ANEW = "once that is mended, `shiplift pause` and then `shiplift resume` begin anew"
_TAKEN_OFF = "keep others from taking the label off, shiplift puts it back"


def stop_of_all(view: View) -> Line | None:
    """What keeps every pod where it is; None where nothing does."""
    if view.unmarked:
        return _not_marked(view)
    if view.strays:
        one = view.strays[0]
        asked = not_proven(view, one.workload.namespace)
        text = f"nothing moves: pod {one.pod} of {one.workload} was made without our rule; {asked.message}"
        return Line(asked.state, Reason.POD_NOT_STEERED, text)
    unproven = (not_proven(view, name) for name in placements.out_of_force(view))
    return next((one for one in unproven if one.state is WorkloadState.BLOCKED), None)


def _not_marked(view: View) -> Line:
    unmarked = view.unmarked
    name, seconds = max(unmarked.items(), key=lambda one: one[1])
    nodes = f"node {name}" + (f" (and {len(unmarked) - 1} more)" if len(unmarked) > 1 else "")
    if seconds < MARK_WITHIN:
        text = f"old {nodes} is being marked, so that pods do not come back to it"
        return Line(WorkloadState.RELEASED, Reason.NODE_NOT_MARKED, text)
    step = view.fleet.labels.get(name)
    refused = retries.failure(view.outcomes, step) if step is not None else ""
    why = f"it cannot be labelled: {refused}" if refused else _TAKEN_OFF
    text = (
        f"nothing moves: old {nodes} has lacked or lost label {OFF_TARGET_LABEL}, so pods could come back to"
        f" it; {why}"
    )
    return Line(WorkloadState.BLOCKED, Reason.NODE_NOT_MARKED, text)


def not_proven(view: View, namespace: str) -> Line:
    """Why the placement of a namespace is not relied on, in the words of the last attempt to prove it."""
    asked = next((one for one in placements.checks(view, [namespace]) if one.namespace == namespace), None)
    last = view.outcomes.of(asked) if asked else None
    text = last.message if last and not last.ok else f"API servers are asked whether they go by {PODS_POLICY}"
    late = last is not None and not last.ok and last.attempt > ATTEMPTS_TO_PROVE
    return Line(WorkloadState.BLOCKED if late else WorkloadState.RELEASED, Reason.NOT_IN_FORCE, text)


Counted = Mapping[WorkloadId, WorkloadStatus]


def told(line: WorkloadStatus, effort: Effort) -> int:
    """How often the status says that it was done to the workload of that line."""
    return getattr(line, effort.value)


def is_counted(line: WorkloadStatus) -> bool:
    """Whether the brake needs that line; asked of all lines in each decision."""
    return bool(line.evictions or line.made_room or line.made_again)


def counted(view: View) -> Counted:
    """The lines of the status that count something."""
    return {
        WorkloadId(one.kind.value, one.namespace, one.name): one
        for one in view.status.workloads
        if is_counted(one)
    }


class _Times(NamedTuple):
    """How often something was done to a workload, and how many replicas it had at most."""

    times: int
    most: int

    @property
    def too_often(self) -> bool:
        return self.times >= MOST_ROUNDS * self.most


def _times(view: View, tally: Tally, so_far: Counted, effort: Effort) -> _Times:
    line = so_far.get(tally.id)
    known = line if line is not None and line.uid == tally.row.uid else None
    times = view.evicted.of(effort).get(tally.id, 0) + (told(known, effort) if known else 0)
    return _Times(times, max(tally.row.replicas, known.most_replicas if known else 0, 1))


def stop_of(view: View, tally: Tally, so_far: Counted) -> Line | None:
    """What keeps the pods of one workload where they are; None where nothing does."""
    found = _times(view, tally, so_far, Effort.MOVED) if tally.away else None
    if found is None or not found.too_often:
        return None
    text = (
        f"stopped after {found.times} evictions for {found.most} replicas:"
        f" {_sent_back(view, _youngest(tally))}; {_ANEW}"
    )
    return Line(WorkloadState.BLOCKED, Reason.EVICTED_TOO_OFTEN, text)


def stop_of_making_again(view: View, tally: Tally, so_far: Counted) -> Line | None:
    """What keeps pending pods of a workload from being made again; None where nothing does."""
    found = _times(view, tally, so_far, Effort.MADE_AGAIN)
    pods = misplaced(tally, view.target.version) if found.too_often else ()
    if not pods:
        return None
    pod = max(pods, key=lambda one: (one.created, one.name))
    text = (
        f"stopped after {found.times} pending pods for {found.most} replicas were made again: the last, pod"
        f" {pod.name}, keeps off nodes with label {TARGET_LABEL} all the same: does a webhook add that to its"
        f" node affinity?; {_ANEW}"
    )
    return Line(WorkloadState.BLOCKED, Reason.MADE_AGAIN_TOO_OFTEN, text)


def put_back(view: View) -> Mapping[str, int]:
    """How often the templates of workloads, by uid, were given our toleration again."""
    return {one.uid: one.times for one in view.status.put_back}


def stop_of_giving_again(view: View, tally: Tally, so_far: Mapping[str, int]) -> Line | None:
    """What keeps a template from being given our toleration once more; None where nothing does."""
    times = so_far.get(tally.row.uid, 0) + view.evicted.given_again.get(tally.id, 0)
    if times < MOST_PUT_BACK:
        return None
    text = (
        f"stopped after its template was put back {times + 1} times: somebody, such as a GitOps controller,"
        f" takes our toleration for {UPGRADE_TAINT} off it, which rolls it out each time; use mode Inject,"
        f" let them ignore the tolerations of its template, or have them write this one; {_ANEW}"
    )
    return Line(WorkloadState.BLOCKED, Reason.TEMPLATE_PUT_BACK, text)


def stop_of_making_room(view: View, tally: Tally, so_far: Counted) -> Line | None:
    """What keeps the pods of one workload from being evicted to make room; None where nothing does."""
    found = _times(view, tally, so_far, Effort.MADE_ROOM) if tally.away else None
    if found is None or not found.too_often:
        return None
    pod = _youngest(tally)
    ruled = is_kept_off(pod, TARGET_LABEL, label_value(view.target.version))
    why = (
        f"who takes label {TARGET_LABEL} off the node that is emptied?"
        if ruled
        else "it is without our rule: does a webhook take its node affinity off?"
    )
    text = (
        f"makes no more room after {found.times} evictions for {found.most} replicas, which came back to the"
        f" node that was to be emptied; the last is pod {pod.name} on {pod.node}: {why}; {_ANEW}"
    )
    return Line(WorkloadState.BLOCKED, Reason.EVICTED_TOO_OFTEN, text)


def stops_of_making_room(view: View, released: Container[WorkloadId]) -> Mapping[WorkloadId, Line]:
    """The held workloads of which no pod makes room any more, and why."""
    so_far = counted(view)
    found = ((id_, view.tallies.get(id_)) for id_ in so_far.keys() | view.evicted.made_room.keys())
    lines = (
        (id_, stop_of_making_room(view, tally, so_far))
        for id_, tally in found
        if tally is not None and id_ not in released
    )
    return {id_: line for id_, line in lines if line is not None}


def _youngest(tally: Tally) -> Pod:
    """The pod that came last: it was made after an eviction, if any was."""
    return max(tally.away, key=lambda pod: (pod.created, pod.name))


def _sent_back(view: View, pod: Pod) -> str:
    where = f"pod {pod.name} is on old node {pod.node}"
    if is_kept_off(pod, OFF_TARGET_LABEL, label_value(view.target.version)):
        return f"{where}, though it keeps off nodes with label {OFF_TARGET_LABEL}: who takes that label off?"
    return (
        f"{where}, without our rule: does a webhook take its node affinity off, or was its ReplicaSet taken"
        " over from a Deployment of another name?"
    )
