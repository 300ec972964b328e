"""A cluster in memory for the cluster's side of the layer: pools, machines, nodes, a kwok that keeps nodes
Ready and a garbage collector; the layer itself is the real one. It may be killed around any write."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec

from benchmarks.rows import make
from shiplift.api.marks import POOL_LABEL
from shiplift.engine import contested
from shiplift.engine.layer import Retry
from shiplift.engine.retries import wait
from shiplift.engine.step import Outcomes
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE, Kind
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import FAKE, SIMULATED, Node, Taint
from shiplift.kube.client import Client
from shiplift.kube.events import Recorder
from shiplift.kube.part import Context
from shiplift.kube.rows import custom
from shiplift.kube.statuses import Pace
from shiplift.kube.store import Store
from shiplift.machines.controller import Machines
from shiplift.machines.in_cluster.model import Keeping, View
from shiplift.machines.in_cluster.names import KEY
from tests.operators.world import FakeClient, Killed, Server

Json = dict[str, Any]
BEGUN = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKe0zv3PzBqFqX2yXHkU0RzqQmVw4t3b9mJt8dN5sS1L"


def spec(replicas: int, **more: Any) -> Json:
    return {"role": "Worker", "provider": "Kwok", "replicas": replicas, "version": "1.36.3", **more}


def hosts(*names: str, replicas: int = 1, **more: Any) -> Json:
    """The spec of a pool of hosts."""
    listed = [
        {"name": name, "address": f"192.0.2.{number + 1}", "hostKey": HOST_KEY}
        for number, name in enumerate(names)
    ]
    return spec(replicas, provider="Static", static={"sshKeySecret": "key", "hosts": listed}, **more)


class Cluster(Server):
    """An API server that dates what is made, and notes every Node that comes without its Machine."""

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGUN
        self.wrong: list[str] = []
        self.made: list[str] = []
        """Every Node and Machine that was made, by name, in order."""

    def put(self, kind: Kind, namespace: str, body: Json) -> Json:
        name = body["metadata"]["name"]
        new = (kind.plural, "", name) not in self.objects
        if new:
            self.made.append(f"{kind} {name}")
            body = {**body, "metadata": {**body["metadata"], "creationTimestamp": f"{self.now:%FT%TZ}"}}
        stored = super().put(kind, namespace, body)
        ours = POOL_LABEL in (body["metadata"].get("labels") or {})
        if new and kind == NODE and ours and (MACHINE.plural, "", name) not in self.objects:
            self.wrong.append(f"Node {name} was made and its Machine is not written down")
        return stored

    def nature(self) -> None:
        """kwok, and the garbage collector."""
        for (plural, _, _name), one in list(self.objects.items()):
            if plural == NODE.plural and not one.get("ready") and not one.get("ill") and _is_fake(one):
                super().put(NODE, "", {**one, "ready": True})
        uids = {one["metadata"]["uid"] for one in self.objects.values()}
        for place, one in list(self.objects.items()):
            owners = one["metadata"].get("ownerReferences") or []
            if owners and not any(each["uid"] in uids for each in owners):
                self.remove(place)


def _is_fake(one: Json) -> bool:
    return (one["metadata"].get("annotations") or {}).get(SIMULATED) == FAKE


def row_of(kind: Kind, one: Json) -> Custom:
    return custom.decoder(kind)(msgspec.json.encode(one))


def node_of(one: Json) -> Node:
    meta, status = one["metadata"], one.get("status") or {}
    return make(
        Node,
        meta["name"],
        uid=meta["uid"],
        created=int(datetime.fromisoformat(meta["creationTimestamp"]).timestamp()),
        labels=Labels(meta.get("labels") or {}),
        annotations=Labels(meta.get("annotations") or {}),
        deleting=_seconds(meta.get("deletionTimestamp")),
        finalizers=tuple(meta.get("finalizers") or ()),
        ready=bool(one.get("ready")),
        kubelet_version=status.get("nodeInfo", {}).get("kubeletVersion", ""),
        addresses=tuple((each["type"], each["address"]) for each in status.get("addresses", ())),
        taints=tuple(
            Taint(each["key"], each.get("value", ""), each["effect"])
            for each in (one.get("spec") or {}).get("taints", ())
        ),
    )


def _seconds(text: str | None) -> int:
    return int(datetime.fromisoformat(text).timestamp()) if text else 0


class Snap:
    """What a store has of the server at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self._objects = dict(cluster.objects)

    def _of(self, kind: Kind) -> list[Json]:
        return [one for place, one in self._objects.items() if place[0] == kind.plural]

    def customs(self, kind: Kind) -> list[Custom]:
        return [row_of(kind, one) for one in self._of(kind)]

    def all(self, _: type) -> list[Node]:
        return [node_of(one) for one in self._of(NODE)]

    def stale(self, *_: Kind) -> tuple[Kind, ...]:
        return ()

    def undecodable(self, _: Kind) -> dict[str, str]:
        return {}


