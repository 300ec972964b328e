"""The disruption controller's one known mistake, made on purpose: a pod that is back is taken for evicted."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from tests.crash.facts import Json, ready, terminating
from tests.crash.recorder import Key, State
from tests.crash.workloads import facts
from tests.crash.workloads.shape import NEW_POOL, Workload

_SEEN_LONG_AGO = timedelta(seconds=6)
"""More than the operator gives the controller to see a pod by itself."""


class MistakesAPod:
    """Notes a pod that is back as one that goes, as the disruption controller does where it looks too late.

    The note is older than the pod, as its would be; and the pod is said to be Ready since a while, so that
    nobody has to wait until the controller could have seen it.
    """

    def __init__(self, admin: Client, workload: Workload) -> None:
        self._admin, self._workload = admin, workload
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        del half_way  # it happens as soon as the first pod is back
        back = [pod for pod in facts.pods_of(state, self._workload) if _is_back(state, pod)]
        for pod in back[:1]:
            self._mistake(state, pod)

    def _mistake(self, state: State, pod: Json) -> None:
        name = pod["metadata"]["name"]
        budget = state[Key("PodDisruptionBudget", self._workload.namespace, self._workload.name)]
        if name not in budget.get("status", {}).get("disruptedPods", {}):
            made = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
            note = {name: _time(made - timedelta(seconds=2))}
            self._set(kinds.POD_DISRUPTION_BUDGET, budget, {"disruptedPods": note})
        elif ready(pod):
            since = _time(datetime.now(UTC) - _SEEN_LONG_AGO)
            condition = {"type": "Ready", "status": "True", "lastTransitionTime": since}
            self.done = self._set(kinds.POD, pod, {"conditions": _changed(pod, condition)})

    def _set(self, what: kinds.Kind, thing: Json, status: Json) -> bool:
        about = thing["metadata"]
        with contextlib.suppress(KubeError):  # somebody was faster: it is looked at again
            self._admin.patch(
                what,
                about["name"],
                {"status": status},
                about["namespace"],
                uid=about["uid"],
                resource_version=about["resourceVersion"],
                subresource="status",
            )
            return True
        return False


def _is_back(state: State, pod: Json) -> bool:
    return facts.side(state, pod) == NEW_POOL.name and not terminating(pod)


def _changed(pod: Json, condition: Mapping[str, str]) -> list[Json]:
    return [
        {**one, **condition} if one["type"] == condition["type"] else one
        for one in pod["status"]["conditions"]
    ]


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
