"""Our own kinds in the store: JSON from a real API server, objects that do not fit, CRDs that are missing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from shiplift.api import WorkloadMigration, WorkloadOrder, crd
from shiplift.engine.backoff import Backoff
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Owner, Row
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import NotFound
from shiplift.kube.store import KindHealth, State, Store
from shiplift.kube.watch import Pace, Watch
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from tests.kube.objects import namespace
from tests.until import until

QUICK = Pace(
    connect=5.0,
    idle=5.0,
    backoff=Backoff(first=timedelta(milliseconds=50), cap=timedelta(milliseconds=200), jitter=0.5),
)
ORDER, MIGRATION = kinds.WORKLOAD_ORDER, kinds.WORKLOAD_MIGRATION
SPACE = "shop"
CLUSTER = "cluster"


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def api(private_cluster: Callable[..., Cluster]) -> Cluster:
    return private_cluster()


@pytest.fixture
def client(api: Cluster, closing: ExitStack) -> Client:
    return prepared(api, closing)


def prepared(cluster: Cluster, closing: ExitStack) -> Client:
    client = closing.enter_context(cluster.client())
    client.create(kinds.NAMESPACE, namespace(SPACE))
    return client


def loosened(kind: Kind) -> dict[str, Any]:
    """The CRD of a kind, but any object fits: as another version of it might be."""
    manifest = copy.deepcopy(crd.manifest(kind))
    for version in manifest["spec"]["versions"]:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version["schema"] = {"openAPIV3Schema": anything}
    return manifest


def install(client: Client, *manifests: dict[str, Any]) -> None:
    for manifest in manifests:
        client.create(kinds.CUSTOM_RESOURCE_DEFINITION, manifest)
    for manifest in manifests:
        until(lambda manifest=manifest: is_served(client, manifest))


def is_served(client: Client, manifest: dict[str, Any]) -> bool:
    """Established is not enough: the API server takes another moment to serve it."""
    spec = manifest["spec"]
    namespaced = spec["scope"] == "Namespaced"
    kind = Kind(spec["names"]["kind"], spec["names"]["plural"], spec["group"], kinds.VERSION, namespaced)
    try:
        list(client.list(kind))
    except NotFound:
        return False
    return True


@contextmanager
def store_of(cluster: Cluster, *watched: Kind, synced: bool = True) -> Iterator[Store]:
    store = Store(load(cluster.kubeconfig), [Watch(kind) for kind in watched], QUICK)
    store.start()
    try:
        assert not synced or store.wait_synced(20), store.health()
        yield store
    finally:
        store.stop()


def order(name: str, *workloads: str) -> dict[str, Any]:
    listed = [{"kind": "Deployment", "name": one} for one in workloads or ("cart",)]
    return {"metadata": {"name": name}, "spec": {"workloads": listed}}


def misfit(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"workloads": [{"kind": "Teapot", "name": "cart"}]}}


def change(client: Client, kind: Kind, made: dict[str, Any], patch: dict[str, Any], part: str = "") -> Any:
    name, space = made["metadata"]["name"], made["metadata"].get("namespace", "")
    about = client.get(kind, name, space)["metadata"]
    return client.patch(
        kind,
        name,
        patch,
        space,
        uid=about["uid"],
        resource_version=about["resourceVersion"],
        subresource=part,
    ).barrier


def delete(client: Client, kind: Kind, made: dict[str, Any]) -> None:
    about = made["metadata"]
    client.delete(kind, about["name"], about.get("namespace", ""), uid=about["uid"])


def names(store: Store, kind: Kind = ORDER) -> set[str]:
    return {row.name for row in store.snapshot().customs(kind)}


def undecodable(store: Store) -> dict[str, str]:
    return dict(store.snapshot().undecodable(ORDER))


def health(store: Store, kind: Kind) -> KindHealth:
    return next(one for one in store.health() if one.kind == kind)


def test_our_objects_are_synced_updated_and_deleted(api: Cluster, client: Client) -> None:
    install(client, *crd.manifests())
    made = client.create(ORDER, order("first", "cart", "till"), SPACE).object
    with store_of(api, ORDER, MIGRATION) as store:
        row = store.snapshot().custom(ORDER, "first", SPACE)
        assert row is not None
        assert isinstance(row.object, WorkloadOrder)
        assert [one.name for one in row.object.spec.workloads] == ["cart", "till"]
        migration = client.create(MIGRATION, {"metadata": {"name": CLUSTER}, "spec": {"paused": True}}).object
        held = until(lambda: store.snapshot().custom(MIGRATION, CLUSTER))
        assert isinstance(held.object, WorkloadMigration)
        assert held.object.spec.paused

        barrier = change(client, MIGRATION, migration, {"spec": {"paused": False}})
        assert store.wait_settled([barrier], 10)
        barrier = change(client, MIGRATION, migration, {"status": {"moves": 3}}, "status")
        assert store.wait_settled([barrier], 10)
        moved = store.snapshot().custom(MIGRATION, CLUSTER)
        assert moved is not None
        assert (moved.object.spec.paused, moved.object.status.moves) == (False, 3)
        assert held.object.spec.paused, "a row that was handed out stays as it was"

        delete(client, ORDER, made)
        until(lambda: not names(store))
        assert store.snapshot().custom(ORDER, "first", SPACE) is None
        assert names(store, MIGRATION) == {CLUSTER}


def test_a_row_has_the_metadata_of_its_object(api: Cluster, client: Client) -> None:
    install(client, crd.manifest(ORDER))
    space = client.get(kinds.NAMESPACE, SPACE)["metadata"]
    body = order("first")
    body["metadata"] |= {
        "labels": {"team": "till"},
        "annotations": {"shiplift.dev/note": "kept", "example.com/other": "not read by anyone"},
        "finalizers": ["shiplift.dev/keep"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Namespace", "name": SPACE, "uid": space["uid"], "controller": True}
        ],
    }
    made = client.create(ORDER, body, SPACE).object

    def check(row: Custom) -> None:
        assert (row.namespace, row.name, row.uid) == (SPACE, "first", made["metadata"]["uid"])
        assert row.labels == {"team": "till"}
        assert row.annotations == {"shiplift.dev/note": "kept"}
        assert row.finalizers == ("shiplift.dev/keep",)
        assert row.owners == (Owner("Namespace", SPACE, space["uid"], True, "v1"),)
        assert row.created > 0

    with store_of(api, ORDER) as store:
        row = until(lambda: store.snapshot().custom(ORDER, "first", SPACE))
        check(row)
        assert row.resource_version == int(made["metadata"]["resourceVersion"])
        assert (row.generation, row.deleting) == (1, 0)
        delete(client, ORDER, made)
        leaving = until(lambda: next((row for row in store.snapshot().customs(ORDER) if row.deleting), None))
        check(leaving)
        assert leaving.deleting >= leaving.created


def test_an_object_that_does_not_fit_is_skipped_and_named(api: Cluster, client: Client) -> None:
    install(client, loosened(ORDER))
    bad = client.create(ORDER, misfit("odd"), SPACE).object
    client.create(ORDER, order("even"), SPACE)
    with capture_logs() as logs, store_of(api, ORDER, kinds.NAMESPACE) as store:
        assert names(store) == {"even"}
        assert list(undecodable(store)) == ["shop/odd"]
        assert "Teapot" in undecodable(store)["shop/odd"]
        assert "spec.workloads" in undecodable(store)["shop/odd"]
        assert health(store, ORDER).skipped == 1
        assert health(store, ORDER).state is State.LIVE
        assert health(store, kinds.NAMESPACE).skipped == 0

        client.create(ORDER, order("later"), SPACE)
        until(lambda: names(store) == {"even", "later"})
        client.create(kinds.NAMESPACE, namespace("elsewhere"))
        until(lambda: store.snapshot().find(Namespace, "elsewhere"))
        before = store.snapshot()

        change(client, ORDER, bad, order("odd"))
        until(lambda: names(store) == {"even", "later", "odd"})
        assert undecodable(store) == {}
        assert list(before.undecodable(ORDER)) == ["shop/odd"], "a snapshot stays as it was"
    skipped = [line for line in logs if line["event"] == "object skipped"]
    assert [(line["kind"], line["name"], line["log_level"]) for line in skipped] == [
        ("WorkloadOrder", "shop/odd", "warning")
    ]
    assert "Teapot" in skipped[0]["reason"]


def test_an_object_that_no_longer_fits_is_no_row_any_more(api: Cluster, client: Client) -> None:
    install(client, loosened(ORDER))
    made = client.create(ORDER, order("odd"), SPACE).object
    client.create(ORDER, order("even"), SPACE)
    heard: list[tuple[str | None, str | None]] = []
    with store_of(api, ORDER) as store:
        store.subscribe(lambda _, old, new: heard.append((old and old.name, new and new.name)))
        barrier = change(client, ORDER, made, misfit("odd"))
        assert store.wait_settled([barrier], 10), "the store has seen it, fit or not"
        assert names(store) == {"even"}
        assert list(undecodable(store)) == ["shop/odd"]
        assert health(store, ORDER).skipped == 1
        with store_of(api, ORDER) as fresh:
            assert names(fresh) == names(store), "a store that starts now sees the same"
            assert undecodable(fresh) == undecodable(store)
        change(client, ORDER, made, order("odd"))
        until(lambda: names(store) == {"even", "odd"})
        assert undecodable(store) == {}
    neither = (None, None)
    assert heard == [neither, ("odd", None), (None, "odd"), neither]


def test_deleting_an_object_that_does_not_fit_clears_it(api: Cluster, client: Client) -> None:
    install(client, loosened(ORDER))
    heard: list[tuple[Row | None, Row | None]] = []
    with store_of(api, ORDER) as store:
        store.subscribe(lambda _, old, new: heard.append((old, new)))
        bad = client.create(ORDER, misfit("odd"), SPACE).object
        until(lambda: undecodable(store))
        delete(client, ORDER, bad)
        until(lambda: not undecodable(store))
        assert heard == [(None, None)] * 2, "whoever tells of it hears that it came, and that it is gone"
        client.create(ORDER, order("odd"), SPACE)
        until(lambda: names(store) == {"odd"})
        assert undecodable(store) == {}


def test_a_crd_that_is_not_installed_is_named_until_it_is(api: Cluster, client: Client) -> None:
    with store_of(api, ORDER, kinds.NAMESPACE, synced=False) as store:
        until(lambda: health(store, ORDER).error)
        assert "workloadorders in shiplift.dev/v1alpha1" in health(store, ORDER).error
        assert "shiplift crds" in health(store, ORDER).error
        assert health(store, ORDER).state is State.SYNCING
        assert not store.wait_synced(0)
        until(lambda: health(store, kinds.NAMESPACE).state is State.LIVE)
        assert store.snapshot().stale() == (ORDER,)

        install(client, crd.manifest(ORDER))
        client.create(ORDER, order("first"), SPACE)
        assert store.wait_synced(20), store.health()
        until(lambda: names(store) == {"first"})
        assert health(store, ORDER).error == ""
        assert store.snapshot().stale() == ()


def test_a_crd_taken_away_and_put_back_leaves_no_rows_of_before(api: Cluster, client: Client) -> None:
    install(client, crd.manifest(ORDER))
    client.create(ORDER, order("before"), SPACE)
    with store_of(api, ORDER) as store:
        name = crd.manifest(ORDER)["metadata"]["name"]
        delete(client, kinds.CUSTOM_RESOURCE_DEFINITION, client.get(kinds.CUSTOM_RESOURCE_DEFINITION, name))
        until(lambda: health(store, ORDER).state is State.STALE)
        until(lambda: "workloadorders in shiplift.dev/v1alpha1" in health(store, ORDER).error)
        install(client, crd.manifest(ORDER))
        client.create(ORDER, order("after"), SPACE)
        until(lambda: names(store) == {"after"})
        until(lambda: not store.snapshot().stale())


def test_an_emulated_1_33_server_is_listed_in_pages_and_then_watched(
    private_cluster: Callable[..., Cluster], closing: ExitStack
) -> None:
    old = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    client = prepared(old, closing)
    install(client, loosened(ORDER))
    for count in range(502):
        client.create(ORDER, order(f"order-{count}"), SPACE)
    bad = client.create(ORDER, misfit("order-50-odd"), SPACE).object
    with store_of(old, ORDER) as store:
        assert names(store) == {f"order-{count}" for count in range(502)}
        assert list(undecodable(store)) == ["shop/order-50-odd"]
        change(client, ORDER, bad, order("order-50-odd"))
        until(lambda: len(names(store)) == 503)
        assert undecodable(store) == {}
        made = client.create(ORDER, order("later"), SPACE).object
        until(lambda: "later" in names(store))
        delete(client, ORDER, made)
        until(lambda: "later" not in names(store))
