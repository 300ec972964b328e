"""Pods that are not moved, and that the taint of mode Template keeps off target nodes: those of Jobs, of
workloads that are left alone, of nobody.

While their nodes are drained by others they would find no node. They are named from the start on. Those that
`spec.tolerate` picks get a toleration, on the pod itself, as soon as they find no node: no template is
changed, nothing is rolled out, and a pod that runs is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.values import selector_of
from shiplift.facts.pods import Pod
from shiplift.workloads.model import View
from shiplift.workloads.steps import LetOn

_MOST_NAMED = 3


def let_on(view: View) -> list[LetOn]:
    """A toleration for each pod that was picked and finds no node."""
    waiting = [pod for pod in view.others if pod.unschedulable] if view.spec.tolerate else []
    picked = (pod for pod in waiting if _is_picked(view, pod))
    return [LetOn(pod.namespace, pod.name, pod.uid, view.target.version) for pod in picked]


def kept_off(view: View) -> Iterator[str]:
    """A line that names those that were not picked, first those that find no node already."""
    found = [pod for pod in view.others if not _is_picked(view, pod)]
    if not found:
        return
    found.sort(key=lambda pod: (not pod.unschedulable, pod.namespace, pod.name))
    names = ", ".join(f"{pod.namespace}/{pod.name}" for pod in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    stuck = sum(bool(pod.unschedulable) for pod in found)
    yield (
        f"pods that are not moved and do not tolerate target nodes: {names}{more}; while others drain their"
        f" nodes they find no node{f' ({stuck} of them now)' if stuck else ''}; pick them in spec.tolerate of"
        " WorkloadMigration cluster, or use mode Inject"
    )


def _is_picked(view: View, pod: Pod) -> bool:
    return any(
        one.namespace in ("", pod.namespace) and selector_of(one.pod_selector).matches(pod.labels)
        for one in view.spec.tolerate
    )
