"""A server that does not tell of changes: it is left alone for a while, and never asked without end."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, cast

import pytest

from shiplift.agent.door import node
from shiplift.agent.door.connection import LONGEST_ASKED, Connection
from shiplift.agent.door.node import NodeDoor
from shiplift.agent.errors import AgentError

NODE = {"metadata": {"uid": "u", "resourceVersion": "7"}, "status": {"nodeInfo": {"machineID": "m"}}}
WHO = {"status": {"userInfo": {"username": "system:node:w-1"}}}


class Bytes:
    """What http.client reads an answer from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)


def answered(status: int, body: dict[str, Any] | None, **headers: str) -> HTTPResponse:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} so", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    response = HTTPResponse(cast("socket.socket", Bytes("\r\n".join([*lines, "", ""]).encode() + content)))
    response.begin()
    return response


class Server:
    """It gives the Node, and answers watches as it is told to."""

    def __init__(self) -> None:
        self.status, self.headers = 200, dict[str, str]()
        self.away = False
        self.event: dict[str, Any] | None = None
        self.now, self.slept = 1000.0, list[float]()
        self.watches = 0

    def asked(self, _: Connection, method: str, path: str, *__: object) -> HTTPResponse:
        if method == "POST":
            return answered(201, WHO)
        if "watch=1" not in path:
            return answered(200, NODE)
        self.watches += 1
        if self.away:
            raise ConnectionRefusedError("refused")
        if self.status != 200:
            return answered(self.status, {"message": "not now"}, **self.headers)
        if self.event is None:
            self.now += float(path.rpartition("=")[2])
        return answered(200, self.event)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(Connection, "_sent", lambda *words: made.asked(*words))  # noqa: PLW0108 - it is a method then
    monkeypatch.setattr(node, "time", made)
    return made


@pytest.fixture
def door(server: Server) -> Iterator[NodeDoor]:
    made = NodeDoor(Path("/nowhere"), lambda: 0.0)
    assert made.read() is not None
    yield made
    made.close()


@pytest.mark.parametrize("status", [401, 403, 410, 429, 500, 503])
def test_a_watch_that_is_refused_is_nothing_that_came(
    server: Server, door: NodeDoor, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = status
    for _ in range(3):
        door.wait(30)
    assert server.slept == [1.0, 1.5, 2.25]
    assert caplog.text.count(f"the API server does not tell of changes: {status} not now") == 1


def test_a_watch_that_fails_is_waited_for_in_the_same_way(server: Server, door: NodeDoor) -> None:
    server.away = True
    for _ in range(3):
        door.wait(30)
    assert server.slept == [1.0, 1.5, 2.25]


@pytest.mark.parametrize(("seconds", "longest"), [(30.0, 30.0), (5.0, 5.0), (1.0, 1.0)])
def test_however_often_it_is_refused_the_next_look_is_as_soon_as_without_it(
    server: Server, door: NodeDoor, seconds: float, longest: float
) -> None:
    server.status = 429
    for _ in range(20):
        door.wait(seconds)
    assert server.slept[-1] == longest


def test_in_eight_minutes_without_watches_it_is_asked_25_times(server: Server, door: NodeDoor) -> None:
    server.status = 429
    for _ in range(25):
        door.wait(30)
    assert server.now > 1000 + 480


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", 7.0), ("0", 1.0), ("3600", LONGEST_ASKED), ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0), ("-5", 1.0)],
)
def test_what_a_server_asks_for_is_kept_to_within_reason(
    server: Server, door: NodeDoor, asked: str, waited: float
) -> None:
    server.status, server.headers = 429, {"Retry_After": asked}
    door.wait(5)
    assert server.slept == [waited]


@pytest.mark.parametrize("event", [None, {"type": "MODIFIED"}])
def test_once_it_is_listened_to_again_the_next_refusal_is_the_first(
    server: Server, door: NodeDoor, event: dict[str, Any] | None
) -> None:
    server.status = 429
    door.wait(30)
    door.wait(30)
    server.status, server.event = 200, event
    door.wait(30)
    server.status = 429
    door.wait(30)
    assert server.slept[-1] == 1.0


def test_what_comes_on_a_watch_is_heard_at_once(server: Server, door: NodeDoor) -> None:
    server.event = {"type": "MODIFIED"}
    door.wait(30)
    assert (server.slept, server.now) == ([], 1000.0)


def test_where_nothing_comes_it_is_waited_for_as_long_as_was_asked(server: Server, door: NodeDoor) -> None:
    door.wait(30)
    assert server.now == 1030.0


def test_a_refused_watch_leaves_the_connection_as_it_is(server: Server, door: NodeDoor) -> None:
    """A new one for each would cost the server more than the watch."""
    closed = list[bool]()
    door._connection.close = lambda: closed.append(True)  # type: ignore[method-assign] # pyright: ignore
    server.status = 429
    with pytest.raises(AgentError, match="429 not now"):
        door._connection.wait("/api/v1/nodes?watch=1", 30)  # pyright: ignore[reportPrivateUsage]
    assert closed == []
