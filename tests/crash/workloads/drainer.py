"""Somebody who drains an old node half-way, and knows nothing of whose turn it is."""

from __future__ import annotations

import time

from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import BudgetExhausted, BudgetPending, KubeError
from tests.crash.facts import Json, kind, owner
from tests.crash.recorder import Key, State
from tests.crash.workloads import facts
from tests.crash.workloads.scenarios import Scenario

_PATIENCE = 3.0
"""Seconds that somebody who drains gives us to hold what has to be held; more than a crash takes."""


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


def _is_held(state: State, pod: Json) -> bool:
    """Whether a budget covers it that lets nobody go, and its controller has looked at that."""
    budgets = [one for one in kind(state, "PodDisruptionBudget") if facts.selects(one, pod)]
    return any(
        one["spec"].get("maxUnavailable") == 0
        and one.get("status", {}).get("observedGeneration") == one["metadata"]["generation"]
        for one in budgets
    )
