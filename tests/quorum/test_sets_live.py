"""A swap's writes on a real StatefulSet restart no pod, and the last of them leaves nothing of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from shiplift.api import crd
from shiplift.api.marks import QUORUM_HOLD
from shiplift.engine.step import Answer, Outcome
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, POD, QUORUM_SERVICE, STATEFUL_SET
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local.cluster import Cluster
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.face.undo import undo_all
from shiplift.quorum.model import Pool
from shiplift.quorum.names import FINALIZER, MARKS, NEW_VERSION, OLD_VERSION, SWAP, Record
from shiplift.quorum.observe.pools import pool_of
from shiplift.quorum.records import written_on
from shiplift.quorum.steps import Begin, Finish, LiftHold, PutBack
from tests.until import until

Json = dict[str, Any]
OLD_IMAGE, NEW_IMAGE = "quay.io/minio/minio:old", f"quay.io/minio/minio:new@sha256:{'a' * 64}"
TARGET = "RELEASE.2025-09-07T16-13-09Z"
RUNNING = "2025-04-22T22:12:26Z"
COUNT = 3


class Service:
    """A StatefulSet on simulated nodes, and who swaps it."""

    def __init__(self, client: Client, namespace: str, strategy: Json) -> None:
        self.client, self.namespace = client, namespace
        self.sets = Sets(client, namespace, "store", "minio")
        labels = {"app": "minio"}
        containers = [
            {"name": "sidecar", "image": "sidecar:1"},
            {"name": "minio", "image": OLD_IMAGE, "env": [{"name": "MINIO_CI_CD", "value": "1"}]},
        ]
        spec = {
            "serviceName": "minio",
            "replicas": COUNT,
            "podManagementPolicy": "Parallel",
            "updateStrategy": strategy,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        }
        made = client.create(STATEFUL_SET, {"metadata": {"name": "minio"}, "spec": spec}, namespace).object
        self.uid: str = made["metadata"]["uid"]
        until(lambda: self.is_settled() and len(self.pods()) == COUNT)

    def live(self) -> Json:
        return self.client.get(STATEFUL_SET, "minio", self.namespace)

    def pool(self) -> Pool:
        return pool_of(self.live(), "minio")

    def pods(self) -> dict[str, Json]:
        found = {pod["metadata"]["name"]: pod for pod in self.client.list(POD, self.namespace)}
        return {name: pod for name, pod in found.items() if not pod["metadata"].get("deletionTimestamp")}

    def uids(self) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def is_settled(self) -> bool:
        """Its controller has seen what was written last, and every pod is ready."""
        live = self.live()
        status = live.get("status") or {}
        seen = status.get("observedGeneration") == live["metadata"]["generation"]
        return seen and status.get("readyReplicas") == COUNT

    def begin(self, image: str = NEW_IMAGE) -> Outcome:
        return self.take(Begin("minio", self.uid, TARGET, image, OLD_IMAGE, RUNNING))

    def take(self, step: Begin | PutBack | LiftHold | Finish) -> Outcome:
        """As the layer does it, again where the set's own controller has written in between."""
        return until(lambda: outcome if (outcome := self.sets.take(step)).ok else None)

    def marks(self) -> set[str]:
        about = self.live()["metadata"]
        return {*(about.get("labels") or {}), *(about.get("annotations") or {})} & {*MARKS, QUORUM_HOLD}


ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
STRATEGIES = [ROLLING, {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, {"type": "OnDelete"}]


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as one:
        yield one


def test_a_swap_begins_in_one_write_and_restarts_nothing(client: Client, namespace: str) -> None:
    service = Service(client, namespace, ROLLING)
    before, uids = service.live(), service.uids()
    assert service.begin().ok
    after = service.live()
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    labels = after["metadata"]["labels"]
    assert (labels[OLD_VERSION], labels[NEW_VERSION]) == ("2025-04-22T22-12-26Z", TARGET)
    pool = service.pool()
    assert (pool.image, pool.on_delete, pool.swap and pool.swap.held) == (NEW_IMAGE, True, True)
    until(service.is_settled)
    assert service.uids() == uids
    assert service.live()["spec"]["template"]["spec"]["containers"][0] == {
        **before["spec"]["template"]["spec"]["containers"][0]
    }


def test_a_swap_that_is_begun_twice_is_the_same_and_keeps_what_was_before(
    client: Client, namespace: str
) -> None:
    service = Service(client, namespace, ROLLING)
    service.begin()
    once = service.live()["metadata"]
    assert service.begin().ok
    now = service.live()["metadata"]
    assert (now["generation"], now["annotations"]) == (once["generation"], once["annotations"])
    service.take(LiftHold("minio", service.uid))
    assert service.begin().ok
    swap = service.pool().swap
    assert swap is not None
    assert (swap.before, swap.held) == (OLD_IMAGE, True)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["rolling", "partition", "on delete"])
