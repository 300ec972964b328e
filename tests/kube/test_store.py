"""The store against a real API server: what it shows, how fast it follows, what it survives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from shiplift.engine.backoff import Backoff
from shiplift.engine.barrier import Gone, Seen
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels, Row
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment
from shiplift.kube.client import Client, PatchType
from shiplift.kube.credentials import Impersonation, load
from shiplift.kube.store import State, Store
from shiplift.kube.watch import Pace, Watch
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Component, Settings
from tests.kube.gate import Gate, kubeconfig_through
from tests.kube.objects import deployment, namespace, pod
from tests.until import until

QUICK = Pace(
    connect=5.0,
    idle=5.0,
    backoff=Backoff(first=timedelta(milliseconds=50), cap=timedelta(milliseconds=400), jitter=0.5),
)


WATCHFUL = Pace(connect=2.0, idle=5.0, quiet=2.0, age=4.0, backoff=QUICK.backoff)
"""As usual, but that a watch is quiet sooner."""


@contextmanager
def store_of(kubeconfig: Path, *watched: Watch | Kind, pace: Pace = QUICK) -> Iterator[Store]:
    """A store that is synced, and stopped at the end."""
    watches = [one if isinstance(one, Watch) else Watch(one) for one in watched]
    store = Store(load(kubeconfig), watches, pace)
    store.start()
    try:
        assert store.wait_synced(20), store.health()
        yield store
    finally:
        store.stop()


def state_of(store: Store, kind: Kind) -> State:
    return next(one.state for one in store.health() if one.kind == kind)


def names(rows: object) -> set[str]:
    return {row.name for row in rows}  # type: ignore[attr-defined]


Connect = Callable[[Cluster], Client]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Clients that are closed after the test."""
    with ExitStack() as closing:
        yield lambda cluster: closing.enter_context(cluster.client())


@pytest.fixture
def api(private_cluster: Callable[..., Cluster], connect: Connect) -> Cluster:
    """An API server of the test's own, with a namespace for pods."""
    cluster = private_cluster()
    prepare(connect(cluster))
    return cluster


@pytest.fixture
def client(api: Cluster, connect: Connect) -> Client:
    return connect(api)


def prepare(client: Client, name: str = "shop") -> None:
    client.create(kinds.NAMESPACE, namespace(name))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    client.create(Kind("ServiceAccount", "serviceaccounts"), account, name)


@pytest.fixture
def gate(api: Cluster) -> Iterator[Gate]:
    gate = Gate(api.credentials().server.port)
    yield gate
    gate.close()


def test_what_exists_is_there_after_sync_and_what_comes_follows(
    cluster: Cluster, namespace: str, connect: Connect
) -> None:
    client = connect(cluster)
    client.create(kinds.POD, pod("early"), namespace)
    with store_of(cluster.kubeconfig, Watch(kinds.POD, namespace=namespace)) as store:
        assert names(store.snapshot().all(Pod)) == {"early"}
        client.create(kinds.POD, pod("late"), namespace)
        until(lambda: names(store.snapshot().all(Pod)) == {"early", "late"})
        early = next(row for row in store.snapshot().all(Pod) if row.name == "early")
        client.delete(kinds.POD, "early", namespace, uid=early.uid, grace=0)
        until(lambda: names(store.snapshot().all(Pod)) == {"late"})


def test_a_snapshot_stays_as_it_was_while_events_go_on(api: Cluster, client: Client) -> None:
    client.create(kinds.POD, pod("one", node="n1", labels={"app": "a"}), "shop")
    with store_of(api.kubeconfig, kinds.POD) as store:
        before = store.snapshot()
        for count in range(40):
            client.create(kinds.POD, pod(f"more-{count}", node="n1", labels={"app": "a"}), "shop")
        selector = Selector(Labels(app="a"))
        until(lambda: len(list(store.snapshot().pods_matching("shop", selector))) == 41)
        assert names(before.all(Pod)) == {"one"}
        assert names(before.pods_on("n1")) == {"one"}
        assert names(before.pods_matching("shop", selector)) == {"one"}
        assert len(list(store.snapshot().pods_on("n1"))) == 41


