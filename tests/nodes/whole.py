"""The whole layer in memory: observer, decision, actor and publisher as they are, simulated agents as they
are, and between them an API server that knows the few writes that these make, with their preconditions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import msgspec

from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import NodeRollout
from shiplift.drain.filters import CORDON
from shiplift.engine import clock
from shiplift.engine.barrier import Gone, Seen
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import BudgetExhausted, Conflict, NotFound
from shiplift.kube.events import Recorder
from shiplift.kube.statuses import Pace
from shiplift.local.agents.machine import Pace as Work
from shiplift.local.agents.node import SimulatedAgent, Timing
from shiplift.nodes.act.actor import Actor
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.controller import with_hooks
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.model import Rolling
from shiplift.nodes.names import CLAIMS
from shiplift.nodes.observe.hooks import hooked
from shiplift.nodes.tell.publish import Publisher
from tests.merging import merged
from tests.nodes import seen as rows

Json = dict[str, Any]
_FIELDS = {
    "kubeletVersion": "kubelet_version",
    "bootID": "boot_id",
    "containerRuntimeVersion": "container_runtime",
}
"""What a kubelet reports, by what rows call it."""


class Api:
    """A client, to whoever writes to a cluster in memory."""

    def __init__(self, cluster: rows.Seen) -> None:
        self._cluster = cluster
        self.kept: dict[tuple[str, str], Json] = {}
        """ConfigMaps, Leases and the like, by kind and name."""
        self.kept_back: set[str] = set()
        """Pods, by uid, that a budget keeps, whatever its status says."""
        self.controllers = True
        """Whether somebody notices cordons."""

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        if kind == kinds.NODE_ROLLOUT:
            return msgspec.to_builtins(self._rollout(name).object)
        if kind == kinds.NODE:
            row = self._cluster.named_node(name)
            return {"metadata": {"uid": row.uid, "resourceVersion": str(row.resource_version)}}
        found = self.kept.get((kind.kind, name))
        if found is None:
            raise NotFound(f"{kind} {name}", status=404)
        return found

    def next_change(self, kind: Kind, name: str, *_: Any) -> Json | None:
        """Nothing changes while somebody waits."""
        return None

    def create(self, kind: Kind, body: Json, namespace: str = "") -> Written:
        about = {"uid": f"{kind.kind}/{body['metadata']['name']}", "resourceVersion": "1"}
        self.kept[kind.kind, body["metadata"]["name"]] = {**body, "metadata": {**body["metadata"], **about}}
        return Written({**body, "metadata": {**body["metadata"], **about}}, None)

    def patch(self, kind: Kind, name: str, patch: Any, namespace: str = "", **given: Any) -> Written:
        if kind == kinds.NODE:
            return self._patch_node(name, patch, given)
        if kind == kinds.NODE_ROLLOUT:
            return self._patch_rollout(name, patch, given)
        self.kept[kind.kind, name] = merged(self.get(kind, name), patch)
        return Written(self.kept[kind.kind, name], None)

    def evict(self, name: str, namespace: str, *, uid: str, **_: Any) -> Written:
        pod = self._cluster.get(Pod, uid)
        if pod is not None and uid in self.kept_back:
            raise BudgetExhausted("not now", status=429)
        return self.delete(kinds.POD, name, namespace, uid=uid)

    def delete(self, kind: Kind, name: str, namespace: str = "", *, uid: str, **_: Any) -> Written:
        if kind == kinds.JOB:
            return Written(self.kept.pop((kind.kind, name)), None)
        pod = self._cluster.get(Pod, uid)
        if pod is None:
            raise NotFound(f"pod {name}", status=404)
        self._cluster.remove(pod)
        return Written({}, Gone(kinds.POD, uid))

    def _patch_node(self, name: str, patch: Json, given: Json) -> Written:
        row = self._cluster.named_node(name)
        version = given.get("resource_version")
        if row.uid != given["uid"] or (version and version != str(row.resource_version)):
            raise Conflict(f"node {name} has moved on", status=409)
        notes = merged(dict(row.annotations), patch.get("metadata", {}).get("annotations", {}))
        changed: Json = {"annotations": Labels(notes)}
        if (cordon := patch.get("spec", {}).get("unschedulable")) is not None:
            changed["unschedulable"] = cordon
            changed["taints"] = (CORDON,) if cordon and self.controllers else ()
        told = patch.get("status", {}).get("nodeInfo", {})
        changed |= {_FIELDS[key]: value for key, value in told.items()}
        after = self._cluster.put(msgspec.structs.replace(row, **changed))
        about = {"uid": after.uid, "resourceVersion": str(after.resource_version)}
        return Written({"metadata": about}, Seen(kinds.NODE, after.resource_version))

    def _rollout(self, name: str) -> Custom:
        return next(one for one in self._cluster.customs(kinds.NODE_ROLLOUT) if one.name == name)

    def _patch_rollout(self, name: str, patch: Any, given: Json) -> Written:
        row = self._rollout(name)
        live = msgspec.to_builtins(row.object)
        if given.get("resource_version") not in (None, live["metadata"]["resourceVersion"]):
            raise Conflict(f"NodeRollout {name} has moved on", status=409)
        if isinstance(patch, list):
            live["metadata"]["finalizers"] = _finalizers(live, cast("list[Json]", patch))
        else:
            live = merged(live, patch)
        return self.store(live)

    def store(self, live: Json) -> Written:
        """A NodeRollout, in a version that its own metadata names."""
        made = msgspec.convert(live, NodeRollout)
        before = {one.name: one for one in self._cluster.customs(kinds.NODE_ROLLOUT)}.get(made.metadata.name)
        generation = before.generation if before else 1
        generation += before is not None and before.object.spec != made.spec
        version = self._cluster.number() + 1
        about = msgspec.structs.replace(made.metadata, resource_version=str(version), generation=generation)
        made = msgspec.structs.replace(made, metadata=about)
        deleting = bool(about.deletion_timestamp)
        if deleting and not about.finalizers and before is not None:
            self._cluster.remove(before, kinds.NODE_ROLLOUT)
            return Written({}, None)
        self._cluster.put_custom(kinds.NODE_ROLLOUT, about.name, "", made, generation, about.uid)
        return Written(msgspec.to_builtins(made), Seen(kinds.NODE_ROLLOUT, version))


def _finalizers(live: Json, patch: list[Json]) -> list[str]:
    have: list[str] = list(live["metadata"].get("finalizers") or [])
    last = patch[-1]
    if last["op"] == "remove":
        return [one for number, one in enumerate(have) if not last["path"].endswith(f"/{number}")]
    added = last["value"]
    return [*have, *(cast("list[str]", added) if isinstance(added, list) else [cast("str", added)])]


class Whole:
    """The layer and its agents, round after round on a time of their own."""

    def __init__(self) -> None:
        self.cluster = rows.Seen()
        self.api = Api(self.cluster)
        client, seen = cast("Client", self.api), self.cluster.observer
        self.cluster.clock = lambda: self.now
        self.now = clock.now()
        self.api.create(kinds.CONFIG_MAP, {"metadata": {"name": CLAIMS}})
        book = ClaimBook(client, kinds.CONFIG_MAP, CLAIMS, "ours")
        self.actor = Actor(client, ControlPlane(book, 1, seen.claims_changed), seen.desired, seen.memory)
        self.publisher = Publisher(client, cast("Recorder", self), lambda: Pace(lambda: self.cluster.time))
        self.cluster.read_claims = book.open_claims
        self.outcomes = Outcomes()
        self.events: list[tuple[str, str]] = []
        self.away = 0
        """The most nodes that were cordoned at once."""
        self._agents: dict[str, SimulatedAgent] = {}

    def record(self, regarding: Any, reason: str, _note: str, **_: Any) -> None:
        self.events.append((regarding.name, reason))

    def roll(self, **spec: Any) -> None:
        about = ObjectMeta(name="r", uid="uid-r", generation=1)
        self.api.store({"metadata": msgspec.to_builtins(about), "spec": {"version": "v1.36.3"} | spec})

    def rollout(self) -> NodeRollout:
        (row,) = self.cluster.customs(kinds.NODE_ROLLOUT)
        return cast("NodeRollout", row.object)

    def change(self, patch: Json) -> None:
        self.api.patch(kinds.NODE_ROLLOUT, "r", patch)

    def round(self, seconds: float = 0.5) -> Rolling:
        """Agents look, the operator makes a round, time goes on."""
        self._play_agents()
        self._show_jobs()
        view = self.cluster.observer.observe(self.outcomes)
        decision = with_hooks(view, decide(view, self.now))
        outcomes = [self.actor.act(step) for step in decision.steps]
        if outcomes:
            self.outcomes = self.outcomes.remember(outcomes, self.now)
        list(self.publisher.publish(decision))
        self.away = max(self.away, sum(row.unschedulable for row in self.cluster.all(Node)))
        self.now += timedelta(seconds=seconds)
        self.cluster.time += seconds
        return decision

    def until(self, phase: str, rounds: int = 400) -> None:
        for _ in range(rounds):
            self.round()
            if self.rollout().status.phase == phase:
                return
        raise AssertionError(f"not {phase}: {self.rollout().status}")

    def until_recorded(self, node: str, rounds: int = 50) -> None:
        """What comes before a node is begun is over."""
        for _ in range(rounds):
            self.round()
            if any(one.name == node for one in self.rollout().status.nodes):
                return
        raise AssertionError(f"node {node} is not begun: {self.rollout().status}")

    def jobs(self) -> list[Json]:
        """The Jobs of hooks that are there."""
        return [body for (kind, _), body in self.api.kept.items() if kind == kinds.JOB.kind]

    def end_jobs(self, condition: str = "Complete") -> None:
        for body in self.jobs():
            body["status"] = {"conditions": [{"type": condition, "status": "True", "message": "as asked"}]}

    def _show_jobs(self) -> None:
        found = map(hooked, self.jobs())
        self.cluster.jobs = {(one.namespace, one.name): one for one in found}

    def _play_agents(self) -> None:
        for row in self.cluster.all(Node):
            agent = self._agents.get(row.uid)
            if agent is None:
                work, timing = Work(change=1.0, reboot=1.0), Timing(lease=0.5)
                agent = SimulatedAgent(cast("Client", self.api), row, work, timing, lambda _: None)
                self._agents[row.uid] = agent
            agent.look(self.cluster.named_node(row.name), self.cluster.time)