def test_put_back_it_is_what_it_was_byte_for_byte_and_restarts_nothing(
    client: Client, namespace: str, strategy: Json
) -> None:
    service = Service(client, namespace, strategy)
    before, uids = service.live(), service.uids()
    service.begin()
    until(service.is_settled)
    service.take(PutBack("minio", service.uid))
    until(service.is_settled)
    after = service.live()
    assert after["spec"] == before["spec"]
    assert service.marks() == set()
    assert after["status"]["updateRevision"] == before["status"]["updateRevision"]
    assert service.uids() == uids


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["rolling", "partition", "on delete"])
def test_the_last_write_restarts_nothing_and_leaves_nothing(
    client: Client, namespace: str, strategy: Json
) -> None:
    service = Service(client, namespace, strategy)
    service.begin()
    for name, uid in service.uids().items():
        client.delete(POD, name, namespace, uid=uid)
        until(lambda name=name, uid=uid: service.uids().get(name, uid) != uid)
    until(service.is_settled)
    uids = service.uids()
    assert {pod["spec"]["containers"][1]["image"] for pod in service.pods().values()} == {NEW_IMAGE}
    service.take(LiftHold("minio", service.uid))
    assert service.marks() == set(MARKS)
    service.take(Finish("minio", service.uid))
    until(service.is_settled)
    live = service.live()
    assert live["spec"]["updateStrategy"] == strategy
    assert live["spec"]["template"]["spec"]["containers"][1]["image"] == NEW_IMAGE
    assert service.marks() == set()
    assert service.uids() == uids


@pytest.mark.parametrize("end", [PutBack, Finish])
def test_a_record_that_somebody_strips_is_written_again_with_what_was_before(
    client: Client, namespace: str, end: type[PutBack | Finish]
) -> None:
    service, known = Service(client, namespace, ROLLING), dict[str, Record]()
    service.sets = Sets(client, namespace, "store", "minio", known)
    service.begin()
    known[service.uid] = _there(written_on(service.live()))
    strip = {"metadata": {"annotations": {SWAP: None}}}
    client.patch(STATEFUL_SET, "minio", strip, namespace, type=PatchType.MERGE, uid=service.uid)
    swap = pool_of(service.live(), "minio", known[service.uid]).swap
    assert (swap and swap.before, swap and swap.marked) == (OLD_IMAGE, False)
    service.begin()
    assert _there(written_on(service.live())).before.image == OLD_IMAGE
    client.patch(STATEFUL_SET, "minio", strip, namespace, type=PatchType.MERGE, uid=service.uid)
    service.take(end("minio", service.uid))
    live = service.live()
    assert live["spec"]["updateStrategy"] == ROLLING
    image = live["spec"]["template"]["spec"]["containers"][1]["image"]
    assert image == (OLD_IMAGE if end is PutBack else NEW_IMAGE)
    assert service.marks() == set()
    assert known == {}


def _there(record: Record | None) -> Record:
    assert record is not None
    return record