def test_pods_are_found_by_node_owner_and_selector(
    cluster: Cluster, namespace: str, connect: Connect
) -> None:
    client = connect(cluster)
    client.create(kinds.DEPLOYMENT, deployment("web", 3), namespace)
    watched = [Watch(kind, namespace=namespace) for kind in (kinds.POD, kinds.DEPLOYMENT, kinds.REPLICA_SET)]
    with store_of(cluster.kubeconfig, *watched) as store:
        selector = Selector(Labels(app="web"))

        def running() -> list[Pod]:
            pods = list(store.snapshot().pods_matching(namespace, selector))
            return pods if len(pods) == 3 and all(one.ready for one in pods) else []

        pods = until(running)
        found = store.snapshot()
        owner = pods[0].controller
        assert owner is not None
        assert owner.kind == "ReplicaSet"
        assert names(found.pods_of(owner.uid)) == names(pods)
        assert all(one in list(found.pods_on(one.node)) for one in pods)
        assert found.find(Deployment, "web", namespace) is not None
        assert list(found.pods_matching(namespace, None)) == []
        assert list(found.pods_matching("elsewhere", selector)) == []


def test_a_write_is_settled_when_the_store_has_seen_it(api: Cluster, client: Client) -> None:
    with store_of(api.kubeconfig, kinds.POD) as store:
        written = client.create(kinds.POD, pod("one", node="n1"), "shop")
        uid = written.object["metadata"]["uid"]
        assert written.barrier is not None
        assert store.wait_settled([written.barrier], 10)
        assert store.snapshot().by_uid(Pod, uid) is not None
        revision = store.snapshot().revision(kinds.POD)
        assert not store.settled([Seen(kinds.POD, revision + 1)])
        assert not store.settled([Gone(kinds.POD, uid)])
        assert store.settled([Seen(kinds.NODE, revision + 1)]), "nobody waits for a kind that is not watched"
        gone = client.delete(kinds.POD, "one", "shop", uid=uid)
        assert gone.barrier is not None
        assert store.wait_settled([gone.barrier], 10)


def test_subscribers_hear_every_change_in_order(api: Cluster, client: Client) -> None:
    heard: list[tuple[str, str]] = []

    def note(kind: Kind, old: Row | None, new: Row | None) -> None:
        heard.append((old.name if old else "-", new.name if new else "-"))

    def broken(kind: Kind, old: Row | None, new: Row | None) -> None:
        raise RuntimeError("a subscriber that fails stops nobody")

    with store_of(api.kubeconfig, Watch(kinds.POD, namespace="shop")) as store:
        store.subscribe(broken)
        store.subscribe(note)
        made = client.create(kinds.POD, pod("one", node="n1"), "shop").object["metadata"]
        patch = {"metadata": {"labels": {"a": "b"}}}
        client.patch(kinds.POD, "one", patch, "shop", type=PatchType.MERGE, uid=made["uid"])
        client.delete(kinds.POD, "one", "shop", uid=made["uid"], grace=0)
        until(lambda: ("one", "-") in heard)
    assert heard[0] == ("-", "one")
    assert heard[1] == ("one", "one")
    assert heard[-1] == ("one", "-")


def test_only_what_is_asked_for_is_watched(api: Cluster, client: Client) -> None:
    prepare(client, "other")
    for space in ("shop", "other"):
        for node in ("n1", "n2"):
            client.create(kinds.POD, pod(f"on-{node}", node=node), space)
    watch = Watch(kinds.POD, namespace="shop", field_selector="spec.nodeName=n1")
    with store_of(api.kubeconfig, watch) as store:
        assert [(row.namespace, row.name) for row in store.snapshot().all(Pod)] == [("shop", "on-n1")]


def test_an_emulated_1_33_server_is_listed_in_pages_and_then_watched(
    private_cluster: Callable[..., Cluster], connect: Connect
) -> None:
    old = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    client = connect(old)
    for count in range(1203):
        client.create(kinds.NAMESPACE, namespace(f"space-{count}"))
    with store_of(old.kubeconfig, kinds.NAMESPACE) as store:
        have = names(store.snapshot().all(Namespace))
        assert {f"space-{count}" for count in range(1203)} <= have
        assert "default" in have
        client.create(kinds.NAMESPACE, namespace("later"))
        until(lambda: store.snapshot().find(Namespace, "later"))


@pytest.mark.crash
def test_the_api_server_killed_under_a_watch_and_back_again(api: Cluster, client: Client) -> None:
    with store_of(api.kubeconfig, kinds.NAMESPACE) as store:
        api.kill(Component.API_SERVER)
        until(lambda: state_of(store, kinds.NAMESPACE) is State.STALE)
        kept = store.snapshot()
        assert kept.find(Namespace, "shop") is not None, "the old rows are still served"
        assert kept.stale() == (kinds.NAMESPACE,)
        api.start(Component.API_SERVER)
        client.create(kinds.NAMESPACE, namespace("after"))
        until(lambda: store.snapshot().find(Namespace, "after"))
        assert state_of(store, kinds.NAMESPACE) is State.LIVE


