"""A real HTTPS server on loopback that answers as it is told, with every bad manner there is."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.accepting import accepted


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """An answer, and what goes wrong with it."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    half: bool = False
    """Hang up in the middle of the body."""
    stall: bool = False
    """Say nothing until the other side has gone."""
    endless: bool = False
    """The body never ends."""
    drip: bool = False
    """A byte now and then."""
    chatter: bool = False
    """One `100 Continue` after the other."""

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{key}: {value}" for key, value in self.headers)]
        if not self.endless:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


@dataclass
class Https:
    """Runs until the end of the block that `serving` is for."""

    listener: socket.socket
    tls: ssl.SSLContext | None
    answer: Callable[[Asked], Reply]
    asked: list[Asked] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def __post_init__(self) -> None:
        self.port = self.listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def serve(self) -> None:
        for client in accepted(self.listener):
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.settimeout(60)
            if self.tls is None:
                return self._talk(client)
            with self.tls.wrap_socket(client, server_side=True) as secure:
                return self._talk(secure)

    def _talk(self, client: socket.socket) -> None:
        asked = _read(client)
        if asked is None:
            return
        self.asked.append(asked)
        self._say(client, self.answer(asked))

    def _say(self, client: socket.socket, reply: Reply) -> None:
        if reply.stall:
            client.recv(1)
            return
        while reply.chatter:
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(reply.head())
        while reply.endless:
            client.sendall(b"x" * 4096)
        if reply.drip:
            for byte in reply.body:
                client.sendall(bytes([byte]))
                if self.gone.wait(0.1):
                    return
        elif reply.half:
            client.sendall(reply.body[: len(reply.body) // 2])
        else:
            client.sendall(reply.body)


def _read(client: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(65536)
        if not chunk:
            return None
        data += chunk
    head, body = data.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {key.lower(): value.strip() for key, value in (line.split(":", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += client.recv(65536)
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, body)


def server_context(keys: Path) -> ssl.SSLContext:
    """As a server shows itself whose certificate the authority in that folder has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "server.crt", keys / "server.key")
    return context


@contextlib.contextmanager
def serving(tls: ssl.SSLContext | None, answer: Callable[[Asked], Reply], port: int = 0) -> Iterator[Https]:
    """A server that is there until the end of the block."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        made = Https(listener, tls, answer)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.gone.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
