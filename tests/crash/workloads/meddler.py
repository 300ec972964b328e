"""Others who know nothing of shiplift, or think nothing of it: each does one thing half-way, and is done.

Somebody undoes a part of shiplift itself, as GitOps or a tidy person may; somebody drains a node; the
disruption controller makes its one known mistake.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from shiplift.facts import kinds
from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY_BINDING
from shiplift.kube.client import Client
from shiplift.kube.errors import BudgetExhausted, BudgetPending, KubeError
from shiplift.kube.fence import EPOCH, HOME, POD
from shiplift.workloads import admission
from tests.crash.facts import Json, kind, owner, ready, terminating
from tests.crash.orders import SPACE
from tests.crash.recorder import Key, State
from tests.crash.workloads import facts
from tests.crash.workloads.scenarios import Bystander, Scenario, Workload

_FENCE = "shiplift-fence"
_GONE_FOR = 1.5
"""Seconds for which the binding is away: without a brake, pods would be moved to and fro meanwhile."""
_PATIENCE = 3.0
"""Seconds that somebody who drains gives us to hold what has to be held; more than a crash takes."""
_SEEN_LONG_AGO = timedelta(seconds=6)


class Meddler(Protocol):
    """Acts when it is told that half of the way is done."""

    done: bool
    complaints: list[str]
    """What it could do that it should not have been able to."""

    def play(self, state: State, *, half_way: bool) -> None: ...


class Nobody:
    """Does nothing."""

    def __init__(self) -> None:
        self.done = True
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None: ...


class StripsTheFence:
    """Takes the epoch off its home."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        if half_way:
            uid = self._admin.get(HOME, _FENCE, SPACE)["metadata"]["uid"]
            bare = {"metadata": {"annotations": {EPOCH: None, POD: None}}}
            self._admin.patch(HOME, _FENCE, bare, SPACE, uid=uid)
            self.done = True


class RemovesTheBinding:
    """Of the policy that steers pods; and puts it back a little later."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self._gone_since = 0.0
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        if self._gone_since and time.monotonic() > self._gone_since + _GONE_FOR:
            self._put_back()
            self.done = True
        elif half_way and not self._gone_since:
            self._remove()
            self._gone_since = time.monotonic()

    def _remove(self) -> None:
        kind, name = MUTATING_ADMISSION_POLICY_BINDING, admission.PODS_POLICY
        self._admin.delete(kind, name, uid=self._admin.get(kind, name)["metadata"]["uid"])

    def _put_back(self) -> None:
        kind = MUTATING_ADMISSION_POLICY_BINDING
        wanted = (kind.kind, admission.PODS_POLICY)
        for manifest in admission.manifests():
            if (manifest["kind"], manifest["metadata"]["name"]) == wanted:
                self._admin.create(kind, manifest)


class Drains:
    """Cordons the old node of the last workload, and tries to evict its pods that wait for their turn.

    It begins to evict when they are held, or when its patience ends: then they have not been held.
    """

    def __init__(self, admin: Client, scenario: Scenario) -> None:
        self._admin, self._scenario = admin, scenario
        self._node, self._since = "", 0.0
        self.done = False
        self.complaints: list[str] = []

    def play(self, state: State, *, half_way: bool) -> None:
        if half_way and not self._node:
            self._cordon(state)
        elif self._node:
            waiting = [pod for pod in kind(state, "Pod") if self._is_waiting(pod)]
            late = time.monotonic() > self._since + _PATIENCE
            if late or all(_is_held(state, pod) for pod in waiting):
                self.done = all([self._is_answered(pod) for pod in waiting])

    def _cordon(self, state: State) -> None:
        self._node = facts.node_of(facts.pods_of(state, self._scenario.workloads[-1])[0])
        uid = state[Key("Node", "", self._node)]["metadata"]["uid"]
        self._admin.patch(kinds.NODE, self._node, {"spec": {"unschedulable": True}}, uid=uid)
        self._since = time.monotonic()

    def _is_waiting(self, pod: Json) -> bool:
        """Of those who come two after the first half: the next one has its turn, and only lacks a slot."""
        held = {one.id for one in self._scenario.workloads[len(self._scenario.first_half) + 1 :]}
        return facts.node_of(pod) == self._node and owner(pod) in held

    def _is_answered(self, pod: Json) -> bool:
        about = pod["metadata"]
        try:
            self._admin.evict(about["name"], about["namespace"], uid=about["uid"])
        except BudgetPending:
            return False
        except BudgetExhausted:
            return True
        except KubeError:
            return False
        self.complaints.append(f"{owner(pod)} waits for its turn, and somebody else could evict a pod of it")
        return True


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


def meddler(admin: Client, scenario: Scenario) -> Meddler:
    """Who meddles in that scenario."""
    match scenario.bystander:
        case Bystander.NOBODY:
            return Nobody()
        case Bystander.STRIPS_THE_FENCE:
            return StripsTheFence(admin)
        case Bystander.REMOVES_THE_BINDING:
            return RemovesTheBinding(admin)
        case Bystander.DRAINS:
            return Drains(admin, scenario)
        case Bystander.MISTAKES_A_POD:
            return MistakesAPod(admin, scenario.workloads[0])


def _is_held(state: State, pod: Json) -> bool:
    """Whether a budget covers it that lets nobody go, and its controller has looked at that."""
    budgets = [one for one in kind(state, "PodDisruptionBudget") if facts.selects(one, pod)]
    return any(
        one["spec"].get("maxUnavailable") == 0
        and one.get("status", {}).get("observedGeneration") == one["metadata"]["generation"]
        for one in budgets
    )


def _is_back(state: State, pod: Json) -> bool:
    return facts.side(state, pod) == "new" and not terminating(pod)


def _changed(pod: Json, condition: Mapping[str, str]) -> list[Json]:
    return [
        {**one, **condition} if one["type"] == condition["type"] else one
        for one in pod["status"]["conditions"]
    ]


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
