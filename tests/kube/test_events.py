"""Events on a real API server: told once, counted after, never in the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.kinds import EVENT, NODE, POD
from shiplift.kube import credentials, events
from shiplift.kube.client import Client
from shiplift.kube.events import Bucket, EventType, Pace, Recorder, Regarding, shortened
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.kube import operator_identity
from tests.until import until

QUICK = Pace(series_every=0.05, retry=0.05)

Start = Callable[..., Recorder]


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as made:
        yield made


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    started: list[Recorder] = []

    def begin(pace: Pace = QUICK, where: credentials.Credentials | None = None) -> Recorder:
        recorder = Recorder(where or cluster.credentials(), instance="operator-1", pace=pace)
        recorder.start()
        started.append(recorder)
        return recorder

    yield begin
    for recorder in started:
        recorder.stop()


def about(namespace: str, name: str = "web-1") -> Regarding:
    return Regarding(POD, name, namespace, "some-uid")


def told(client: Client, namespace: str) -> list[dict[str, Any]]:
    return list(client.list(EVENT, namespace))


def test_an_event_says_what_happened_to_what_and_who_says_so(
    start: Start, client: Client, namespace: str
) -> None:
    recorder = start()
    recorder.record(about(namespace), "Evicted", "moved to v1.36", action="Evict", type=EventType.WARNING)
    recorder.stop()
    (event,) = told(client, namespace)
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "web-1",
        "namespace": namespace,
        "uid": "some-uid",
    }
    said = {key: event[key] for key in ("reason", "note", "action", "type")}
    assert said == {"reason": "Evicted", "note": "moved to v1.36", "action": "Evict", "type": "Warning"}
    assert event["reportingController"] == "shiplift.dev/operator"
    assert event["reportingInstance"] == "operator-1"
    assert datetime.fromisoformat(event["eventTime"])
    assert "series" not in event


def test_the_same_thing_said_again_is_counted(start: Start, client: Client, namespace: str) -> None:
    recorder = start()
    for _ in range(50):
        recorder.record(about(namespace), "Waiting", "budget exhausted", action="Evict")
    recorder.stop()
    (event,) = told(client, namespace)
    assert event["series"]["count"] == 50


def test_a_series_goes_on_while_the_recorder_runs(start: Start, client: Client, namespace: str) -> None:
    recorder = start()
    for count in range(2, 5):
        recorder.record(about(namespace), "Waiting", "budget exhausted", action="Evict")
        if count == 2:
            recorder.record(about(namespace), "Waiting", "budget exhausted", action="Evict")
        until(
            lambda wanted=count: (
                [e.get("series", {}).get("count") for e in told(client, namespace)] == [wanted]
            )
        )


def test_another_note_or_object_or_reason_is_another_event(
    start: Start, client: Client, namespace: str
) -> None:
    recorder = start()
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.record(about(namespace), "Waiting", "two", action="Evict")
    recorder.record(about(namespace), "Evicted", "one", action="Evict")
    recorder.record(about(namespace, "web-2"), "Waiting", "one", action="Evict")
    recorder.stop()
    assert len(told(client, namespace)) == 4


def test_after_the_window_it_is_a_new_event(start: Start, client: Client, namespace: str) -> None:
    recorder = start(Pace(window=0.0, series_every=0.05))
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.stop()
    assert len(told(client, namespace)) == 2


def test_an_event_deleted_meanwhile_is_made_again(start: Start, client: Client, namespace: str) -> None:
    recorder = start()
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    (event,) = until(lambda: told(client, namespace))
    name, uid = event["metadata"]["name"], event["metadata"]["uid"]
    client.delete(EVENT, name, namespace, uid=uid)
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.stop()
    (again,) = told(client, namespace)
    assert again["series"]["count"] == 2


def test_a_thing_without_a_namespace_is_told_in_default(start: Start, client: Client, namespace: str) -> None:
    recorder = start()
    recorder.record(Regarding(NODE, f"Node_{namespace}:"), "Drained", "done", action="Drain")
    recorder.stop()
    named = [e for e in told(client, "default") if e["regarding"]["name"] == f"Node_{namespace}:"]
    assert len(named) == 1
    assert recorder.dropped == 0


def test_one_object_cannot_flood_the_cluster(start: Start, client: Client, namespace: str) -> None:
    recorder = start(Pace(burst=3, refill=3600))
    for number in range(10):
        recorder.record(about(namespace), "Waiting", f"note {number}", action="Evict")
    recorder.record(about(namespace, "web-2"), "Waiting", "note", action="Evict")
    recorder.stop()
    assert len(told(client, namespace)) == 4
    assert recorder.dropped == 7


@given(st.lists(st.floats(0, 1000), max_size=60), st.integers(1, 10), st.floats(1, 100))
def test_a_bucket_gives_no_more_than_its_burst_and_what_refills(
    times: list[float], burst: int, refill: float
) -> None:
    pace = Pace(burst=burst, refill=refill)
    bucket = Bucket(burst, 0.0)
    given_out = sum(bucket.take(pace, moment) for moment in sorted(times))
    assert given_out <= burst + max(times, default=0.0) / refill + 1e-6


def test_a_full_queue_drops_and_counts_and_does_not_block(cluster: Cluster, namespace: str) -> None:
    recorder = Recorder(cluster.credentials(), instance="never-started", pace=Pace(most_waiting=5))
    for number in range(8):
        recorder.record(about(namespace), "Waiting", f"note {number}", action="Evict")
    assert recorder.dropped == 3


def test_a_missing_right_is_counted_and_harms_nothing(
    start: Start, cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    operator_identity.make_service_account(client, namespace, [])
    path = operator_identity.kubeconfig(client, cluster.kubeconfig, tmp_path / "kubeconfig", namespace)
    recorder = start(where=credentials.load(path))
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.stop()
    assert recorder.dropped == 1


def test_the_rights_that_are_asked_for_are_enough(
    start: Start, cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    operator_identity.make_service_account(client, namespace, events.rules())
    path = operator_identity.kubeconfig(client, cluster.kubeconfig, tmp_path / "kubeconfig", namespace)
    recorder = start(where=credentials.load(path))
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    until(lambda: told(client, namespace))
    recorder.record(about(namespace), "Waiting", "one", action="Evict")
    recorder.stop()
    assert [event["series"]["count"] for event in told(client, namespace)] == [2]
    assert recorder.dropped == 0


def test_what_is_said_while_the_api_server_is_away_is_told_when_it_is_back(
    start: Start, private_cluster: Callable[[], Cluster]
) -> None:
    away = private_cluster()
    recorder = start(Pace(series_every=0.05, retry=0.1, most_tries=1000), away.credentials())
    away.kill(Component.API_SERVER)
    recorder.record(about("default"), "Waiting", "for the API server", action="Wait")
    away.start(Component.API_SERVER)
    with away.client() as client:
        until(lambda: told(client, "default"))


def test_stopping_does_not_wait_for_an_api_server_that_is_away(
    private_cluster: Callable[[], Cluster],
) -> None:
    away = private_cluster()
    recorder = Recorder(away.credentials(), instance="operator-1")
    recorder.start()
    away.kill(Component.API_SERVER)
    recorder.record(about("default"), "Waiting", "for nothing", action="Wait")
    recorder.stop(timeout=0.2)
    until(lambda: not any(thread.name == "events" for thread in threading.enumerate()))
    assert recorder.dropped == 1
    away.start(Component.API_SERVER)


@given(st.text(max_size=2000))
def test_a_note_fits_and_is_never_cut_inside_a_character(note: str) -> None:
    short = shortened(note)
    assert len(short.encode()) <= events.NOTE_BYTES
    assert short == note or (short.endswith("…") and note.startswith(short[:-1]))


def test_a_long_note_is_accepted_by_the_api_server(start: Start, client: Client, namespace: str) -> None:
    recorder = start()
    recorder.record(about(namespace), "Waiting", "ü" * 5000, action="Evict")
    recorder.stop()
    (event,) = told(client, namespace)
    assert event["note"].endswith("ü…")
