"""What was read of pods, and how versions compare, in the words of a decision."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.base import ObjectMeta
from shiplift.api.quorum import QuorumService, QuorumServiceSpec
from shiplift.engine.probes import Truth
from shiplift.engine.step import Outcomes
from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.engines.protocol import Server, Silent, Told
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Candidate, Member, Validity
from shiplift.quorum.names import SWAP, Before, Record
from shiplift.quorum.observe.gathering import Read, Recorded, view_of
from shiplift.quorum.observe.members import Heard, Place, expected, members, servers
from shiplift.quorum.observe.observer import BUSY, RESTING, STALLED, is_thorough, of_service, platforms
from shiplift.quorum.observe.order import ordered
from shiplift.quorum.validating import trust_of
from shiplift.quorum.wire import Direct
from tests.minio.servers import CREDENTIALS

Json = dict[str, Any]
ENGINE = MinIO(Direct(), CREDENTIALS)
PLACE = Place("store", "minio", 9000, "shiplift.shiplift-system.svc")
KEY = "RWQ" + "A" * 53
OLDER = "2024-12-18T13:15:44Z"
TOLD = Told("2025-04-22T22:12:26Z", True, 2, ())


def a_set(name: str = "minio", replicas: int = 2, **spec: Any) -> Json:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"serviceName": "peers", "replicas": replicas, **spec},
    }


def a_pod(name: str, env: list[Json] | None = None, *, ready: bool = True, **about: Any) -> Json:
    containers = [{"name": "sidecar", "image": "s:1"}, {"name": "minio", "image": "m:1", "env": env or []}]
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", **about},
        "spec": {"containers": containers},
        "status": {"podIP": "10.0.0.7", "conditions": conditions},
    }


def seen(pod: Json, heard: Heard | None = None) -> Member:
    uid = pod["metadata"]["uid"]
    [one] = members([a_set(replicas=1)], {"minio-0": pod}, {uid: heard} if heard else {}, PLACE)
    return one


def test_the_pods_that_there_should_be_are_counted_from_the_first_ordinal() -> None:
    assert expected(a_set()) == ["minio-0", "minio-1"]
    assert expected(a_set(ordinals={"start": 5})) == ["minio-5", "minio-6"]


def test_a_pod_that_is_not_there_is_a_member_that_says_nothing() -> None:
    found = list(members([a_set()], {"minio-0": a_pod("minio-0")}, {}, PLACE))
    assert [(one.name, one.uid, one.told) for one in found] == [
        ("minio-0", "uid-minio-0", None),
        ("minio-1", "", None),
    ]
    assert found[1].why_silent == "its pod is not there"


def test_members_of_all_pools_come_in_their_order() -> None:
    found = members([a_set("b", 1), a_set("a", 1)], {}, {}, PLACE)
    assert [(one.name, one.pool) for one in found] == [("b-0", "b"), ("a-0", "a")]


def test_what_a_server_said_is_its_pods_by_uid() -> None:
    found = seen(a_pod("minio-0"), Heard(TOLD, Truth.TRUE, Truth.FALSE))
    assert (found.told, found.sings, found.may_stop) == (TOLD, Truth.TRUE, Truth.FALSE)
    assert seen(a_pod("minio-0"), Heard(Silent("refused"))).why_silent == "refused"
    assert seen(a_pod("minio-0")).told is None


def test_its_own_image_readiness_and_leaving_are_seen() -> None:
    assert (seen(a_pod("minio-0")).image, seen(a_pod("minio-0")).ready) == ("m:1", True)
    assert not seen(a_pod("minio-0", ready=False)).ready
    assert seen(a_pod("minio-0", deletionTimestamp="2026-11-17T09:00:00Z")).leaving


def test_a_server_is_named_as_its_peers_name_it() -> None:
    found = dict(servers([a_set()], {"minio-0": a_pod("minio-0")}, PLACE))
    assert found == {"uid-minio-0": Server("minio-0", "10.0.0.7", 9000, "minio-0.peers.store.svc")}
    without = a_pod("minio-0")
    del without["status"]["podIP"]
    assert dict(servers([a_set()], {"minio-0": without}, PLACE)) == {}


@pytest.mark.parametrize(
    ("env", "key"),
    [
        ([], ""),
        ([{"name": "MINIO_UPDATE_MINISIGN_PUBKEY", "value": "RWx"}], "RWx"),
        ([{"name": "MINIO_UPDATE_MINISIGN_PUBKEY"}], ""),
        (
            [{"name": "MINIO_UPDATE_MINISIGN_PUBKEY", "valueFrom": {"secretKeyRef": {"name": "x"}}}],
            "(not in the pod spec)",
        ),
    ],
)
def test_the_key_that_a_pod_trusts_is_read_from_its_spec(env: list[Json], key: str) -> None:
    assert seen(a_pod("minio-0", env)).minisign_key == key


def environment(**values: str) -> list[Json]:
    return [{"name": name, "value": value} for name, value in values.items()]


@pytest.mark.parametrize(
    ("values", "proxied"),
    [
        ({}, False),
        ({"HTTP_PROXY": "http://p"}, True),
        ({"https_proxy": "http://p"}, True),
        ({"HTTP_PROXY": ""}, False),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "example.org"}, True),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "a, .svc"}, False),
        ({"HTTP_PROXY": "http://p", "no_proxy": "shiplift.shiplift-system.svc"}, False),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "*"}, False),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "vc"}, True),
        ({"NO_PROXY": ""}, False),
    ],
)
def test_a_proxy_that_would_be_asked_for_the_binary_is_seen(values: dict[str, str], proxied: bool) -> None:
    assert seen(a_pod("minio-0", environment(**values))).proxied is proxied


VERSIONS = (
    "2024-01-01T00:00:00Z",
    "RELEASE.2024-12-18T13-15-44Z",
    "2025-04-22T22:12:26Z",
    "RELEASE.2025-04-22T22-12-26Z",
    "2025-09-07T16:13:09Z",
    "",
    "DEVELOPMENT.GOGET",
)


class Nodes:
    """A snapshot with these nodes, by name: their architectures."""

    def __init__(self, **architectures: str) -> None:
        self._found = architectures

    def find(self, _rows: type, name: str) -> Any:
        if name not in self._found:
            return None
        arch = self._found[name]
        return SimpleNamespace(labels={"kubernetes.io/arch": arch} if arch else {})


def on(*nodes: str) -> list[Json]:
    return [{"spec": {"nodeName": node} if node else {}} for node in nodes]


def test_the_binary_is_for_the_architecture_of_the_nodes_as_far_as_it_is_known() -> None:
    nodes = Nodes(a="arm64", b="amd64", c="arm64", new="")
    assert platforms(on("a", "c", "new", "gone", ""), nodes) == ["arm64"]  # pyright: ignore[reportArgumentType]
    assert platforms(on("a", "b"), nodes) == ["amd64", "arm64"]  # pyright: ignore[reportArgumentType]
    assert platforms(on(""), nodes) == []  # pyright: ignore[reportArgumentType]


def test_who_is_held_by_an_upgrade_says_so_and_is_not_paused() -> None:
    spec = QuorumServiceSpec(stateful_sets=("minio",), image="x:1", credentials_secret="root")
    for service, said in (
        (Recorded("store", spec), ""),
        (Recorded("store", spec, upgrading="v1.36.3"), "the cluster is being upgraded to v1.36.3"),
        (Recorded("store", spec, held="its nodes come first"), "its nodes come first"),
    ):
        view = view_of(service, Read([], {}), {}, Memory(), ENGINE, PLACE, Outcomes())
        assert said in view.upgrading
        assert bool(said) is bool(view.upgrading)
        assert not view.wanted.paused


@pytest.mark.parametrize(
    ("image", "version", "rests"),
    [("m:1", "2025-04-22T22:12:26Z", True), ("m:2", "2025-04-22T22:12:26Z", False), ("m:1", OLDER, False)],
)
def test_who_leads_since_pulls_nothing_for_a_service_at_rest(image: str, version: str, rests: bool) -> None:
    template = {"spec": {"containers": [{"name": "minio", "image": image}]}}
    live = a_set(replicas=1, template=template, updateStrategy={"type": "RollingUpdate"})
    live["metadata"]["uid"] = "uid-set"
    known = Candidate(Validity.GOOD, "RELEASE.2025-04-22T22-12-26Z", "m:1@sha256:a", recalled=True)
    spec = QuorumServiceSpec(stateful_sets=("minio",), image="m:1", credentials_secret="root")
    heard = {"uid-minio-0": Heard(msgspec.structs.replace(TOLD, version=version))}
    read = Read([live], {"minio-0": a_pod("minio-0")})
    recorded = Recorded("store", spec, recalled=known)
    view = view_of(recorded, read, heard, Memory(), ENGINE, PLACE, Outcomes())
    assert view.candidate == (known if rests else Candidate(Validity.UNKNOWN))


@given(st.lists(st.sampled_from(VERSIONS)))
def test_versions_compare_as_the_engine_says_and_what_is_none_compares_with_nothing(found: list[str]) -> None:
    order = ordered(ENGINE, found)
    known = {one for one in found if one and one != "DEVELOPMENT.GOGET"}
    assert set(order.ranks) == known
    for one in known:
        for other in known:
            assert order.newer(one, than=other) == ENGINE.newer(one, than=other)
            assert order.same(one, other) == (
                not ENGINE.newer(one, than=other) and not ENGINE.newer(other, than=one)
            )
    assert order.can_stage == {one for one in known if ENGINE.stages(one)}


def test_who_is_refused_is_asked_as_much_as_before_and_who_rests_is_not_written_to() -> None:
    """Two looks apart the same is refused for the same reason."""
    spec = QuorumServiceSpec(stateful_sets=("a",), image="m:2", credentials_secret="root")
    service = QuorumService(metadata=ObjectMeta(name="store", namespace="store"), spec=spec)
    memory = Memory()

    def asked(every: timedelta, *sets: Json) -> bool:
        return is_thorough(service, sets, memory, every)

    def marked(by: str) -> Json:
        record = Record(by, "t", "i", "minio", Before("m:1", {"type": "RollingUpdate"}))
        return {"metadata": {"name": "a", "uid": "uid-a", "annotations": {SWAP: record.written()}}}

    assert not asked(BUSY, a_set("a"))
    memory.learn("m:2", trust_of(spec), Candidate(Validity.GOOD, "v", "m:2@sha256:a"), None)
    assert [asked(every, a_set("a")) for every in (BUSY, STALLED, RESTING)] == [True, True, False]
    assert asked(RESTING, marked("store"))
    assert not asked(RESTING, marked("other"))


def test_what_its_kubelet_says_of_an_image_and_that_it_knows_itself_by_another_name_is_seen() -> None:
    pod = a_pod("minio-0")
    assert (seen(pod).digest, seen(pod).misnamed) == ("", False)
    pod["status"]["containerStatuses"] = [
        {"name": "sidecar", "imageID": "x@sha256:s"},
        {"name": "minio", "imageID": "quay.io/minio/minio@sha256:m"},
    ]
    found = seen(pod, Heard(Silent("it names minio-0.minio:9000", misnamed=True)))
    assert (found.digest, found.misnamed, found.told) == ("sha256:m", True, None)


def test_a_swap_ends_with_the_sets_that_it_began_with() -> None:
    """Also where somebody takes one out of the spec half-way: it would keep our marks for ever."""

    def swapped(name: str, service: str) -> Json:
        record = Record(service, "t", "i", "minio", Before("m:1", {"type": "RollingUpdate"}))
        about = {"name": name, "uid": f"uid-{name}", "annotations": {SWAP: record.written()}}
        return {"metadata": about}

    spec = {"statefulSets": ["b", "a", "away"], "image": "m:2", "credentialsSecret": "root"}
    document = {"metadata": {"name": "store"}, "spec": {**spec, "trust": {"minisignKey": KEY}}}
    service = msgspec.convert(document, QuorumService)
    every = [swapped("a", "store"), a_set("b"), a_set("c"), swapped("d", "other"), swapped("e", "store")]
    found = [one["metadata"]["name"] for one in of_service(service, every)]
    assert found == ["b", "a", "e"]