def test_what_a_user_changed_meanwhile_stays(client: Client, namespace: str) -> None:
    service = Service(client, namespace, ROLLING)
    service.begin()
    theirs = {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}}}
    client.patch(STATEFUL_SET, "minio", theirs, namespace, type=PatchType.MERGE, uid=service.uid)
    other = [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "their:image"}]
    client.patch(STATEFUL_SET, "minio", other, namespace, type=PatchType.JSON, uid=service.uid)
    service.take(PutBack("minio", service.uid))
    live = service.live()
    assert live["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 3
    assert live["spec"]["template"]["spec"]["containers"][1]["image"] == "their:image"
    assert service.marks() == set()


def test_a_swap_of_another_service_is_left_alone(client: Client, namespace: str) -> None:
    service = Service(client, namespace, ROLLING)
    service.begin()
    once = service.live()
    stranger = Sets(client, namespace, "stranger", "minio")
    steps = (
        Begin("minio", service.uid, TARGET, "x:1", OLD_IMAGE),
        PutBack("minio", service.uid),
        Finish("minio", service.uid),
    )
    for step in steps:
        outcome = stranger.take(step)
        assert (outcome.answer, "swapped by store" in outcome.message) == (Answer.FAILED, True)
    now = service.live()
    for field in ("generation", "annotations", "labels"):
        assert now["metadata"][field] == once["metadata"][field]


def test_a_container_that_is_not_there_is_named(client: Client, namespace: str) -> None:
    service = Service(client, namespace, ROLLING)
    outcome = Sets(client, namespace, "store", "nginx").take(Begin("minio", service.uid, TARGET, "x:1", ""))
    assert (outcome.answer, outcome.message) == (Answer.FAILED, "statefulset/minio has no container nginx")


def test_a_stateful_set_of_the_same_name_is_not_the_one_that_was_meant(
    client: Client, namespace: str
) -> None:
    service = Service(client, namespace, ROLLING)
    outcome = service.sets.take(Begin("minio", "another-uid", TARGET, NEW_IMAGE, OLD_IMAGE))
    assert "another StatefulSet has its name" in outcome.message
    assert service.marks() == set()


@pytest.mark.parametrize(
    ("about", "owner"),
    [
        ({"ownerReferences": [{"kind": "Tenant", "name": "store", "controller": True}]}, "Tenant store"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "x"}}, "Argo CD"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "x"}}, "Flux"),
        ({"ownerReferences": [{"kind": "Tenant", "name": "store"}]}, ""),
        ({}, ""),
    ],
)
def test_who_else_manages_it_is_seen(about: Json, owner: str) -> None:
    template = {"spec": {"containers": [{"name": "minio", "image": OLD_IMAGE}]}}
    live = {
        "metadata": {"name": "minio", "uid": "u", **about},
        "spec": {"updateStrategy": ROLLING, "template": template},
    }
    assert pool_of(live, "minio").owner == owner


@pytest.mark.parametrize("text", ["", "{}", "not ours", "[]"])
def test_a_mark_that_cannot_be_read_is_nobodys_swap(text: str) -> None:
    live = {
        "metadata": {"name": "minio", "uid": "u", "annotations": {"quorum.shiplift.dev/swap": text}},
        "spec": {"updateStrategy": ROLLING, "template": {"spec": {"containers": []}}},
    }
    swap = pool_of(live, "minio").swap
    assert swap is not None
    assert swap.service == ""


def service_of(client: Client, namespace: str, **status: Any) -> None:
    """A QuorumService with our finalizer, as an operator left it that is gone."""
    spec = {"statefulSets": ["minio"], "image": "quay.io/minio/minio:new", "credentialsSecret": "root"}
    about = {"name": "store", "finalizers": [FINALIZER]}
    with contextlib.suppress(AlreadyExists):
        manifest = crd.manifest(QUORUM_SERVICE)
        client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
    until(lambda: _is_served(client))
    made = client.create(QUORUM_SERVICE, {"metadata": about, "spec": spec}, namespace).object
    client.patch(
        QUORUM_SERVICE,
        "store",
        {"status": status},
        namespace,
        uid=made["metadata"]["uid"],
        resource_version=made["metadata"]["resourceVersion"],
        subresource="status",
    )


def _is_served(client: Client) -> bool:
    with contextlib.suppress(NotFound):
        list(client.list(QUORUM_SERVICE))
        return True
    return False


def test_undo_without_an_operator_puts_a_swap_back_that_has_switched_nobody(
    client: Client, namespace: str
) -> None:
    service = Service(client, namespace, ROLLING)
    before, uids = service.live()["spec"], service.uids()
    service.begin()
    service_of(client, namespace, members=[{"pod": "minio-0", "state": "Staged"}], step="Stage")
    said: list[str] = []
    undone = undo_all(client, None, said.append)  # pyright: ignore[reportArgumentType]
    assert (undone.changes, undone.stays) == (2, 0), said
    assert service.live()["spec"] == before
    assert (service.marks(), service.uids()) == (set(), uids)
    left = client.get(QUORUM_SERVICE, "store", namespace)
    assert (left["spec"]["paused"], left["metadata"].get("finalizers")) == (True, None)


def test_undo_leaves_a_swap_that_has_switched_somebody_to_an_operator_and_says_so(
    client: Client, namespace: str
) -> None:
    service = Service(client, namespace, ROLLING)
    service.begin()
    service_of(client, namespace, members=[{"pod": "minio-0", "state": "New"}], step="Switch")
    said: list[str] = []
    undone = undo_all(client, None, said.append)  # pyright: ignore[reportArgumentType]
    assert (undone.changes, undone.stays) == (0, 1)
    assert service.marks() == {*MARKS, QUORUM_HOLD}
    assert any("an operator has to finish its swap" in line for line in said)
    live = client.get(QUORUM_SERVICE, "store", namespace)
    client.patch(
        QUORUM_SERVICE, "store", {"metadata": {"finalizers": None}}, namespace, uid=live["metadata"]["uid"]
    )
