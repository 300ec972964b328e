"""The fault proxy in front of a real API server: what it does to calls and watches, and what clients see."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import Conflict, KubeError, NotFound, ServerError, Throttled, Unknown
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster
from tests.crash import messages
from tests.crash.calls import Sort
from tests.crash.director import PlanDirector
from tests.crash.doors import ApiServer, kubeconfig
from tests.crash.plans import (
    Crash,
    CrashPoint,
    Disturbance,
    Failure,
    Fault,
    Pause,
    Spot,
    Watching,
)
from tests.crash.proxy import Proxy
from tests.until import until

PATCH = Spot("patch namespaces [labels]")


class Witness:
    """Stands in for the crew: notes what it is told to do."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def crash(self) -> None:
        self.told.append("crash")

    def crash_beside(self, name: str) -> None:
        self.told.append(f"crash {name}")

    def away(self, seconds: float) -> None:
        self.told.append(f"away {seconds}")

    def pause(self) -> None:
        self.told.append("pause")

    def wake(self) -> None:
        self.told.append("wake")


class Rig:
    def __init__(self, cluster: Cluster, namespace: str, folder: Path, closing: ExitStack) -> None:
        self.namespace, self.witness = namespace, Witness()
        self.director = PlanDirector(self.witness)
        self.proxy = Proxy(ApiServer(cluster.credentials()), self.director)
        closing.callback(self.proxy.close)
        self.credentials = load(kubeconfig(self.proxy, folder / "proxy"))
        self.through = closing.enter_context(Client(self.credentials, field_manager="shiplift-1", timeout=5))
        self.direct = closing.enter_context(cluster.client())

    def note(self, client: Client, value: str) -> None:
        about = self.direct.get(kinds.NAMESPACE, self.namespace)["metadata"]
        change = {"metadata": {"labels": {"note": value}}}
        version = about["resourceVersion"]
        client.patch(kinds.NAMESPACE, self.namespace, change, uid=about["uid"], resource_version=version)

    def noted(self) -> str:
        about = self.direct.get(kinds.NAMESPACE, self.namespace)["metadata"]
        return about["labels"].get("note", "")


@pytest.fixture
def rig(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Rig]:
    with ExitStack() as closing:
        yield Rig(cluster, namespace, tmp_path, closing)


@pytest.fixture
def store(rig: Rig) -> Iterator[Store]:
    made = Store(rig.credentials, [Watch(kinds.NAMESPACE), Watch(kinds.POD)])
    yield made
    made.stop()


def test_without_a_plan_everything_passes_and_is_written_down(rig: Rig) -> None:
    rig.note(rig.through, "a")
    rig.note(rig.through, "b")
    assert rig.noted() == "b"
    writes = rig.director.book().writes
    assert [one.spot for one in writes] == [
        Spot(PATCH.step, rig.namespace, 1),
        Spot(PATCH.step, rig.namespace, 2),
    ]
    assert all(one.accepted and one.call.manager == "shiplift-1" for one in writes)


@pytest.mark.parametrize(
    ("failure", "error"),
    [(Failure.CONFLICT, Conflict), (Failure.ERROR, ServerError), (Failure.TIMEOUT, ServerError)],
)
def test_a_failed_call_never_reaches_the_server(rig: Rig, failure: Failure, error: type[KubeError]) -> None:
    rig.director.arm(Fault(PATCH, failure))
    with pytest.raises(error):
        rig.note(rig.through, "a")
    assert rig.noted() == ""
    rig.note(rig.through, "b")
    assert rig.noted() == "b"
    assert rig.director.book().fired


def test_a_throttled_call_is_sent_again_by_the_client(rig: Rig) -> None:
    rig.director.arm(Fault(PATCH, Failure.THROTTLED))
    rig.note(rig.through, "a")
    assert rig.noted() == "a"
    assert [one.status for one in rig.director.book().writes] == [0, 200]
    assert issubclass(Throttled, KubeError)


def test_a_reset_call_never_reaches_the_server(rig: Rig) -> None:
    rig.director.arm(Fault(PATCH, Failure.RESET))
    with pytest.raises(Unknown):
        rig.note(rig.through, "a")
    assert rig.noted() == ""