@pytest.mark.crash
def test_a_long_outage_restarts_nothing_and_is_told(
    api: Cluster, client: Client, gate: Gate, tmp_path: Path
) -> None:
    """Ten minutes of outage are some twenty attempts with the usual backoff; here as many come sooner."""
    through = kubeconfig_through(gate, api.kubeconfig, tmp_path)
    with store_of(through, kinds.NAMESPACE, kinds.POD) as store:
        gate.shut()
        tried = gate.connections
        until(lambda: gate.connections > tried + 40, 60)
        health = store.health()
        assert all(one.alive and one.state is State.STALE and one.error for one in health), health
        client.create(kinds.NAMESPACE, namespace("meanwhile"))
        gate.open()
        until(lambda: store.snapshot().find(Namespace, "meanwhile"))
        until(lambda: not store.snapshot().stale())


@pytest.mark.crash
def test_a_burst_of_thousands_of_events_is_taken_in_without_loss(
    api: Cluster, client: Client, gate: Gate, tmp_path: Path
) -> None:
    """All at once after a cut, which is faster than any API server here could make them one by one."""
    made = [client.create(kinds.POD, pod(f"p{i}", node="n1"), "shop").object["metadata"] for i in range(20)]
    heard: list[int] = []
    with store_of(kubeconfig_through(gate, api.kubeconfig, tmp_path), kinds.POD) as store:
        store.subscribe(lambda _, old, new: heard.append(new.resource_version if new else 0))
        gate.shut()
        touch_often(client, made, 100)
        gate.open()
        until(lambda: counts(store) == {"99"}, 60)
    assert len(heard) == 2000
    assert heard == sorted(heard)


@pytest.mark.crash
def test_a_dead_watch_is_noticed_and_asked_again(
    api: Cluster, client: Client, gate: Gate, tmp_path: Path
) -> None:
    through = kubeconfig_through(gate, api.kubeconfig, tmp_path)
    with store_of(through, kinds.NAMESPACE, pace=WATCHFUL) as store:
        gate.silence()
        silent = time.monotonic()
        client.create(kinds.NAMESPACE, namespace("unheard"))
        until(lambda: state_of(store, kinds.NAMESPACE) is State.STALE)
        assert time.monotonic() - silent < WATCHFUL.age + 1
        gate.open()
        until(lambda: store.snapshot().find(Namespace, "unheard"))


def test_a_kind_in_which_nothing_happens_is_synced_once_and_stays_fresh(
    api: Cluster, gate: Gate, tmp_path: Path
) -> None:
    """Nobody has ever made a StatefulSet here, so there are no bookmarks: a watch of them is silent."""
    through = kubeconfig_through(gate, api.kubeconfig, tmp_path)
    with capture_logs() as logs, store_of(through, kinds.STATEFUL_SET, pace=WATCHFUL) as store:
        asked = gate.connections
        while gate.connections < asked + 8:
            assert not store.snapshot().stale(), store.health()
            time.sleep(0.05)
    assert {line["event"] for line in logs} == {"synced"}, logs
    assert sum(line["event"] == "synced" for line in logs) == 1


def test_what_comes_while_a_quiet_watch_is_asked_for_anew_is_not_missed(api: Cluster, client: Client) -> None:
    with store_of(api.kubeconfig, kinds.NAMESPACE, pace=WATCHFUL) as store:
        for number in range(12):
            time.sleep(0.9)
            client.create(kinds.NAMESPACE, namespace(f"one-{number}"))
        until(lambda: {f"one-{number}" for number in range(12)} <= names(store.snapshot().all(Namespace)))


@pytest.mark.crash
def test_a_server_put_back_to_an_earlier_state_is_noticed(
    api: Cluster, client: Client, gate: Gate, tmp_path: Path
) -> None:
    """To a watch from a version that is yet to come it says nothing at all."""
    through = kubeconfig_through(gate, api.kubeconfig, tmp_path)
    with store_of(through, kinds.NAMESPACE, pace=WATCHFUL) as store:
        store._tables[kinds.NAMESPACE].revision += 1_000_000
        gate.shut()
        until(lambda: store.snapshot().stale())
        gate.open()
        client.create(kinds.NAMESPACE, namespace("new"))
        until(lambda: store.snapshot().find(Namespace, "new"))
        assert store.snapshot().revision(kinds.NAMESPACE) < 1_000_000


