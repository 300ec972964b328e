"""More calls at once than a client has connections: they wait their turn, for as long as a call may take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from shiplift.kube import transport
from shiplift.kube.client import Client
from shiplift.kube.errors import Unreachable
from tests.kube.answering import Answering, answer, answering
from tests.until import until


class Reluctant:
    """A server that answers one connection after the other, each when it is told to."""

    def __init__(self, server: Answering, turns: threading.Semaphore) -> None:
        self._server, self.turns = server, turns
        self.credentials = server.credentials

    @property
    def asked(self) -> list[str]:
        return [request.split(" ", 2)[1] for request in self._server.requests if request]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reluctant]:
    monkeypatch.setattr(transport, "CONNECTIONS", 1)
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.2)
    turns = threading.Semaphore(0)

    def in_turn(_: str) -> bytes:
        turns.acquire(timeout=20)
        return answer(b"ok", Connection="close")

    with answering(in_turn) as serving:
        yield Reluctant(serving, turns)
        turns.release(10)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(5) as made:
        yield made


def test_calls_wait_for_a_connection_in_the_order_in_which_they_came(
    server: Reluctant, threads: ThreadPoolExecutor
) -> None:
    paths = [f"/{number}" for number in range(5)]
    calls: list[Future[bytes]] = []
    with Client(server.credentials, timeout=20) as client:
        for path in paths:
            calls.append(threads.submit(client.raw, "GET", path))
            time.sleep(0.1)
        for number in range(5):
            until(lambda number=number: len(server.asked) > number)
            time.sleep(0.3)  # longer than a connection may take to be made
            server.turns.release()
        assert [call.result() for call in calls] == [b"ok"] * 5
    assert server.asked == paths


def test_a_call_that_had_to_wait_for_a_connection_takes_no_longer_than_any_other(
    server: Reluctant, threads: ThreadPoolExecutor
) -> None:
    with Client(server.credentials, timeout=4) as client:
        first = threads.submit(client.raw, "GET", "/first")
        until(lambda: server.asked == ["/first"])
        begun = time.monotonic()
        second = threads.submit(client.raw, "GET", "/second")
        time.sleep(2)
        server.turns.release()
        assert first.result() == b"ok"
        with pytest.raises(Unreachable):
            second.result()
        assert time.monotonic() - begun < 5.5
