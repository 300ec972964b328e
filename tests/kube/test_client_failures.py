"""Broken connections and strange answers before a real API server: what is sent again, and what is known."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shiplift.engine.barrier import Gone, Seen
from shiplift.facts.kinds import CONFIG_MAP, POD
from shiplift.kube import errors
from shiplift.kube.client import Client, PatchType, Written
from shiplift.kube.credentials import Credentials, Server
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Trust
from shiplift.kube.errors import Look
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.kube.misbehaving import Door, Instead, Trick, door
from tests.kube.objects import pod, uid
from tests.kube.test_client import a_deployment, scale, version

Object = dict[str, Any]

OVERLOAD = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Type: text/plain\r\n\r\nToo many requests"
)
AWAY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BARE = b"HTTP/1.1 500 x\r\n\r\nsomething broke"
ETCD_SLOW = (
    b"HTTP/1.1 500 x\r\nConnection: close\r\n\r\n"
    b'{"kind":"Status","message":"etcdserver: request timed out","reason":"InternalError"}'
)
LOGIN_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>please log in</html>"


@pytest.fixture
def front(cluster: Cluster) -> Iterator[Door]:
    with door(cluster.credentials()) as made:
        yield made


@pytest.fixture
def client(front: Door) -> Iterator[Client]:
    with Client(front.credentials, field_manager="shiplift-7", timeout=10) as made:
        yield made


@pytest.fixture
def impatient(front: Door) -> Iterator[Client]:
    with Client(front.credentials, timeout=1) as made:
        yield made


def paint(client: Client, config: Object, colour: str = "blue", **options: Any) -> Written:
    meta = config["metadata"]
    options = {"resource_version": meta["resourceVersion"]} | options
    return client.patch(
        CONFIG_MAP, meta["name"], {"data": {"colour": colour}}, meta["namespace"], uid=meta["uid"], **options
    )


@pytest.mark.parametrize("trick", [Trick.DROP, Trick.LOSE, Trick.CUT, OVERLOAD, AWAY])
def test_a_read_is_sent_again(
    front: Door, client: Client, config: Object, namespace: str, trick: Any
) -> None:
    front.play("GET", trick)
    assert client.get(CONFIG_MAP, "settings", namespace)["data"] == {"colour": "red"}
    assert not front.tricks


def test_a_read_that_never_succeeds_is_unreachable(front: Door, client: Client, namespace: str) -> None:
    front.play("GET", *[Trick.DROP] * 4)
    with pytest.raises(errors.Unreachable):
        client.get(CONFIG_MAP, "settings", namespace)


def test_an_answer_that_only_drips_is_given_up_on(
    front: Door, impatient: Client, config: Object, namespace: str
) -> None:
    front.play("GET", Trick.DRIP)
    with pytest.raises(errors.Unreachable, match="did not end in time"):
        impatient.get(CONFIG_MAP, "settings", namespace)


def test_an_endless_error_is_not_read_to_the_end(front: Door, client: Client) -> None:
    front.play("GET", b"HTTP/1.1 500 x\r\n\r\n" + b"no " * 100_000)
    with pytest.raises(errors.ServerError, match="no no") as error:
        client.raw("GET", "/readyz")
    assert len(str(error.value)) < 2000


def test_a_write_that_the_server_had_no_time_for_is_sent_again(
    front: Door, client: Client, namespace: str
) -> None:
    front.play("POST", OVERLOAD, OVERLOAD)
    written = client.create(CONFIG_MAP, {"metadata": {"name": "new"}, "data": {"a": "b"}}, namespace)
    assert written.object["data"] == {"a": "b"}


def test_overload_that_lasts_is_throttled_and_not_a_budget(
    front: Door, client: Client, namespace: str
) -> None:
    front.play("POST", *[OVERLOAD] * 4)
    with pytest.raises(errors.Throttled, match="Too many requests"):
        client.evict("web", namespace, uid="any")


def test_a_wait_longer_than_the_call_may_take_is_left_to_the_caller(front: Door, client: Client) -> None:
    front.play("GET", OVERLOAD.replace(b"Retry-After: 0", b"Retry-After: 60"))
    with pytest.raises(errors.Throttled) as refusal:
        client.raw("GET", "/readyz")
    assert refusal.value.retry_after == 60


def test_an_answer_without_a_single_header_is_survived(front: Door, client: Client) -> None:
    front.play("GET", BARE)
    with pytest.raises(errors.ServerError, match="something broke"):
        client.raw("GET", "/readyz")


@pytest.mark.parametrize("trick", [Trick.LOSE, Trick.CUT])
def test_a_lost_answer_to_a_create_is_found_by_looking(
    front: Door, client: Client, namespace: str, trick: Any
) -> None:
    front.play("POST", trick)
    body = {"metadata": {"name": "new"}, "data": {"a": "b"}}
    written = client.create(CONFIG_MAP, body, namespace)
    assert written.object["data"] == {"a": "b"}
    assert written.barrier == Seen(CONFIG_MAP, int(written.object["metadata"]["resourceVersion"]))
    assert len([line for line in front.seen if line.startswith("POST")]) == 1, "a create was sent twice"


def test_a_login_page_is_no_answer_to_a_create(front: Door, client: Client, namespace: str) -> None:
    front.play("POST", LOGIN_PAGE)
    with pytest.raises(errors.Unknown) as doubt:
        client.create(CONFIG_MAP, {"metadata": {"name": "new"}, "data": {"a": "b"}}, namespace)
    assert doubt.value.look is Look.NOT_APPLIED


def test_an_object_that_somebody_else_made_is_not_taken_for_ours(
    front: Door, client: Client, cluster: Cluster, namespace: str
) -> None:
    body = {"metadata": {"name": "new"}, "data": {"a": "b"}}
    with Client(cluster.credentials(), field_manager="somebody") as other:
        other.create(CONFIG_MAP, body, namespace)
    front.play("POST", Trick.LOSE)
    with pytest.raises(errors.Unknown) as doubt:
        client.create(CONFIG_MAP, body, namespace)
    assert doubt.value.look is Look.NOT_APPLIED


@pytest.mark.parametrize("guarded", [True, False])
def test_a_lost_answer_to_a_patch_is_found_by_looking(
    front: Door, client: Client, config: Object, guarded: bool
) -> None:
    front.play("PATCH", Trick.LOSE)
    written = paint(client, config, **({} if guarded else {"resource_version": None}))
    assert written.object["data"] == {"colour": "blue"}
    assert written.barrier == Seen(CONFIG_MAP, int(written.object["metadata"]["resourceVersion"]))


def test_an_answer_that_never_comes_is_found_by_looking(
    front: Door, impatient: Client, config: Object
) -> None:
    front.play("PATCH", Trick.HANG)
    assert paint(impatient, config).object["data"] == {"colour": "blue"}


def test_a_patch_that_never_arrived_is_not_applied_and_not_sent_again(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    front.play("PATCH", Trick.DROP)
    with pytest.raises(errors.Unknown) as doubt:
        paint(client, config)
    assert doubt.value.look is Look.NOT_APPLIED
    assert client.get(CONFIG_MAP, "settings", namespace)["data"] == {"colour": "red"}


def test_a_patch_that_cannot_be_looked_at_stays_unknown(
    front: Door, impatient: Client, config: Object
) -> None:
    front.play("PATCH", Trick.LOSE)
    front.play("GET", *[Trick.DROP] * 4)
    with pytest.raises(errors.Unknown) as doubt:
        paint(impatient, config)
    assert doubt.value.look is Look.STILL_UNKNOWN


def test_a_patch_that_somebody_overtook_stays_unknown(
    front: Door, client: Client, cluster: Cluster, config: Object
) -> None:
    with Client(cluster.credentials()) as other:
        paint(other, config, "green")
    front.play("PATCH", Trick.DROP)
    with pytest.raises(errors.Unknown) as doubt:
        paint(client, config)
    assert doubt.value.look is Look.STILL_UNKNOWN


def test_a_patch_that_would_do_more_when_repeated_stays_unknown(
    front: Door, client: Client, namespace: str
) -> None:
    made = client.create(CONFIG_MAP, {"metadata": {"name": "moved"}, "data": {"a": "b"}}, namespace).object
    front.play("PATCH", Trick.LOSE)
    move = [{"op": "move", "from": "/data/a", "path": "/data/c"}]
    with pytest.raises(errors.Unknown) as doubt:
        client.patch(CONFIG_MAP, "moved", move, namespace, type=PatchType.JSON, uid=uid(made))
    assert doubt.value.look is Look.STILL_UNKNOWN
    assert client.get(CONFIG_MAP, "moved", namespace)["data"] == {"c": "b"}


def test_a_lost_answer_to_an_update_or_an_apply_is_found_by_looking(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    front.play("PUT", Trick.LOSE)
    updated = client.update(CONFIG_MAP, {**config, "data": {"colour": "blue"}}).object
    assert updated["data"] == {"colour": "blue"}
    front.play("PATCH", Trick.LOSE)
    ours = {"metadata": {"name": "settings", "namespace": namespace}, "data": {"size": "1"}}
    applied = client.apply(CONFIG_MAP, ours, uid=uid(config)).object
    assert applied["data"] == {"colour": "blue", "size": "1"}


def test_a_lost_answer_to_scaling_is_found_by_looking(private_cluster: Callable[..., Cluster]) -> None:
    with door(private_cluster().credentials()) as front, Client(front.credentials, timeout=10) as client:
        made = a_deployment(client, "space")
        front.play("PATCH", Trick.LOSE)
        scaled = scale(client, "space", 2, uid=uid(made), version=version(made)).object
        assert (scaled["kind"], scaled["spec"]["replicas"]) == ("Scale", 2)
        front.play("PATCH", Trick.DROP)
        with pytest.raises(errors.Unknown) as doubt:
            scale(client, "space", 3, uid=uid(made), version=version(scaled))
    assert doubt.value.look is Look.NOT_APPLIED


def test_a_lost_answer_to_a_delete_is_found_by_looking(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    front.play("DELETE", Trick.LOSE)
    written = client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    assert written.barrier == Gone(CONFIG_MAP, uid(config))


def test_a_delete_that_never_arrived_is_not_applied(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    front.play("DELETE", Trick.DROP)
    with pytest.raises(errors.Unknown) as doubt:
        client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    assert doubt.value.look is Look.NOT_APPLIED
    assert client.get(CONFIG_MAP, "settings", namespace)


def test_a_lost_answer_to_an_eviction_is_found_by_looking(
    front: Door, client: Client, namespace: str
) -> None:
    made = client.create(POD, pod("web", schedulerName="nobody"), namespace).object
    front.play("POST", Trick.LOSE)
    assert client.evict("web", namespace, uid=uid(made)).barrier == Gone(POD, uid(made))


def test_a_dry_run_is_sent_again_like_a_read(front: Door, client: Client, namespace: str) -> None:
    made = client.create(POD, pod("web", schedulerName="nobody"), namespace).object
    front.play("POST", Trick.LOSE, Trick.DROP)
    assert client.evict("web", namespace, uid=uid(made), dry_run=True).barrier is None


@pytest.mark.parametrize("answer", [ETCD_SLOW, AWAY, BARE])
def test_a_failure_of_the_server_is_looked_at_before_it_is_believed(
    front: Door, client: Client, config: Object, answer: bytes
) -> None:
    front.play("PATCH", answer)
    with pytest.raises(errors.ServerError):
        paint(client, config)
    front.play("PATCH", Instead(answer))
    assert paint(client, config).object["data"] == {"colour": "blue"}


@pytest.mark.parametrize("nonsense", [b"{}", b'{"metadata":{}}', b"null"])
def test_an_answer_that_is_no_object_is_no_proof_of_a_delete(
    front: Door, client: Client, config: Object, namespace: str, nonsense: bytes
) -> None:
    front.play("DELETE", Trick.DROP)
    front.play("GET", b"HTTP/1.1 200 OK\r\n\r\n" + nonsense)
    with pytest.raises(errors.Unknown) as doubt:
        client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    assert doubt.value.look is Look.STILL_UNKNOWN


def test_an_address_that_is_not_served_yet_is_no_proof_of_a_delete(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    front.play("DELETE", Trick.DROP)
    front.play("GET", b"HTTP/1.1 404 Not Found\r\n\r\n404 page not found")
    with pytest.raises(errors.Unknown) as doubt:
        client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    assert doubt.value.look is Look.STILL_UNKNOWN


def test_a_name_that_has_a_new_owner_proves_that_the_old_one_is_gone(
    front: Door, client: Client, config: Object, namespace: str
) -> None:
    client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config))
    client.create(CONFIG_MAP, {"metadata": {"name": "settings"}, "data": {"a": "b"}}, namespace)
    front.play("DELETE", Trick.DROP)
    assert client.delete(CONFIG_MAP, "settings", namespace, uid=uid(config)).barrier == Gone(
        CONFIG_MAP, uid(config)
    )
    front.play("PATCH", Trick.DROP)
    with pytest.raises(errors.Unknown) as doubt:
        paint(client, config)
    assert doubt.value.look is Look.NOT_APPLIED


def test_a_server_below_a_path_is_asked_there(front: Door) -> None:
    server = Server("http", "127.0.0.1", front.credentials.server.port, "/k8s/clusters/one")
    below = Credentials(server, Trust(), Anonymous())
    front.play("GET", b"HTTP/1.1 200 OK\r\n\r\nok")
    with Client(below) as client:
        assert client.raw("GET", "/readyz", query=[("verbose", "a b")]) == b"ok"
    assert front.seen == ["GET /k8s/clusters/one/readyz?verbose=a+b HTTP/1.1"]


def test_a_raw_write_without_an_answer_is_unknown(front: Door, client: Client) -> None:
    front.play("POST", Trick.DROP)
    with pytest.raises(errors.Unknown):
        client.raw("POST", "/api/v1/namespaces", body=b"{}")


def test_no_server_at_all_is_unreachable_even_for_a_write() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nowhere = Credentials(Server("http", "127.0.0.1", port), Trust(), Anonymous())
    with Client(nowhere, timeout=5) as client, pytest.raises(errors.Unreachable, match="refused"):
        client.create(CONFIG_MAP, {"metadata": {"name": "new"}}, "default")


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again(
    private_cluster: Callable[[], Cluster],
) -> None:
    own = private_cluster()
    with Client(own.credentials()) as client:
        client.raw("GET", "/readyz")
        own.restart(Component.API_SERVER)
        assert client.create(
            CONFIG_MAP, {"metadata": {"name": "after"}, "data": {"a": "b"}}, "default"
        ).object


def test_a_closed_client_sends_nothing(cluster: Cluster) -> None:
    client = Client(cluster.credentials())
    client.close()
    with pytest.raises(errors.Unreachable, match="closed"):
        client.raw("GET", "/readyz")


def test_many_threads_share_one_client(client: Client, namespace: str) -> None:
    def make(number: int) -> str:
        body = {"metadata": {"name": f"item-{number}"}, "data": {"a": "b"}}
        return client.create(CONFIG_MAP, body, namespace).object["metadata"]["name"]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(40)))) == 40