class FakeStore:
    """Never behind."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def snapshot(self, *_: Kind) -> Snap:
        return Snap(self._cluster)

    def wait_settled(self, *_: object) -> None:
        """Whatever was written is seen."""


class Ears:
    """Hears of Events."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def record(self, about: Any, reason: str, *_: object, **__: object) -> None:
        self.heard.append(f"{about.name} {reason}")


class World:
    """The cluster, and an operator that may be killed at any write."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.writes = 0
        self.kill_at = -1
        self.ears = Ears()
        self._quiet = FakeClient(self.cluster, lambda _: None)
        self.outcomes = Outcomes()
        self._layer = self._operator()

    def _fate(self, what: str) -> None:
        self.writes += 1
        if self.writes == self.kill_at:
            raise Killed(what)

    def _seconds(self) -> float:
        return self.cluster.now.timestamp()

    def _operator(self) -> Machines:
        client = cast("Client", FakeClient(self.cluster, self._fate))
        context = Context(
            client, cast("Store", FakeStore(self.cluster)), cast("Recorder", self.ears), epoch=1
        )
        self.outcomes = Outcomes()
        return Machines(context, lambda: Pace(self._seconds), lambda: self.cluster.now)

    # --- what people do ---

    def pool(self, name: str, wanted: Json | int) -> None:
        body = {"metadata": {"name": name}, "spec": spec(wanted) if isinstance(wanted, int) else wanted}
        self._quiet.create(MACHINE_POOL, body)

    def edit(self, name: str, **change: Any) -> None:
        uid = self._quiet.get(MACHINE_POOL, name)["metadata"]["uid"]
        self._quiet.patch(MACHINE_POOL, name, {"spec": change}, uid=uid)

    def node(self, name: str, **more: Any) -> None:
        """One that is not ours."""
        self._quiet.create(NODE, {"metadata": {"name": name, **more}, "ready": True})

    def machine(self, name: str, pool: str, **about: Any) -> None:
        """One that somebody wrote down by hand."""
        said = {"pool": pool, "role": "Worker", "provider": "Kwok"}
        self._quiet.create(MACHINE, {"metadata": {"name": name, **about}, "spec": said})

    def delete(self, kind: Kind, name: str) -> None:
        if (kind.plural, "", name) in self.cluster.objects:
            self.cluster.remove((kind.plural, "", name))

    def fall_ill(self, name: str, *, ill: bool = True) -> None:
        """kwok does not keep that node Ready."""
        one = self._quiet.get(NODE, name)
        self.cluster.put(NODE, "", {**one, "ready": False, "ill": ill})

    def leaves(self, kind: Kind, name: str, finalizer: str) -> None:
        """Somebody has deleted it, and somebody else keeps it."""
        one = self._quiet.get(kind, name)
        about = {"deletionTimestamp": f"{self.cluster.now:%FT%TZ}", "finalizers": [finalizer]}
        self.cluster.put(kind, "", {**one, "metadata": {**one["metadata"], **about}})

    def passes(self, **time: float) -> None:
        self.cluster.now += timedelta(**time)

    # --- what the operator does ---

    def look(self) -> View:
        return self._layer.observe(KEY, self.outcomes)

    def round(self, *, between: Any = None) -> Keeping | None:
        """One look, all that follows; who is killed comes back knowing nothing. `between`: what somebody does
        after the look."""
        self.cluster.now += timedelta(seconds=1)
        layer, now = self._layer, self.cluster.now
        try:
            view = self.look()
            decision = layer.decide(view, now)
            if between is not None:
                between()
            for step in decision.steps:
                assert not wait(view.outcomes, step, now)
                assert not contested.wait(view.changes, step, now)
                self.outcomes = self.outcomes.remember([layer.act(step)], now)
            with contextlib.suppress(Retry):
                list(layer.publish(KEY, decision))
        except Killed:
            self._layer = self._operator()
            return None
        self.cluster.nature()
        return decision

    def settle(self, most: int = 60) -> None:
        """Until nothing changes any more."""
        for _ in range(most):
            before = self.cluster.version
            self.round()
            self.cluster.nature()
            if before == self.cluster.version:
                return
        raise AssertionError("it does not come to rest")

    # --- what is seen ---

    def of(self, kind: Kind) -> dict[str, Json]:
        return {place[2]: one for place, one in self.cluster.objects.items() if place[0] == kind.plural}

    def names(self, kind: Kind) -> list[str]:
        return sorted(self.of(kind))

    def status(self, pool: str) -> Json:
        return self.of(MACHINE_POOL)[pool].get("status") or {}

    def said(self, pool: str, about: str = "Ready") -> tuple[str, str]:
        """Status and reason of a condition."""
        for one in self.status(pool).get("conditions", ()):
            if one["type"] == about:
                return one["status"], one["reason"]
        return "", ""

    def message(self, pool: str) -> str:
        return self.status(pool).get("message", "")