@pytest.mark.crash
def test_after_a_410_all_rows_are_replaced_at_once_and_deletes_are_heard(
    api: Cluster, client: Client, gate: Gate, tmp_path: Path
) -> None:
    doomed = client.create(kinds.POD, pod("doomed", node="n1"), "shop").object["metadata"]
    client.create(kinds.POD, pod("stays", node="n1"), "shop")
    heard: list[tuple[str | None, str | None]] = []
    with store_of(kubeconfig_through(gate, api.kubeconfig, tmp_path), kinds.POD) as store:
        unchanged = next(row for row in store.snapshot().all(Pod) if row.name == "stays")
        store.subscribe(lambda _, old, new: heard.append((old and old.name, new and new.name)))
        gate.shut()
        until(lambda: store.snapshot().stale())
        client.delete(kinds.POD, "doomed", "shop", uid=doomed["uid"], grace=0)
        client.create(kinds.POD, pod("new", node="n1"), "shop")
        api.compact()
        api.restart(Component.API_SERVER)
        assert names(store.snapshot().pods_on("n1")) == {"doomed", "stays"}, (
            "old rows until the new are in place"
        )
        gate.open()
        until(lambda: names(store.snapshot().pods_on("n1")) == {"stays", "new"})
        until(lambda: not store.snapshot().stale())
        assert store.snapshot().by_uid(Pod, unchanged.uid) is unchanged, "an unchanged row is not made again"
    assert sorted(heard, key=str) == [("doomed", None), (None, "new")]


def test_an_object_of_nearly_a_megabyte_and_a_half(api: Cluster, client: Client) -> None:
    body = deployment("huge", 0)
    body["spec"]["template"]["spec"]["containers"][0]["args"] = ["x" * 1024] * 1390
    with store_of(api.kubeconfig, kinds.DEPLOYMENT) as store:
        client.create(kinds.DEPLOYMENT, body, "shop")
        row = until(lambda: store.snapshot().find(Deployment, "huge", "shop"))
        assert row.template.containers[0].image == "example/app:1"
    with store_of(api.kubeconfig, kinds.DEPLOYMENT) as store:
        assert store.snapshot().find(Deployment, "huge", "shop") is not None, "and in the initial state too"


def touch_often(client: Client, made: list[dict[str, str]], times: int) -> None:
    """That many updates of each pod, all pods side by side."""

    def touch(about: dict[str, str]) -> None:
        for count in range(times):
            patch = {"metadata": {"annotations": {"shiplift.dev/count": str(count)}}}
            client.patch(kinds.POD, about["name"], patch, "shop", type=PatchType.MERGE, uid=about["uid"])

    with ThreadPoolExecutor(len(made)) as threads:
        list(threads.map(touch, made))


def counts(store: Store) -> set[str | None]:
    return {row.annotations.get("shiplift.dev/count") for row in store.snapshot().all(Pod)}


def test_thousands_of_events_are_followed_without_loss(api: Cluster, client: Client) -> None:
    made = [client.create(kinds.POD, pod(f"p{i}", node="n1"), "shop").object["metadata"] for i in range(20)]
    with store_of(api.kubeconfig, kinds.POD) as store:
        events: list[int] = []
        store.subscribe(lambda _, old, new: events.append(new.resource_version if new else 0))
        touching = threading.Thread(target=touch_often, args=(client, made, 100))
        touching.start()
        while touching.is_alive():
            store.snapshot()
            touching.join(0.001)
        until(lambda: counts(store) == {"99"})
    assert len(events) == 2000
    assert events == sorted(events)


def test_a_missing_right_is_named_and_once_given_all_is_well(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    store = Store(load(api.kubeconfig, impersonate=Impersonation("nobody")), [Watch(kinds.POD)], QUICK)
    store.start()
    try:
        until(lambda: store.health()[0].error)
        assert "nobody" in store.health()[0].error
        assert "pods" in store.health()[0].error
        assert not store.wait_synced(0.1)
        group = "rbac.authorization.k8s.io"
        role = Kind("ClusterRole", "clusterroles", group, namespaced=False)
        binding = Kind("ClusterRoleBinding", "clusterrolebindings", group, namespaced=False)
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
        about = {"name": "may-see"}
        client.create(role, {"metadata": about, "rules": [rule]})
        subject = {"kind": "User", "name": "nobody", "apiGroup": group}
        reference = {"kind": "ClusterRole", "name": "may-see", "apiGroup": group}
        client.create(binding, {"metadata": about, "roleRef": reference, "subjects": [subject]})
        assert store.wait_synced(20)
    finally:
        store.stop()
