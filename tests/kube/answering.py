"""A tiny TCP server that answers each connection with given bytes: what no real API server would send."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from shiplift.kube.credentials import Credentials, Server
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Trust
from tests.accepting import accepted

Answer = bytes | Callable[[str], bytes]
"""What to send, or what makes it from the head of the request."""


class Answering:
    """Answers are used up in order; the last one is for all who come after."""

    def __init__(self, listener: socket.socket, answers: Iterable[Answer], *, stay: bool = False) -> None:
        self._listener = listener
        self._answers = deque(answers)
        self._stay = stay
        self.requests: list[str] = []

    @property
    def credentials(self) -> Credentials:
        port = self._listener.getsockname()[1]
        return Credentials(Server("http", "127.0.0.1", port), Trust(), Anonymous())

    def serve(self) -> None:
        for client in accepted(self._listener):
            with client, contextlib.suppress(OSError):
                client.settimeout(20)
                self.requests.append(_head(client))
                sent = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
                client.sendall(sent if isinstance(sent, bytes) else sent(self.requests[-1]))
                if self._stay:
                    client.recv(1)


def _head(client: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data and (more := client.recv(65536)):
        data += more
    return data.decode("latin-1")


@contextlib.contextmanager
def answering(*answers: Answer, stay: bool = False) -> Iterator[Answering]:
    """Serves until the end of the block; `stay` keeps each connection until the client has hung up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Answering(listener, answers, stay=stay)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(30)


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer that says how long it is."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(*parts: bytes) -> bytes:
    """A whole answer in chunks."""
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return CHUNKED_HEAD + chunks + b"0\r\n\r\n"
