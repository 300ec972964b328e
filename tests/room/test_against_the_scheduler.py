"""What a booking says of a pod, the real scheduler says too.

Many small situations at once in one cluster, made from a seed: nodes old and new, pods on them, and one pod
that has to move or to be made. Zones, names and apps are a situation's own, so that none disturbs another.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import (
    NAMESPACE,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
)
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool, is_schedulable
from shiplift.local.stages import GONE_AFTER
from shiplift.room.booking import Booking, NoSlot, Occupancy
from tests.room.cases import HOST, ZONE
from tests.until import until

Json = dict[str, Any]
SEED = 20
SITUATIONS = 40
TARGET, OFF_TARGET = "shiplift.dev/target-version", "shiplift.dev/off-target"
FOREVER = 3600


class Situation(msgspec.Struct):
    name: str
    nodes: list[Json]
    pods: list[Json]
    probe: Json
    moves: str
    """The pod that the probe is made in place of, if any."""
    volume: Json | None
    claim: Json | None
    endings: list[str]
    finished: list[str]

    @property
    def target(self) -> Json:
        """What binds the probe to its targets."""
        return {"key": TARGET, "operator": "In", "values": [self.name]}


class Maker:
    """Makes one situation, from chance that can be repeated."""

    def __init__(self, number: int) -> None:
        self.name = f"s{number}"
        self.chance = random.Random(SEED * 1000 + number)

    def situation(self) -> Situation:
        nodes = [self._node(number) for number in range(self.chance.randint(2, 4))]
        kinds = [self._kind() for _ in range(2)]
        usable = [node["metadata"]["name"] for node in nodes if not evicts(node)]
        pods = [
            self._pod(f"p{number}", self._one(kinds), node=self._one(usable))
            for number in range(self.chance.randint(1, 6) if usable else 0)
        ]
        moved = self._one([*pods, None])
        probe = self._pod("probe", self._one(kinds)) if moved is None else self._again(moved)
        volume = self._volume(nodes) if self._seldom() else None
        if volume:
            claims = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
            probe["spec"]["volumes"] = [claims]
        names = [pod["metadata"]["name"] for pod in pods if pod is not moved]
        chosen = [name for name in names if self._seldom()]
        return Situation(
            self.name,
            nodes,
            pods,
            probe,
            moved["metadata"]["name"] if moved else "",
            volume,
            self._claim() if volume else None,
            chosen[::2],
            chosen[1::2],
        )

    def _one(self, things: list[Any]) -> Any:
        return self.chance.choice(things)

    def _seldom(self) -> bool:
        return self.chance.random() < 0.25

    def _node(self, number: int) -> Json:
        new = number == 0 or self.chance.random() < 0.7
        mark = {TARGET: self.name} if new else {OFF_TARGET: self.name}
        zone = self._one([{ZONE: f"{self.name}-a"}, {ZONE: f"{self.name}-b"}, {}])
        rack = self._one([{}, {"rack": "1"}])
        pool = Pool(
            f"{self.name}-{number}",
            count=1,
            zones=(),
            labels={**mark, **zone, **rack, "situation": self.name},
            cpu=self._one(["300m", "600m", "1"]),
            pods=self.chance.randint(2, 5),
        )
        manifest = pool.manifests()[0]
        if self._seldom():
            for amounts in (manifest["status"]["capacity"], manifest["status"]["allocatable"]):
                amounts["example.com/gpu"] = "1"
        if self._seldom():
            effect = self._one(["NoSchedule", "NoExecute", "PreferNoSchedule"])
            manifest["spec"]["taints"] = [{"key": "gpu", "value": "x", "effect": effect}]
        elif self._seldom():
            manifest["spec"]["unschedulable"] = True
        return manifest

    def _kind(self) -> Json:
        """Labels and a specification, as a template has them."""
        app = self._one(["web", "db"])
        labels = {"app": f"{self.name}-{app}", "revision": self._one(["1", "2"])}
        requests = {"cpu": self._one(["0", "100m", "300m", "500m"])}
        container: Json = {"name": "main", "image": "busybox", "resources": {"requests": requests}}
        if self.chance.random() < 0.1:
            requests["example.com/gpu"] = "1"
            container["resources"]["limits"] = {"example.com/gpu": "1"}
        if self.chance.random() < 0.15:
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        spec: Json = {"containers": [container], "terminationGracePeriodSeconds": FOREVER}
        spec["tolerations"] = self._one([[], [], [{"operator": "Exists"}], [{"key": "gpu", "value": "x"}]])
        if self._seldom():
            spec["nodeSelector"] = {"rack": "1"}
        spec["affinity"] = {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": self._terms(0.2)},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": self._terms(0.35)},
        }
        if self.chance.random() < 0.45:
            keys = self.chance.sample([HOST, ZONE], self.chance.randint(1, 2))
            spec["topologySpreadConstraints"] = [self._spread(key) for key in keys]
        return {"labels": labels, "spec": spec}

    def _selector(self) -> Json:
        app = f"{self.name}-web"
        return self._one(
            [
                {"matchLabels": {"app": app}},
                {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, f"{self.name}-db"]}]},
                {"matchLabels": {"app": app, "revision": "1"}},
            ]
        )

    def _terms(self, often: float) -> list[Json]:
        terms: list[Json] = []
        while self.chance.random() < often:
            term = {"labelSelector": self._selector(), "topologyKey": self._one([HOST, ZONE])}
            reach = self._one([{}, {}, {"namespaceSelector": {"matchLabels": {"situation": self.name}}}])
            terms.append({**term, **reach})
        return terms

    def _spread(self, key: str) -> Json:
        selector = self._one([self._selector(), self._selector(), {}])
        # a label may not be asked for in both ways
        keyed = {} if "revision" in str(selector) or self._seldom() else {"matchLabelKeys": ["revision"]}
        fewest = {"minDomains": self.chance.randint(1, 3)} if self._seldom() else {}
        return {
            "maxSkew": self.chance.randint(1, 2),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
            "nodeAffinityPolicy": self._one(["Honor", "Honor", "Ignore"]),
            "nodeTaintsPolicy": self._one(["Honor", "Ignore"]),
            **keyed,
            **fewest,
        }

    def _pod(self, name: str, kind: Json, node: str = "") -> Json:
        namespace = self.name if not node or self.chance.random() < 0.8 else f"{self.name}-other"
        about = {"name": name, "namespace": namespace, "labels": kind["labels"]}
        about["annotations"] = {GONE_AFTER: str(FOREVER)}
        return {"metadata": about, "spec": {**kind["spec"], **({"nodeName": node} if node else {})}}

    def _again(self, pod: Json) -> Json:
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        return {"metadata": {**pod["metadata"], "name": "probe"}, "spec": spec}

    def _volume(self, nodes: list[Json]) -> Json:
        """Of one machine, or of one zone."""
        pinned = {"key": HOST, "operator": "In", "values": [self._one(nodes)["metadata"]["name"]]}
        zonal = {"key": ZONE, "operator": "In", "values": [f"{self.name}-a"]}
        terms = [{"matchExpressions": [self._one([pinned, zonal])]}]
        return {
            "metadata": {"name": self.name},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "csi": {"driver": "example.com", "volumeHandle": self.name},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        }

    def _claim(self) -> Json:
        wants = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": self.name}
        return {"metadata": {"name": "data"}, "spec": {**spec, "resources": wants}}


def evicts(node: Json) -> bool:
    return any(taint["effect"] == "NoExecute" for taint in node["spec"]["taints"])


class Stage:
    """A real cluster with all the situations in it."""

    def __init__(self, client: Client, situations: list[Situation]) -> None:
        self._client = client
        self._situations = situations

    def set_up(self) -> None:
        for one in self._situations:
            for manifest in one.nodes:
                self._client.create(NODE, manifest)
            for name in (one.name, f"{one.name}-other"):
                self._namespace(name, one.name)
            if one.volume and one.claim:
                one.claim["metadata"]["namespace"] = one.probe["metadata"]["namespace"]
                self._client.create(PERSISTENT_VOLUME, one.volume)
                self._client.create(PERSISTENT_VOLUME_CLAIM, one.claim, one.claim["metadata"]["namespace"])
            for pod in one.pods:
                self._client.create(POD, pod, pod["metadata"]["namespace"])
        until(self._settled, 120, 0.2)
        for one in self._situations:
            for pod in one.pods:
                self._end(one, pod)

    def try_for_real(self, one: Situation) -> None:
        """In place of the pod that moves, bound to the targets as an injected affinity binds it."""
        if one.moves:
            moved = next(pod for pod in one.pods if pod["metadata"]["name"] == one.moves)
            self._delete(moved, grace=0)
        probe = one.probe
        affinity = {**probe["spec"]["affinity"]}
        terms = [{"matchExpressions": [one.target]}]
        affinity["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
        body = {**probe, "spec": {**probe["spec"], "affinity": affinity}}
        self._client.create(POD, body, probe["metadata"]["namespace"])

    def verdict(self, one: Situation) -> str:
        """Where the scheduler has put the probe, or why nowhere."""
        pod = self._client.get(POD, "probe", one.probe["metadata"]["namespace"])
        if node := pod["spec"].get("nodeName"):
            return f"on {node}"
        told = [each for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
        return f"nowhere: {told[0]['message']}" if told and told[0]["reason"] == "Unschedulable" else ""

    def _namespace(self, name: str, situation: str) -> None:
        self._client.create(NAMESPACE, {"metadata": {"name": name, "labels": {"situation": situation}}})
        with contextlib.suppress(AlreadyExists):
            self._client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)

    def _settled(self) -> bool:
        ready = all(is_schedulable(node) for node in self._client.list(NODE))
        running = all(pod["status"].get("phase") == "Running" for pod in self._client.list(POD))
        bound = all(
            claim["status"]["phase"] == "Bound" for claim in self._client.list(PERSISTENT_VOLUME_CLAIM)
        )
        return ready and running and bound

    def _end(self, one: Situation, pod: Json) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if name in one.endings:
            self._delete(pod)
        elif name in one.finished:
            found = self._client.get(POD, name, namespace)
            change = {"status": {"phase": "Succeeded"}}
            about = found["metadata"]
            self._client.patch(
                POD,
                name,
                change,
                namespace,
                type=PatchType.MERGE,
                uid=about["uid"],
                resource_version=about["resourceVersion"],
                subresource="status",
            )

    def _delete(self, pod: Json, grace: int | None = None) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        with contextlib.suppress(NotFound):
            found = self._client.get(POD, name, namespace)
            self._client.delete(POD, name, namespace, uid=found["metadata"]["uid"], grace=grace)


@pytest.fixture
def client(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    with private_cluster(Settings()).client() as client:
        yield client


def seen(client: Client) -> Snapshot:
    kinds = (NODE, POD, NAMESPACE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM)
    store = Store(client.credentials, [Watch(kind) for kind in kinds])
    store.start()
    try:
        assert store.wait_synced(20)
        return store.snapshot()
    finally:
        store.stop()


def occupancy_of(snapshot: Snapshot) -> Occupancy:
    occupancy = Occupancy()
    for node in snapshot.all(Node):
        occupancy.put_node(node)
    for namespace in snapshot.all(Namespace):
        occupancy.put_namespace(None, namespace)
    for volume in snapshot.all(PersistentVolume):
        occupancy.put_volume(None, volume)
    for claim in snapshot.all(PersistentVolumeClaim):
        occupancy.put_claim(None, claim)
    for pod in snapshot.all(Pod):
        occupancy.put_pod(None, pod)
    return occupancy


def expected(occupancy: Occupancy, one: Situation, moved: Pod | None, probe: Pod) -> str | NoSlot:
    """The probe's own row, with what it was bound to by hand taken as an injected mark."""
    room = occupancy.room(lambda node: node.labels.get(TARGET) == one.name)
    asked = probe if moved is None else msgspec.structs.replace(moved, spec=probe.spec)
    return Booking(room).book(asked)


def test_the_scheduler_agrees(client: Client) -> None:
    situations = [Maker(number).situation() for number in range(SITUATIONS)]
    stage = Stage(client, situations)
    stage.set_up()
    before = seen(client)
    for one in situations:
        stage.try_for_real(one)
    verdicts = {one.name: until(lambda one=one: stage.verdict(one), 30, 0.05) for one in situations}
    probes = {pod.namespace: pod for pod in seen(client).all(Pod) if pod.name == "probe"}
    occupancy = occupancy_of(before)
    pods = {(pod.namespace, pod.name): pod for pod in before.all(Pod)}
    wrong: dict[str, tuple[str, object]] = {}
    for one in situations:
        space = one.probe["metadata"]["namespace"]
        probe = msgspec.structs.replace(probes[space], node="", nominated_node="")
        answer = expected(occupancy, one, pods.get((space, one.moves)), probe)
        if isinstance(answer, str) != verdicts[one.name].startswith("on "):
            wrong[one.name] = (verdicts[one.name], answer)
    assert not wrong
    outcomes = Counter(verdict.split()[0] for verdict in verdicts.values())
    assert min(outcomes["on"], outcomes["nowhere:"]) >= SITUATIONS // 4, "the situations are too much alike"
