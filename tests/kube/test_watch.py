"""A watch of a server that misbehaves: nothing wrong is believed, and nobody is asked without pause."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from shiplift.engine.backoff import Backoff
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import watch
from shiplift.kube.store import OnChange, State, Store
from shiplift.kube.watch import Pace, Watch
from shiplift.kube.wire import MESSAGES
from tests.kube.answering import CHUNKED_HEAD, Answering, answer, answering, chunked
from tests.until import until

SOON = Backoff(first=timedelta(milliseconds=5), cap=timedelta(milliseconds=20), jitter=0)
LATER = Backoff(first=timedelta(minutes=5), cap=timedelta(minutes=5), jitter=0)
NO_WATCH_LIST = answer(b"sendInitialEvents is forbidden", "400 Bad Request")


@contextmanager
def store_of(
    server: Answering, kind: Kind, backoff: Backoff = SOON, subscriber: OnChange | None = None
) -> Iterator[Store]:
    store = Store(server.credentials, [Watch(kind)], Pace(connect=5, idle=10, backoff=backoff))
    if subscriber is not None:
        store.subscribe(subscriber)
    store.start()
    try:
        yield store
    finally:
        store.stop()


def event(type_: str, name: str, version: int, spec: object, **more: Any) -> bytes:
    about = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": str(version)}
    body = {"type": type_, "object": {"metadata": about | more, "spec": spec}}
    return json.dumps(body).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", "", version, {}, annotations={"k8s.io/initial-events-end": "true"})


GOOD = {"workloads": [{"kind": "Deployment", "name": "cart"}]}
BAD = {"workloads": "all of them"}


def followed(*events: bytes) -> bytes:
    """The beginning of an answer that goes on."""
    return CHUNKED_HEAD + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in events)


def namespace_list(*names: str, version: int) -> bytes:
    meta, item = MESSAGES["Meta"], MESSAGES["Namespace"]
    items = [
        item(metadata=meta(name=name, uid=f"uid-{name}", resourceVersion="1")).SerializeToString()
        for name in names
    ]
    listed = MESSAGES["List"](metadata={"resourceVersion": str(version)}, items=items)
    return b"k8s\x00" + MESSAGES["Unknown"](raw=listed.SerializeToString()).SerializeToString()


def names(store: Store) -> set[str]:
    return {row.name for row in store.snapshot().customs(kinds.WORKLOAD_ORDER)}


def test_what_changes_while_the_initial_state_comes_is_as_it_was_last() -> None:
    sent = followed(
        event("ADDED", "spoilt", 1, GOOD),
        event("ADDED", "mended", 2, BAD),
        event("ADDED", "deleted", 3, GOOD),
        event("ADDED", "bad-deleted", 4, BAD),
        event("MODIFIED", "spoilt", 5, BAD),
        event("MODIFIED", "mended", 6, GOOD),
        event("DELETED", "deleted", 7, GOOD),
        event("DELETED", "bad-deleted", 8, BAD),
        bookmark(9),
    )
    with answering(sent, stay=True) as server, store_of(server, kinds.WORKLOAD_ORDER) as store:
        assert store.wait_synced(10), store.health()
        assert names(store) == {"mended"}
        assert set(store.snapshot().undecodable(kinds.WORKLOAD_ORDER)) == {"shop/spoilt"}
        assert store.snapshot().revision(kinds.WORKLOAD_ORDER) == 9


def test_subscribers_hear_of_what_cannot_be_read_and_that_it_is_gone() -> None:
    heard: list[tuple[str | None, str | None]] = []
    sent = followed(
        event("ADDED", "odd-before", 1, BAD),
        bookmark(2),
        event("ADDED", "odd", 3, BAD),
        event("MODIFIED", "odd", 4, BAD),
        event("DELETED", "odd", 5, BAD),
        event("MODIFIED", "odd-before", 6, GOOD),
    )

    def hear(_: Kind, old: Row | None, new: Row | None) -> None:
        heard.append((old and old.name, new and new.name))

    with (
        answering(sent, stay=True) as server,
        store_of(server, kinds.WORKLOAD_ORDER, subscriber=hear) as store,
    ):
        until(lambda: names(store) == {"odd-before"})
        assert store.snapshot().undecodable(kinds.WORKLOAD_ORDER) == {}
    neither = (None, None)
    assert heard[-4:] == [neither, neither, (None, "odd-before"), neither]


def test_a_server_that_calls_everything_too_old_is_not_asked_without_pause() -> None:
    gone = answer(b"too old resource version", "410 Gone")
    with answering(gone) as server, store_of(server, kinds.NAMESPACE, LATER) as store:
        until(lambda: "too old" in store.health()[0].error)
        assert len(server.requests) == 1
        assert store.health()[0].state is State.SYNCING


def test_half_a_list_is_not_taken_for_a_whole_one() -> None:
    """Cut between two fields, a protobuf list is a valid list of nothing."""
    whole = chunked(namespace_list("shop", version=7))
    nothing = CHUNKED_HEAD + b"4\r\nk8s\x00\r\n"
    with (
        answering(NO_WATCH_LIST, nothing, NO_WATCH_LIST, whole, CHUNKED_HEAD) as server,
        store_of(server, kinds.NAMESPACE) as store,
    ):
        assert store.wait_synced(10), store.health()
        assert store.snapshot().find(Namespace, "shop") is not None
        until(lambda: len(server.requests) >= 5)
    asked = [request.split(" ")[1].partition("?")[2] for request in server.requests[:5]]
    assert ["sendInitialEvents" in query for query in asked] == [True, False, True, False, False]
    assert ["limit=500" in query for query in asked] == [False, True, False, True, False]
    assert "resourceVersion=7" in asked[4]


def test_a_watch_that_worked_and_broke_off_is_asked_for_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures in a row make the pauses longer, but these are not in a row."""
    monkeypatch.setattr(watch, "_SHORT", 0.0)
    growing = Backoff(first=timedelta(milliseconds=5), cap=timedelta(hours=1), jitter=0)
    sent = followed(event("ADDED", "one", 1, GOOD), bookmark(2))
    with answering(sent) as server, store_of(server, kinds.WORKLOAD_ORDER, growing) as store:
        until(lambda: len(server.requests) > 20)
        assert names(store) == {"one"}


