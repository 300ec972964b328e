"""Who else is there: a user, whatever breaks a change, and a thief. They look, and do what is due, once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from shiplift.agent.protocol import (
    OUTCOME,
    READY,
    Operation,
    Outcome,
    Readiness,
    Result,
    Token,
    current_key,
)
from shiplift.api.marks import CORDONED_BY, SKIP_ROLLOUT
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, Forbidden, PreconditionFailed
from shiplift.local.agents import FAILS, Failure
from shiplift.local.agents.account import node_user
from tests.crash.facts import Json, kind
from tests.crash.nodes import facts
from tests.crash.nodes.scenarios import PACE, ROLLOUT, HalfWay, Scenario
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.crash.workloads.shape import NEW


class World:
    """Everybody else, for one run."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._admin, self._scenario = stage.admin, scenario
        self._done = scenario.half_way is HalfWay.NOTHING
        self._thief = Thief(stage.admin, scenario.victim)
        self._acts: dict[HalfWay, Callable[[State], bool]] = {
            HalfWay.LIFT: self._lift,
            HalfWay.ABORT: self._abort,
            HalfWay.FAIL: lambda state: self._break(state, Failure.FAILS),
            HalfWay.LIE: self._rob,
        }

    @property
    def upstreams(self) -> Mapping[str, str]:
        return {}

    def complaints(self) -> list[str]:
        return self._thief.complaints

    def beyond(self) -> State:
        return {}

    def close(self) -> None:
        """It has started nothing."""

    def play(self, state: State) -> None:
        if not self._done:
            self._done = self._acts[self._scenario.half_way](state)

    def over(self, state: State) -> bool:
        """The rollout is where it should end, and nobody is at work any more."""
        at_rest = facts.status(state).get("phase") == self._scenario.phase and not facts.in_flight(state)
        moved = not self._scenario.migration or _moved(state)
        well = facts.all_well(state, self._scenario)
        return self._done and at_rest and moved and well and not facts.residue(state)

    # --- the user ---

    def _lift(self, state: State) -> bool:
        """Once the drain says what blocks it."""
        if not any(one.get("blockers") for one in facts.records(state)):
            return False
        (budget,) = kind(state, "PodDisruptionBudget")
        about, change = budget["metadata"], {"spec": {"maxUnavailable": 1}}
        self._admin.patch(
            kinds.POD_DISRUPTION_BUDGET, about["name"], change, about["namespace"], uid=about["uid"]
        )
        return True

    def _abort(self, state: State) -> bool:
        """Once the first node is changed and the agent of the next has claimed its order."""
        nodes = list(kind(state, "Node"))
        changed = [one for one in nodes if facts.version(one) == NEW and not facts.marked(one)]
        if not changed or not any(facts.marked(one) and facts.at_work(one) for one in nodes):
            return False
        uid = facts.rollout(state)["metadata"]["uid"]
        self._admin.patch(kinds.NODE_ROLLOUT, ROLLOUT, {"spec": {"abort": True}}, uid=uid)
        return True

    # --- what breaks ---

    def _break(self, state: State, failure: Failure) -> bool:
        """What is ordered to fail would fail to be prepared, too: so only once it is."""
        node = facts.node(state, self._scenario.victim)
        if not _is_prepared(node):
            return False
        about, change = node["metadata"], {"metadata": {"annotations": {FAILS: failure.value}}}
        self._admin.patch(kinds.NODE, about["name"], change, uid=about["uid"])
        return True

    def _rob(self, state: State) -> bool:
        node = facts.node(state, self._scenario.victim)
        if FAILS not in (node["metadata"].get("annotations") or {}):
            self._break(state, Failure.DIES)
            return False
        return self._thief.play(node)


class Thief:
    """Has the credentials of a node, tries what these must not be able to, and then lies about the node."""

    def __init__(self, admin: Client, node: str) -> None:
        self._node = admin.acting_as(node_user(node))
        self._name = node
        self._since: float | None = None
        self.complaints: list[str] = []

    def play(self, node: Json) -> bool:
        """Whether it has lied. It waits until the agent has claimed the order and is dead."""
        readiness, order = facts.readiness(node), facts.order(node)
        claimed = readiness is not None and not readiness.ready
        if order is None or order.token.operation is not Operation.PACKAGES or not claimed:
            return False
        self._since = self._since or time.monotonic()
        if time.monotonic() < self._since + 2 * PACE.change:
            return False
        uid = node["metadata"]["uid"]
        self._try("uncordon it", {"spec": {"unschedulable": False}}, uid)
        for key in (SKIP_ROLLOUT, CORDONED_BY):
            self._try(f"write {key}", {"metadata": {"annotations": {key: "true"}}}, uid)
        return self._lie(order.token, uid)

    def _try(self, what: str, change: Json, uid: str) -> None:
        try:
            self._node.patch(kinds.NODE, self._name, change, uid=uid)
        except Forbidden:
            return
        self.complaints.append(f"with the credentials of node {self._name} a thief could {what}")

    def _lie(self, token: Token, uid: str) -> bool:
        said = {current_key(name): NEW.removeprefix("v") for name in ("kubelet", "kubeadm", "kubectl")}
        said |= {
            READY: Readiness(True, str(token)).written(),
            OUTCOME: Outcome(str(token), Result.DONE, "").written(),
        }
        try:
            self._node.patch(kinds.NODE, self._name, {"metadata": {"annotations": said}}, uid=uid)
        except (Conflict, PreconditionFailed):
            return False
        return True


def _is_prepared(node: Json) -> bool:
    said = facts.outcome(node)
    return said is not None and Token.parsed(said.token).operation is Operation.PREPARE


def _moved(state: State) -> bool:
    """Whether the migration beside it has ended, and well, and has cleaned up."""
    (migration,) = kind(state, "WorkloadMigration")
    status = migration.get("status") or {}
    well = status.get("state") == "NoUpgrade" and status.get("last", {}).get("outcome") == "Moved"
    return well and not list(kind(state, "WorkloadPlacement"))
