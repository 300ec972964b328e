"""A small HTTP proxy that knows CONNECT only, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class ConnectProxy:
    listener: socket.socket
    login: str = ""
    requests: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.requests.append(head.decode())
            if self.login and f"Proxy-Authorization: Basic {self.login}" not in self.requests[-1]:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                return
            host, port = head.split(b" ")[1].rsplit(b":", 1)
            with socket.create_connection((host.decode(), int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\nVia: test\r\n\r\n")
                _pump(client, server)


def _pump(one: socket.socket, other: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, (one, other))
        selector.register(other, selectors.EVENT_READ, (other, one))
        while True:
            for key, _ in selector.select():
                source, target = key.data
                data = source.recv(65536)
                if not data:
                    return
                target.sendall(data)


@contextlib.contextmanager
def connect_proxy(login: str = "") -> Iterator[ConnectProxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = ConnectProxy(listener, login)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
