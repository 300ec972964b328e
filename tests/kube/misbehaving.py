"""A door in front of a real API server that can be told to slam shut, lose the answer or answer nonsense."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from shiplift.kube.credentials import Credentials, Server
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Trust
from tests.accepting import accepted


class Trick(Enum):
    """What to do with a request instead of passing it on and handing back the answer."""

    DROP = auto()  # close without passing it on
    LOSE = auto()  # pass it on, close without handing back the answer
    HANG = auto()  # pass it on, say nothing until the client gives up
    DRIP = auto()  # pass it on, hand back the answer's head, then a byte every now and then
    CUT = auto()  # pass it on, hand back half of the answer, close


@dataclass(frozen=True)
class Instead:
    """Pass the request on, and hand back this answer instead of the real one."""

    answer: bytes


Play = Trick | Instead | bytes  # bytes: answer this and pass nothing on


@dataclass
class Door:
    """Tricks are played on requests of the given method, in the order they were set."""

    behind: Credentials
    listener: socket.socket
    tricks: deque[tuple[str, Play]] = field(default_factory=deque)
    seen: list[str] = field(default_factory=list)

    @property
    def credentials(self) -> Credentials:
        return Credentials(Server("http", "127.0.0.1", self.listener.getsockname()[1]), Trust(), Anonymous())

    def play(self, method: str, *tricks: Play) -> None:
        self.tricks.extend((method, trick) for trick in tricks)

    def serve(self) -> None:
        for client in accepted(self.listener):
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.settimeout(60)
            while request := _read_message(client):
                method = request.split(b" ", 1)[0].decode()
                self.seen.append(request.split(b"\r\n", 1)[0].decode())
                trick = self._trick(method)
                if isinstance(trick, bytes):
                    client.sendall(trick)
                    return
                if trick is Trick.DROP:
                    return
                answer = self._pass_on(request)
                if isinstance(trick, Instead):
                    client.sendall(trick.answer)
                if trick is Trick.HANG:
                    client.recv(1)
                if trick is Trick.DRIP:
                    _drip(client, answer)
                if trick is Trick.CUT:
                    client.sendall(answer[: len(answer) // 2])
                if trick is not None:
                    return
                client.sendall(answer)

    def _trick(self, method: str) -> Play | None:
        if self.tricks and self.tricks[0][0] == method:
            return self.tricks.popleft()[1]
        return None

    def _pass_on(self, request: bytes) -> bytes:
        with self.behind.open(10) as server:
            headers = "".join(f"{name}: {value}\r\n" for name, value in self.behind.headers())
            line, rest = request.split(b"\r\n", 1)
            server.sendall(line + b"\r\n" + headers.encode() + rest)
            return _read_message(server)


def _drip(client: socket.socket, answer: bytes) -> None:
    head, body = answer.split(b"\r\n\r\n", 1)
    client.sendall(head + b"\r\n\r\n")
    for byte in body:
        client.sendall(bytes([byte]))
        time.sleep(0.05)


def _read_message(stream: socket.socket) -> bytes:
    """A whole HTTP message with a Content-Length or chunks; empty when the other side has hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = stream.recv(65536)
        if not chunk:
            return b""
        data += chunk
    head = data.split(b"\r\n\r\n", 1)[0]
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    if fields.get(b"transfer-encoding", b"").strip() == b"chunked":
        while not data.endswith(b"0\r\n\r\n"):
            data += stream.recv(65536)
        return data
    wanted = len(head) + 4 + int(fields.get(b"content-length", b"0"))
    while len(data) < wanted:
        data += stream.recv(65536)
    return data


@contextlib.contextmanager
def door(behind: Credentials) -> Iterator[Door]:
    """A door that is open until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Door(behind, listener)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
