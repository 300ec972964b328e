"""What every API server goes by, asked of each; with real API servers, and with answers made up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from shiplift.api.placements import PLACEMENT
from shiplift.engine.contested import Memory
from shiplift.facts import kinds
from shiplift.kube.api_servers import ENDPOINT_SLICE, NAME, NAMESPACE, Address, ApiServers, read_addresses
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import Forbidden, KubeError, NotFound, ServerError, Unreachable
from shiplift.kube.in_force import BOOT, MOMENT, Asking, GoneBy
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.ports import free_ports
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.act.placements import Question, ask
from shiplift.workloads.memory import InForce
from shiplift.workloads.names import GENERATION_IN_FORCE
from shiplift.workloads.steps import Evict
from tests.until import until
from tests.workloads.rig import Rig, Scene
from tests.workloads.views import an_id

# --- two real API servers on one etcd ---

_ENDS_WITH_ITS_PARENT = "import ctypes; ctypes.CDLL(None).prctl(1, 9)"
_BECOMES_THE_COMMAND = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
ENDING_WITH_US = (sys.executable, "-c", f"{_ENDS_WITH_ITS_PARENT}; {_BECOMES_THE_COMMAND}")
"""Before a command: the kernel ends it when the test run is killed."""


class Second(NamedTuple):
    """Another API server of the same cluster."""

    port: int
    pid: int


@pytest.fixture(scope="module")
def second(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Second]:
    """The port of a second API server of the same cluster. It takes half a minute to know our kinds."""
    (port,) = free_ports(1)
    running = rig.cluster.state.processes[Component.API_SERVER]
    line = Path(f"/proc/{running.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    changed = [f"--secure-port={port}" if one.startswith("--secure-port") else one for one in line]
    changed = [one for one in changed if not one.startswith("--audit")]
    with (tmp_path_factory.mktemp("second") / "log").open("wb") as log:
        process = subprocess.Popen([*ENDING_WITH_US, *changed], stdout=log, stderr=log)
    try:
        with Client(rig.client.credentials.at("127.0.0.1", port, "kubernetes.default.svc")) as client:
            until(lambda: _ready(client), 60)
        yield Second(port, process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def holds(proof: Asking[Question], space: str, uid: str, generation: int) -> bool:
    """Whether that is what all go by; a young server does not know the kind yet."""
    try:
        return proof.asked_of_all((space, uid)) == GoneBy(generation)
    except KubeError:
        return False


def _ready(client: Client) -> bool:
    try:
        return client.raw("GET", "/readyz") == b"ok"
    except KubeError:
        return False


@pytest.fixture
def both(rig: Rig, second: Second) -> Iterator[ApiServers]:
    first = rig.cluster.state.ports.api
    servers = ApiServers(rig.client, lambda _: (("127.0.0.1", first), ("127.0.0.1", second.port)))
    yield servers
    servers.close()


def test_what_is_proven_holds_at_both_of_two_real_servers(
    scene: Scene, both: ApiServers, second: Second
) -> None:
    space = scene.namespace()
    body = {"metadata": {"name": PLACEMENT}, "spec": {"target": "v1.36.3", "turns": {}}}
    uid = scene.client.create(kinds.WORKLOAD_PLACEMENT, body, space).object["metadata"]["uid"]
    proof = Asking(scene.client, ask, both)
    _, direct = both.each()
    assert direct.credentials.server.port in (second.port, scene.rig.cluster.state.ports.api)
    for turn in range(30):
        patch = {"spec": {"turns": {f"Deployment.web-{turn}": "Held"}}}
        written = scene.client.patch(kinds.WORKLOAD_PLACEMENT, PLACEMENT, patch, space, uid=uid).object
        wanted = written["metadata"]["generation"]
        until(lambda wanted=wanted: holds(proof, space, uid, wanted), 60)
        for server in both.each():
            assert Asking(server, ask, ApiServers(server, lambda _: ())).asked_of_all((space, uid)) == GoneBy(
                wanted
            )


def test_one_that_hangs_is_given_a_moment_and_named(
    scene: Scene, both: ApiServers, second: Second, rig: Rig
) -> None:
    space = scene.namespace()
    body = {"metadata": {"name": PLACEMENT}, "spec": {"target": "v1.36.3", "turns": {"Deployment.a": "Held"}}}
    uid = scene.client.create(kinds.WORKLOAD_PLACEMENT, body, space).object["metadata"]["uid"]
    until(lambda: holds(Asking(scene.client, ask, both), space, uid, 1), 60)
    now = [0.0]
    proof = Asking(scene.client, ask, both, lambda: now[0])
    os.kill(second.pid, signal.SIGSTOP)
    try:
        found = proof.asked_of_all((space, uid))
        assert found.generation == 0
        assert f"API server 127.0.0.1:{second.port} cannot be asked" in found.trouble
        assert "the others go by generation 1, it has 2 s" in found.trouble
        now[0] += MOMENT
        assert proof.asked_of_all((space, uid)) == GoneBy(1)
    finally:
        os.kill(second.pid, signal.SIGCONT)


# --- where they are ---


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, (("192.0.2.1", 6443), ("192.0.2.2", 6443))),
        ({"ports": []}, ()),
        ({"endpoints": []}, ()),
        ({"endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": False}}]}, ()),
    ],
)
def test_they_are_read_from_what_they_write_themselves(
    private_cluster: Callable[[], Cluster], change: dict[str, Any], found: tuple[Address, ...]
) -> None:
    with private_cluster().client() as client:
        assert read_addresses(client) == ()
        body: dict[str, Any] = {
            "metadata": {"name": NAME},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": 6443}],
            "endpoints": [{"addresses": ["192.0.2.2"]}, {"addresses": ["192.0.2.1"]}],
        }
        client.create(ENDPOINT_SLICE, body | change, NAMESPACE)
        assert read_addresses(client) == found


# --- with answers made up ---


class Told:
    """A client of one server that answers with what it is told."""

    def __init__(self, answer: int | KubeError, port: int = 1) -> None:
        self.answer, self.asked = answer, 0
        self.credentials = type("C", (), {"server": type("S", (), {"authority": f"10.0.0.{port}:6443"})()})()

    def patch(self, *_: object, **__: object) -> Written:
        self.asked += 1
        if isinstance(self.answer, KubeError):
            raise self.answer
        return Written({"metadata": {"annotations": {GENERATION_IN_FORCE: str(self.answer)}}}, None)


class Standing:
    """Servers that stay as they are."""

    def __init__(self, *servers: Told) -> None:
        self._servers = servers

    def each(self) -> tuple[Told, ...]:
        return self._servers


def proof_of(client: Told, *servers: Told, now: list[float] | None = None) -> Asking[Question]:
    clock = (lambda: now[0]) if now else (lambda: 0.0)
    return Asking(cast("Client", client), ask, cast("ApiServers", Standing(*servers or (client,))), clock)


def test_alone_its_own_answer_counts_and_it_is_asked_once() -> None:
    client = Told(4)
    assert proof_of(client).asked_of_all(("shop", "u")) == GoneBy(4)
    assert proof_of(client).asked_of_one(("shop", "u")) == GoneBy(4)
    assert client.asked == 2


def test_one_of_several_does_not_speak_for_all() -> None:
    client = Told(4)
    found = proof_of(client, Told(4, 1), Told(4, 2)).asked_of_one(("shop", "u"))
    assert found == GoneBy(0, "the other API servers have not been asked")
    assert client.asked == 0


def test_the_one_that_is_furthest_behind_counts() -> None:
    assert proof_of(Told(4), Told(4, 1), Told(3, 2), Told(5, 3)).asked_of_all(("shop", "u")) == GoneBy(3)
    assert proof_of(Told(2), Told(4, 1), Told(3, 2), Told(5, 3)).asked_of_all(("shop", "u")) == GoneBy(2)


def test_one_out_of_reach_is_not_asked_again_for_a_while_and_then_it_is() -> None:
    now, far = [0.0], Told(Unreachable("no route"), 2)
    proof = proof_of(Told(4), Told(4, 1), far, now=now)
    told = proof.asked_of_all(("shop", "u")).trouble
    assert told.startswith(
        "API server 10.0.0.2:6443 cannot be asked: no route; the others go by generation 4"
    )
    proof.asked_of_all(("shop", "u"))
    assert far.asked == 1
    far.answer, now[0] = 4, 2.0
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    assert far.asked == 2


def test_the_moment_begins_anew_with_each_generation() -> None:
    now, near = [0.0], Told(4)
    proof = proof_of(near, near, Told(Unreachable("no route"), 2), now=now)
    assert proof.asked_of_all(("shop", "u")).generation == 0
    now[0] = MOMENT
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    near.answer = 5
    assert proof.asked_of_all(("shop", "u")).generation == 0
    now[0] = 2 * MOMENT
    assert proof.asked_of_all(("shop", "u")) == GoneBy(5)


def test_one_that_falls_silent_takes_nothing_back_that_has_held_for_a_while() -> None:
    now, far = [0.0], Told(4, 2)
    proof = proof_of(Told(4), Told(4, 1), far, now=now)
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    now[0] = MOMENT
    far.answer = Unreachable("no route")
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)


@pytest.mark.parametrize(
    "answer",
    [
        ServerError("the kind is not found", status=503),
        NotFound("404 page not found", status=404),
        Forbidden("not yet", status=403),
    ],
)
def test_one_that_comes_back_and_knows_nothing_yet_is_waited_for_but_not_for_ever(answer: KubeError) -> None:
    now, far = [0.0], Told(4, 2)
    proof = proof_of(Told(4), Told(4, 1), far, now=now)
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    far.answer = Unreachable("down")
    for second in range(10, 100):
        now[0] = float(second)
        assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    far.answer, now[0] = answer, 100.0
    found = [proof.asked_of_all(("shop", "u"))]
    now[0] = 105.0
    found.append(proof.asked_of_all(("shop", "u")))
    assert found[-1].generation == 0
    assert found[-1].trouble.startswith("API server 10.0.0.2:6443 answers ")
    far.answer = 0
    assert proof.asked_of_all(("shop", "u")) == GoneBy(0)
    far.answer = 4
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)
    far.answer = answer
    assert proof.asked_of_all(("shop", "u")).generation == 0
    now[0] += BOOT
    assert proof.asked_of_all(("shop", "u")) == GoneBy(4)


def test_what_was_seen_is_fresh_for_a_while() -> None:
    now = [0.0]
    proven = InForce(lambda: now[0])
    assert not proven.fresh("u", 1)
    proven.note("u", 3, proven.now())
    assert proven.fresh("u", 3)
    assert not proven.fresh("u", 4)
    now[0] = InForce.FRESH
    assert not proven.fresh("u", 3)
    assert proven.generations() == {"u": 3}
    proven.note("u", 2, 5.0)
    proven.note("u", 3, 4.0)
    assert proven.generations() == {"u": 2}
    proven.keep({"other"})
    assert proven.generations() == {}


class Readings:
    """Somebody who says where the servers are, or fails to."""

    def __init__(self, *answers: tuple[Address, ...] | KubeError) -> None:
        self._answers = list(answers)

    def __call__(self, _: Client) -> tuple[Address, ...]:
        answer = self._answers.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        return answer


TWO: tuple[Address, ...] = (("192.0.2.1", 6443), ("192.0.2.2", 6443))


def authorities(servers: ApiServers) -> list[str]:
    return [one.credentials.server.authority for one in servers.each()]


def test_the_first_time_one_must_be_told_where_they_are(rig: Rig) -> None:
    servers = ApiServers(rig.client, Readings(ServerError("busy", status=500), TWO))
    with pytest.raises(ServerError):
        servers.each()
    assert authorities(servers) == ["192.0.2.1:6443", "192.0.2.2:6443"]
    servers.close()


def test_who_may_not_read_it_asks_one_for_all(rig: Rig) -> None:
    servers = ApiServers(rig.client, Readings(Forbidden("no", status=403)))
    assert servers.each() == (rig.client,)


class Evicting(Told):
    """A server that also evicts."""

    def __init__(self, answer: int) -> None:
        super().__init__(answer)
        self.evicted: list[str] = []

    def evict(self, name: str, *_: object, **__: object) -> Written:
        self.evicted.append(name)
        return Written({}, None)

    def get(self, *_: object) -> dict[str, Any]:
        raise NotFound("no slice", status=404)


def test_once_it_is_not_in_force_any_more_nothing_is_evicted_until_it_is() -> None:
    now = [0.0]
    server, proven = Evicting(4), InForce(lambda: now[0])
    server.credentials.verifies = True
    actor = Actor(cast("Client", server), proven, Memory())
    web = an_id("web")

    def evict(name: str) -> bool:
        return actor.act(Evict(web, name, f"uid-{name}", "old", "lane", "u", 4)).ok

    assert evict("a")
    assert evict("b")
    assert server.asked == 1
    server.answer, now[0] = 0, InForce.FRESH
    assert not evict("c")
    assert not evict("d")
    assert proven.generations() == {"u": 0}
    server.answer = 4
    assert evict("c")
    assert server.evicted == ["a", "b", "c"]


def test_when_nobody_can_tell_where_they_are_those_known_are_asked(rig: Rig) -> None:
    now = [0.0]
    readings = Readings(TWO, ServerError("busy", status=500), TWO[:1], (("2001:db8::1", 6443), *TWO))
    servers = ApiServers(rig.client, readings, lambda: now[0])
    mine = [rig.client.credentials.server.authority]
    seen: list[list[str]] = []
    for second in (0.0, 1.0, 2.0, 4.0, 6.0):
        now[0] = second
        seen.append(authorities(servers))
    servers.close()
    both = ["192.0.2.1:6443", "192.0.2.2:6443"]
    assert seen == [both, both, both, mine, [*both, "[2001:db8::1]:6443"]]