def test_a_lost_answer_was_committed(rig: Rig) -> None:
    rig.director.arm(Fault(PATCH, Failure.LOST))
    rig.note(rig.through, "a")
    assert rig.noted() == "a"


def test_a_crash_before_the_reply_comes_after_the_commit(rig: Rig) -> None:
    rig.director.arm(Crash(Spot(PATCH.step, rig.namespace, 2), CrashPoint.BEFORE_REPLY))
    rig.note(rig.through, "a")
    assert not rig.witness.told
    rig.note(rig.through, "b")
    assert rig.noted() == "b"
    assert rig.witness.told == ["crash"]


def test_a_crash_after_the_reply_leaves_the_answer(rig: Rig) -> None:
    rig.director.arm(Crash(PATCH, CrashPoint.AFTER_REPLY))
    rig.note(rig.through, "a")
    until(lambda: rig.witness.told == ["crash"])


def test_a_paused_write_arrives_late_and_then_the_first_wakes(rig: Rig) -> None:
    rig.director.arm(Pause(PATCH))
    rig.note(rig.through, "a")
    assert rig.noted() == "a"
    until(lambda: rig.witness.told == ["pause", "wake"])


def test_what_is_apart_is_not_counted(rig: Rig) -> None:
    rig.director.arm(Fault(Spot("get leases"), Failure.ERROR))
    with pytest.raises(NotFound):
        rig.through.get(kinds.LEASE, "nobody", rig.namespace)
    assert not rig.director.book().entries


def test_a_watch_passes_event_by_event(rig: Rig, store: Store) -> None:
    store.start()
    assert store.wait_synced(20)
    rig.note(rig.direct, "a")
    until(lambda: _note_in(store, rig.namespace) == "a")
    assert rig.director.book().events["namespaces"] >= 1


@pytest.mark.parametrize("disturbance", [Disturbance.CUT, Disturbance.EXPIRED])
def test_a_watch_that_breaks_off_is_taken_up_again(rig: Rig, store: Store, disturbance: Disturbance) -> None:
    rig.director.arm(Watching("namespaces", disturbance, 1))
    store.start()
    assert store.wait_synced(20)
    rig.note(rig.direct, "a")
    until(lambda: _note_in(store, rig.namespace) == "a", 30)
    assert rig.director.book().fired


def test_late_events_come_all_the_same(rig: Rig, store: Store) -> None:
    rig.director.arm(Watching("namespaces", Disturbance.DELAYED))
    store.start()
    assert store.wait_synced(20)
    began = time.monotonic()
    rig.note(rig.direct, "a")
    until(lambda: _note_in(store, rig.namespace) == "a")
    assert time.monotonic() - began > 0.3  # a lower bound: it was held up


def test_hanging_up_ends_watches_and_leaves_no_thread(rig: Rig, store: Store) -> None:
    store.start()
    assert store.wait_synced(20)
    store.stop()
    rig.proxy.hang_up()
    until(lambda: not [one for one in threading.enumerate() if "_serve" in one.name])
    assert all(one.call.sort is not Sort.WRITE for one in rig.director.book().entries)


def test_a_head_that_breaks_off_is_none_at_all() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    assert [length for length in range(len(head)) if messages.read_head(io.BytesIO(head[:length]))] == []
    whole = messages.read_head(io.BytesIO(head))
    assert whole is not None
    assert whole.status == 200


def _note_in(store: Store, name: str) -> str:
    row = store.snapshot().find(Namespace, name)
    return row.labels.get("note", "") if row else ""


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("content-length: 30", b'{"preconditions": '),
        ("transfer-encoding: chunked", b'12\r\n{"preconditions": \r\n'),
        ("transfer-encoding: chunked", b'1e\r\n{"preconditions": '),
    ],
)
def test_a_body_that_breaks_off_is_none_at_all(field: str, sent: bytes) -> None:
    """A delete without the rest of its body would be one without preconditions."""
    file = io.BytesIO(f"DELETE /pods/x HTTP/1.1\r\n{field}\r\n\r\n".encode() + sent)
    head = messages.read_head(file)
    assert head is not None
    with pytest.raises(OSError, match="hung up"):
        messages.read_body(file, head)
