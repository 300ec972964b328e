"""An exchange ends whole, or with an error that says whether anything can have happened."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiplift.quorum.engines.making import cluster_domain
from shiplift.quorum.wire import BrokenOff, Direct, Exchange, Unreached

Talk = Callable[[socket.socket], None]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answering(listener: socket.socket, talk: Talk) -> threading.Thread:
    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            talk(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def asked(listener: socket.socket, **changed: object) -> Exchange:
    port = listener.getsockname()[1]
    values: dict[str, object] = {"seconds": 5.0, **changed}
    return Exchange("GET", "127.0.0.1", port, "/x", {"host": "h"}, **values)  # type: ignore[arg-type]


def test_a_whole_answer_comes_back_with_lower_case_headers(listener: socket.socket) -> None:
    answering(
        listener, lambda to: to.sendall(b"HTTP/1.1 412 No\r\nX-Minio-A: b\r\nContent-Length: 2\r\n\r\nhi")
    )
    got = Direct().send(asked(listener))
    assert (got.status, got.headers["x-minio-a"], got.body) == (412, "b", b"hi")


def test_where_nobody_listens_nothing_was_sent(listener: socket.socket) -> None:
    exchange = asked(listener)
    listener.close()
    with pytest.raises(Unreached, match="refused"):
        Direct().send(exchange)


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"nonsense\r\n\r\n"]
)
def test_an_answer_that_breaks_off_may_follow_something_done(listener: socket.socket, said: bytes) -> None:
    answering(listener, lambda to: to.sendall(said))
    with pytest.raises(BrokenOff):
        Direct().send(asked(listener))


def test_an_answer_that_is_too_large_is_given_up(listener: socket.socket) -> None:
    answering(listener, lambda to: to.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000))
    with pytest.raises(BrokenOff, match="more than 1000 bytes"):
        Direct().send(asked(listener, most=1000))


def test_a_redirect_is_an_answer_and_is_not_followed(listener: socket.socket) -> None:
    answering(
        listener, lambda to: to.sendall(b"HTTP/1.1 302 F\r\nLocation: http://h/\r\nContent-Length: 0\r\n\r\n")
    )
    assert Direct().send(asked(listener)).status == 302


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"],
    ids=["headers", "body"],
)
def test_a_server_that_dribbles_is_given_up_when_the_time_of_the_whole_is_over(
    listener: socket.socket, said: bytes
) -> None:
    over = threading.Event()

    def dribble(to: socket.socket) -> None:
        to.sendall(said)
        deadline = time.monotonic() + 25
        while not over.wait(0.05):
            if time.monotonic() > deadline:
                return
            to.sendall(b"x")

    thread = answering(listener, dribble)
    began = time.monotonic()
    try:
        with pytest.raises(BrokenOff, match=r"took too long|timed out"):
            Direct().send(asked(listener, seconds=0.5))
    finally:
        over.set()
        thread.join(5)
    assert time.monotonic() - began < 20


def test_a_certificate_is_for_the_name_of_a_server_and_not_for_its_address(keys: Path) -> None:
    """The authority of the tests signs for `localhost`, and the server is reached at an address."""
    listener = socket.create_server(("127.0.0.1", 0))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "server.crt", keys / "server.key")

    def answer() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(4096)
                secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    trusting = Direct(ssl.create_default_context(cafile=str(keys / "ca.crt")), domain="nowhere.example")
    port = listener.getsockname()[1]
    with pytest.raises(Unreached, match="certificate"):
        trusting.send(Exchange("GET", "127.0.0.1", port, "/", {}, name="minio-0.minio.shop.svc"))
    assert trusting.send(Exchange("GET", "127.0.0.1", port, "/", {})).body == b"ok"
    thread.join(5)
    listener.close()


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("search shop.svc.example.org svc.example.org example.org\n", "example.org"),
        ("nameserver 10.0.0.1\n", "cluster.local"),
        ("", "cluster.local"),
    ],
)
def test_the_domain_of_the_cluster_is_what_kubelets_tell_pods(tmp_path: Path, text: str, domain: str) -> None:
    (tmp_path / "resolv.conf").write_text(text)
    assert cluster_domain(tmp_path / "resolv.conf") == domain
    assert cluster_domain(tmp_path / "nothing") == "cluster.local"
