"""The cloud and the user of a scenario: they look at the cluster, and do what is due."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

from shiplift.api.marks import TARGET_LABEL
from shiplift.api.workloads import PLACEMENT
from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from tests.crash import facts
from tests.crash.meddler import Meddler
from tests.crash.recorder import Key, State
from tests.crash.scenarios import NEW_POOL, OLD, OLD_POOL, HalfWay, Scenario
from tests.crash.stage import Stage

_PROPAGATION = 0.1


class World:
    """The cloud and the user: they look at the cluster, and do what is due."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._stage, self._scenario = stage, scenario
        self._stepped_in = scenario.half_way is HalfWay.NOTHING
        self._removed = False
        self._held_since = self._there_since = math.inf
        self._died = not scenario.dies
        self._meddler = Meddler(stage.admin, scenario.bystander)

    def play(self, state: State) -> None:
        self._stage.give_roles(self._scenario, state)
        if not self._died and self._is_held(state):
            self._let_die(state)
        if not self._meddler.done:
            self._meddler.play(half_way=self._half_way(state))
        if not self._stepped_in and self._half_way(state):
            self._step_in()
        if self._stepped_in and self._meddler.done and not self._removed and self._time_to_remove(state):
            self._remove_the_other_pool()

    def over(self, state: State) -> bool:
        status = facts.migration(state).get("status", {})
        busy = any(one["type"] == "Reconciling" for one in status.get("conditions", []))
        stepped_in = self._stepped_in and self._meddler.done
        ended = stepped_in and status.get("state") == "NoUpgrade" and not busy
        return ended and (self._removed or self._aborts) and not facts.residue(state) and self._well(state)

    def _is_held(self, state: State) -> bool:
        """For long enough that the API server goes by it too."""
        namespace, _, name = self._scenario.dies.partition("/")
        placement = state.get(Key("WorkloadPlacement", namespace, PLACEMENT), {"spec": {}})
        marked = all(TARGET_LABEL in facts.labels(state[Key("Node", "", one)]) for one in NEW_POOL.names())
        held = marked and placement["spec"].get("turns", {}).get(f"Deployment.{name}") == "Held"
        self._held_since = min(self._held_since, time.monotonic()) if held else math.inf
        return time.monotonic() - self._held_since > _PROPAGATION

    def _let_die(self, state: State) -> None:
        for pod in facts.pods_of(state, self._scenario.workload(self._scenario.dies)):
            about = pod["metadata"]
            with contextlib.suppress(KubeError):
                self._stage.admin.delete(kinds.POD, about["name"], about["namespace"], uid=about["uid"])
        self._died = True

    def _half_way(self, state: State) -> bool:
        first = self._scenario.workloads[: len(self._scenario.workloads) // 2]
        return all(facts.all_on(state, one, NEW_POOL.name) for one in first)

    @property
    def _aborts(self) -> bool:
        return self._scenario.half_way is HalfWay.ABORT

    def _well(self, state: State) -> bool:
        pods = [facts.pods_of(state, one) for one in self._scenario.workloads]
        complete = all(
            len(found) == one.replicas for found, one in zip(pods, self._scenario.workloads, strict=True)
        )
        return complete and all(facts.healthy(pod) for found in pods for pod in found)

    def _all_there(self, state: State) -> bool:
        where = self._scenario.destination
        return not self._aborts and all(facts.all_on(state, one, where) for one in self._scenario.workloads)

    def _time_to_remove(self, state: State) -> bool:
        there = self._all_there(state)
        self._there_since = min(self._there_since, time.monotonic()) if there else math.inf
        return time.monotonic() - self._there_since >= self._scenario.linger

    def _step_in(self) -> None:
        change: dict[str, Any] = {"abort": True} if self._aborts else {"target": OLD}
        found = self._stage.admin.get(kinds.WORKLOAD_MIGRATION, "cluster")
        uid = found["metadata"]["uid"]
        self._stage.admin.patch(kinds.WORKLOAD_MIGRATION, "cluster", {"spec": change}, uid=uid)
        self._stepped_in = True

    def _remove_the_other_pool(self) -> None:
        pool = NEW_POOL if self._scenario.destination == OLD_POOL.name else OLD_POOL
        self._stage.cluster.nodes.remove(*pool.names())
        self._removed = True
