"""Connections that one thread ends while another is at work on them: nothing goes out in the clear."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.kube import sockets
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials, load
from shiplift.kube.errors import KubeError
from shiplift.kube.stream import JSON, Stream
from shiplift.local.cluster import Cluster
from tests.kube.answering import CHUNKED_HEAD, answering
from tests.kube.gate import Gate, kubeconfig_through
from tests.until import until

_TLS_RECORDS = (b"\x16\x03", b"\x14\x03", b"\x17\x03")


@pytest.fixture
def gate(cluster: Cluster) -> Iterator[Gate]:
    gate = Gate(cluster.credentials().server.port)
    yield gate
    gate.close()


@pytest.fixture
def credentials(cluster: Cluster, gate: Gate, tmp_path: Path) -> Credentials:
    return load(kubeconfig_through(gate, cluster.kubeconfig, tmp_path))


class Midway:
    """Whoever ends a socket stays in the middle of it until told to go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._reached, self._go_on = threading.Event(), threading.Event()
        for name in ("shutdown", "_real_close"):
            patch.setattr(socket.socket, name, self._held(getattr(socket.socket, name)))

    def _held(self, real: Callable[..., None]) -> Callable[..., None]:
        def end(*args: Any) -> None:
            self._reached.set()
            self._go_on.wait(10)
            real(*args)

        return end

    def begin(self, end: Callable[[], None]) -> None:
        threading.Thread(target=end, daemon=True).start()
        assert self._reached.wait(10)

    def finish(self) -> None:
        self._go_on.set()


@pytest.fixture
def midway(monkeypatch: pytest.MonkeyPatch, credentials: Credentials) -> Iterator[Midway]:
    del credentials  # loaded before anything is held up
    with monkeypatch.context() as patch:
        midway = Midway(patch)
        yield midway
        midway.finish()


def test_a_watch_that_is_ended_while_it_asks_does_not_ask_in_the_clear(
    credentials: Credentials, gate: Gate, midway: Midway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Stream._request  # pyright: ignore[reportPrivateUsage]

    def ended_meanwhile(*args: Any) -> bytes:
        midway.begin(stream.end)
        return request(*args)

    monkeypatch.setattr(Stream, "_request", ended_meanwhile)
    with contextlib.suppress(KubeError), Stream(credentials, connect=5, idle=5) as stream:
        try:
            stream.get("/api/v1/namespaces", {}, JSON)
        finally:
            midway.finish()
    assert_only_tls(gate)


def test_a_client_that_is_closed_while_it_writes_does_not_write_in_the_clear(
    credentials: Credentials, gate: Gate, midway: Midway, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(credentials, "test")
    write = sockets.Connection.write

    def closed_meanwhile(*args: Any, **more: Any) -> None:
        midway.begin(client.close)
        write(*args, **more)
        midway.finish()

    monkeypatch.setattr(sockets.Connection, "write", closed_meanwhile)
    with contextlib.suppress(KubeError):
        client.get(kinds.NAMESPACE, "default")
    assert_only_tls(gate)


def assert_only_tls(gate: Gate) -> None:
    until(lambda: len(gate.heard) > 0)
    sent = bytes(gate.heard)
    while sent:
        assert sent[:2] in _TLS_RECORDS, sent[:60]
        sent = sent[5 + int.from_bytes(sent[3:5], "big") :]


def test_an_ended_stream_leaves_its_handle_to_the_thread_that_reads() -> None:
    with (
        answering(CHUNKED_HEAD + b"3\r\nabc\r\n", stay=True) as server,
        Stream(server.credentials, connect=5, idle=5) as stream,
    ):
        chunks = stream.get("/api", {}, JSON)
        assert next(chunks) == b"abc"
        stream.end()
        opened = stream._socket  # pyright: ignore[reportPrivateUsage]
        assert opened is not None
        assert opened.fileno() >= 0
        with pytest.raises(KubeError):
            next(chunks)
    assert opened.fileno() < 0
