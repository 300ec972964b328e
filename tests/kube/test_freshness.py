"""How old rows may be: a kind in which nothing happens stays fresh, a connection that is dead does not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import msgspec
import pytest
from structlog.testing import capture_logs

from shiplift.engine.backoff import Backoff
from shiplift.facts import kinds
from shiplift.kube import watch
from shiplift.kube.store import State, Store
from shiplift.kube.watch import Pace, Watch
from tests.kube.answering import CHUNKED_HEAD, Answering, answer, answering, chunked
from tests.kube.test_watch import GOOD, bookmark, event, followed, names
from tests.until import Given, until

PACE = Pace(
    connect=0.4,
    idle=10,
    quiet=0.4,
    age=0.8,
    backoff=Backoff(first=timedelta(milliseconds=5), cap=timedelta(milliseconds=20), jitter=0),
)
SYNCED = followed(event("ADDED", "one", 1, GOOD), bookmark(7))


@contextmanager
def store_of(server: Answering, pace: Pace = PACE) -> Iterator[Store]:
    store = Store(server.credentials, [Watch(kinds.WORKLOAD_ORDER)], pace)
    store.start()
    try:
        assert store.wait_synced(10), store.health()
        yield store
    finally:
        store.stop()


def quiet_server(version: int):
    """Syncs, then has nothing to tell: watches end in order after a while, lists are of that version."""

    def answered(request: str) -> bytes:
        if "sendInitialEvents" in request:
            return SYNCED
        if "limit=1" in request:
            body = {"metadata": {"resourceVersion": str(version)}, "items": []}
            return answer(json.dumps(body).encode())
        time.sleep(0.2)
        return chunked()

    return answered


def asked(server: Answering, what: str) -> int:
    return sum(what in request for request in server.requests)


def test_a_kind_in_which_nothing_happens_stays_fresh_and_is_synced_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_SHORT", 0.0)
    pace = msgspec.structs.replace(PACE, connect=5.0, age=2.0)
    with (
        capture_logs() as logs,
        answering(quiet_server(9), stay=True) as server,
        store_of(server, pace) as store,
    ):
        stale, given = 0, Given()
        while asked(server, "timeoutSeconds=1&") < 20 and given.seconds() < 30:
            stale += bool(store.snapshot().stale())
            time.sleep(0.005)
        assert stale == 0, "a watch that ends in order and is resumed at once is not old"
        assert asked(server, "sendInitialEvents") == 1
        assert 1 <= asked(server, "limit=1&") + asked(server, "limit=1 ") <= 10, (
            "the version is asked now and then"
        )
        assert names(store) == {"one"}
    assert "watch broke off" not in {line["event"] for line in logs}


def test_a_connection_that_is_acknowledged_and_dead_is_noticed_in_time() -> None:
    """As behind a proxy that takes everything and passes on nothing."""
    with answering(SYNCED, b"", stay=True) as server, store_of(server) as store:
        heard = time.monotonic()
        assert not store.snapshot().stale()
        until(lambda: store.snapshot().stale() == (kinds.WORKLOAD_ORDER,))
        assert time.monotonic() - heard < PACE.age + 0.5
        until(lambda: store.health()[0].error == "nothing was heard any more")
        assert store.health()[0].state is State.STALE
        assert names(store) == {"one"}, "the old rows are still served"


def test_rows_are_old_even_while_the_thread_that_reads_hangs() -> None:
    """Whatever it waits for, and for how long: the age of what was heard is what counts."""
    slow = Pace(connect=9, idle=9, quiet=9, age=0.5)
    with answering(SYNCED, stay=True) as server, store_of(server, slow) as store:
        assert not store.snapshot().stale()
        until(lambda: store.snapshot().stale())


def test_a_server_that_is_behind_is_found_out_by_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_SHORT", 0.0)
    with answering(quiet_server(6), stay=True) as server, store_of(server):
        until(lambda: asked(server, "sendInitialEvents") >= 2)


def test_a_kind_in_which_much_happens_is_watched_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a watch that fell silent is asked for a short time, and only as long as little happens."""
    monkeypatch.setattr(watch, "_SHORT", 0.0)
    busy = chunked(*(event("MODIFIED", "one", 10 + number, GOOD) for number in range(5)))

    def answered(request: str) -> bytes:
        if "sendInitialEvents" in request:
            return SYNCED
        return busy if "timeoutSeconds=1&" in request else CHUNKED_HEAD

    with answering(answered, stay=True) as server, store_of(server):
        until(lambda: asked(server, "timeoutSeconds=1&") >= 2)
        kinds_of_watch = ["timeoutSeconds=1&" in request for request in server.requests[1:4]]
        assert kinds_of_watch == [True, False, True]


def test_the_usual_pace_notices_within_thirty_seconds() -> None:
    pace = Pace()
    assert pace.quiet + pace.connect <= pace.age <= 30