def test_a_watch_that_never_works_is_asked_for_ever_more_rarely() -> None:
    growing = Backoff(first=timedelta(milliseconds=1), cap=timedelta(hours=1), factor=100, jitter=0)
    with answering(answer(b"no", "500 No")) as server, store_of(server, kinds.NAMESPACE, growing):
        until(lambda: len(server.requests) == 3)
        seen = len(server.requests)
    assert seen == 3, "the fourth would come after ten seconds"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (chunked(b"\x00\x00\x00\x03abc"), "not a protobuf WatchEvent"),
        (chunked(b"\x00\x00\x00\x00"), "not Kubernetes protobuf"),
        (chunked(), "initial state broke off"),
        (CHUNKED_HEAD, "connection closed"),
        (chunked(b"\xff\xff\xff\xff"), "too large"),
        (b"220 mail ready\r\n", "did not answer in HTTP"),
    ],
)
def test_nonsense_is_named_and_survived(sent: bytes, said: str) -> None:
    with capture_logs() as logs, answering(sent) as server, store_of(server, kinds.NAMESPACE, LATER) as store:
        until(lambda: said in store.health()[0].error)
        assert store.health()[0].alive
        assert store.snapshot().stale() == (kinds.NAMESPACE,)
    assert "watch failed unexpectedly" not in {line["event"] for line in logs}


def test_json_that_is_none_is_named_and_survived() -> None:
    good = followed(event("ADDED", "one", 1, GOOD), bookmark(2))
    with (
        answering(chunked(b"{]\n"), chunked(b"<html>\n"), good) as server,
        store_of(server, kinds.WORKLOAD_ORDER) as store,
    ):
        assert store.wait_synced(10), store.health()
        assert names(store) == {"one"}
