"""Small proxies that remember what they were asked: one of HTTP that knows CONNECT only, by TLS where it is
told to, and one of SOCKS 5."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.accepting import accepted


@dataclass
class ConnectProxy:
    listener: socket.socket
    login: str = ""
    tls: ssl.SSLContext | None = None
    requests: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def serve(self) -> None:
        for client in accepted(self.listener):
            threading.Thread(target=self._receive, args=(client,), daemon=True).start()

    def _receive(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._handle(client if self.tls is None else self.tls.wrap_socket(client, server_side=True))

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
                # TLS may hold more than one read gives, and nothing then comes to wake us
                while isinstance(source, ssl.SSLSocket) and source.pending():
                    target.sendall(source.recv(65536))


class SocksProxy(ConnectProxy):
    """`login` is `name:password`; `refuses` is what it answers instead of connecting."""

    refuses = 0

    def _handle(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            methods = client.recv(2)[1]
            offered = client.recv(methods)
            wanted = 2 if self.login else 0
            client.sendall(bytes([5, wanted if wanted in offered else 255]))
            if wanted in offered and (not self.login or self._is_known(client)):
                self._connect(client)

    def _is_known(self, client: socket.socket) -> bool:
        name = client.recv(client.recv(2)[1]).decode()
        password = client.recv(client.recv(1)[0]).decode()
        known = f"{name}:{password}" == self.login
        client.sendall(bytes([1, not known]))
        return known

    def _connect(self, client: socket.socket) -> None:
        kind = client.recv(4)[3]
        host = (
            client.recv(client.recv(1)[0]).decode()
            if kind == 3
            else _host(client.recv(4 if kind == 1 else 16))
        )
        port = int.from_bytes(client.recv(2), "big")
        self.requests.append(f"{kind} {host}:{port}")
        if self.refuses:
            client.sendall(bytes([5, self.refuses, 0, 1]) + bytes(6))
            return
        with socket.create_connection((host, port)) as server:
            name = b"here.example"
            client.sendall(b"\x05\x00\x00\x03" + bytes([len(name)]) + name + b"\x00\x01")
            _pump(client, server)


def _host(packed: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


@contextlib.contextmanager
def connect_proxy(
    login: str = "", kind: type[ConnectProxy] = ConnectProxy, tls: ssl.SSLContext | None = None
) -> Iterator[ConnectProxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = kind(listener, login, tls)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
