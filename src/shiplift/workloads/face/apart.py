"""Why a workload, or a pod of it, has nothing to pass: it takes no part, or is where it belongs."""

from __future__ import annotations

from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.facts.pods import Pod
from shiplift.view.values import plain
from shiplift.workloads.decide.decision import begun, unreadable_migration
from shiplift.workloads.face.words import EXCLUDED, MOVED, NO_MIGRATION_HERE, NOTHING_MOVES, OPTED_OUT
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off
from shiplift.workloads.model import Role, View


def workload_apart(view: View, id_: WorkloadId) -> str:
    """Why the workload has nothing to pass; empty where it has."""
    return _nothing_moves(view) or _takes_no_part(view, id_) or _has_moved(view, id_)


def _has_moved(view: View, id_: WorkloadId) -> str:
    return MOVED if id_ in view.order.met and id_ not in view.returned else ""


def _nothing_moves(view: View) -> str:
    if trouble := unreadable_migration(view):
        return plain(f"nothing is moved: {trouble}")
    if view.migration is None:
        return NO_MIGRATION_HERE
    if not view.target.version:
        return NOTHING_MOVES
    return "" if begun(view) else f"the operator has not begun to move workloads to {view.target.version}"


def _takes_no_part(view: View, id_: WorkloadId) -> str:
    if id_.namespace in view.spec.exclude_namespaces:
        return EXCLUDED
    if id_ not in view.tallies:
        return "it is being deleted"
    return OPTED_OUT if view.tallies[id_].skipped else ""


def pod_apart(view: View, pod: Pod) -> str:
    """Why the pod has nothing to pass though its workload has; empty where it is to be moved."""
    if pod.finished or pod.deleting:
        return "it has ended" if pod.finished else "it is on its way out"
    return _on_node(view, pod.node) if pod.node else _on_no_node(view, pod)


def _on_node(view: View, node: str) -> str:
    match view.fleet.roles.get(node):
        case Role.TARGET:
            return f"it is on a target node already, {node}"
        case Role.OUTSIDE:
            return f"its node {node} is none of those that the migration selects"
        case Role.OFF:
            return ""
        case None:
            return f"its node {node} is gone"


def _on_no_node(view: View, pod: Pod) -> str:
    if not is_kept_off(pod, TARGET_LABEL, label_value(view.target.version)):
        return "it is on no node yet; the scheduler finds it one"
    return "it is on no node yet; it was made to keep off target nodes and is made again when its turn comes"
