"""The cloud and the user of a scenario: they look at the cluster, and do what is due."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from typing import Any

from shiplift.api.marks import TARGET_LABEL
from shiplift.api.placements import PLACEMENT
from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from tests.crash.facts import healthy, kind, labels
from tests.crash.recorder import Key, State
from tests.crash.stage import Stage
from tests.crash.workloads import facts
from tests.crash.workloads.building import give_roles
from tests.crash.workloads.meddler import meddler
from tests.crash.workloads.scenarios import HalfWay, Scenario
from tests.crash.workloads.shape import NEW, NEW_POOL, OLD, OLD_POOL

_PROPAGATION = 0.1


class World:
    """The cloud and the user: they look at the cluster, and do what is due."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._stage, self._scenario = stage, scenario
        self._stepped_in = scenario.half_way is HalfWay.NOTHING
        self._removed = False
        self._held_since = self._there_since = math.inf
        self._died = not scenario.dies
        self._later = list(scenario.later)
        self._meddler = meddler(stage.admin, scenario)

    @property
    def upstreams(self) -> Mapping[str, str]:
        return {}

    def complaints(self) -> list[str]:
        return self._meddler.complaints

    def beyond(self) -> State:
        return {}

    def close(self) -> None:
        """It has started nothing."""

    def play(self, state: State) -> None:
        give_roles(self._stage, self._scenario, state)
        if not self._died and self._is_held(state):
            self._let_die(state)
        if not self._meddler.done:
            self._meddler.play(state, half_way=self._half_way(state))
        if not self._stepped_in and self._half_way(state):
            self._step_in()
        if self._stepped_in and self._meddler.done:
            self._cloud(state)

    def _cloud(self, state: State) -> None:
        if self._later:
            self._stage.cluster.nodes.add(self._later.pop())
        if self._scenario.in_place:
            self._change_in_place(state)
        elif not self._removed and self._time_to_remove(state):
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
        marked = all(TARGET_LABEL in labels(state[Key("Node", "", one)]) for one in NEW_POOL.names())
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
        return all(facts.all_on(state, one, NEW_POOL.name) for one in self._scenario.first_half)

    @property
    def _aborts(self) -> bool:
        return self._scenario.half_way is HalfWay.ABORT

    def _well(self, state: State) -> bool:
        pods = [facts.pods_of(state, one) for one in self._scenario.workloads]
        complete = all(
            len(found) == one.replicas for found, one in zip(pods, self._scenario.workloads, strict=True)
        )
        return complete and all(healthy(pod) for found in pods for pod in found)

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

    def _change_in_place(self, state: State) -> None:
        """Every old node on which nothing is left gets the new version."""
        taken = {facts.node_of(pod) for pod in kind(state, "Pod")}
        nodes = {one["metadata"]["name"]: one for one in kind(state, "Node")}
        old = [name for name, one in nodes.items() if one["status"]["nodeInfo"]["kubeletVersion"] == OLD]
        for name in old:
            if name not in taken:
                self._stage.cluster.nodes.set_version(name, NEW)
        self._removed = not old
