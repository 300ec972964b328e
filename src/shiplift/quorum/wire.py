"""One HTTP exchange with a server of a service: short, capped, straight to it.

No proxy is used and no redirect is followed: pods are reached where they are. An answer is whole, or it is
one of two errors: `Unreached` says that nothing arrived there, `BrokenOff` that the request may have been
carried out.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import time
from collections.abc import Mapping
from typing import Protocol

import msgspec

from shiplift.quorum.reading import Timed, left, pieces

_CONNECTING = 5.0


class Exchange(msgspec.Struct, frozen=True):
    """What is sent, to whom, and what is waited for."""

    method: str
    address: str
    port: int
    target: str
    """Path and query, quoted."""
    headers: Mapping[str, str]
    body: bytes = b""
    seconds: float = 10.0
    """In all."""
    most: int = 4 << 20
    """Bytes of the answer."""
    name: str = ""
    """How the server is called, without the cluster's domain: its certificate is for that, not for its
    address."""


class Got(msgspec.Struct, frozen=True):
    """A whole answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WireError(Exception):
    """No whole answer came; the message holds nothing of what was sent."""


class Unreached(WireError):  # noqa: N818 - says what became of the request
    """Nothing was sent."""


class BrokenOff(WireError):  # noqa: N818 - says what became of the request
    """It was sent, and may have been carried out."""


class Wire(Protocol):
    """Sends an exchange; whoever has another way to the servers brings it."""

    def send(self, exchange: Exchange) -> Got:
        """The answer, or a `WireError`."""
        ...


class Direct:
    """A connection for each exchange: servers restart, and a connection that was kept would be a dead one."""

    def __init__(self, tls: ssl.SSLContext | None = None, domain: str = "cluster.local") -> None:
        """`domain` is the cluster's."""
        self._tls, self._domain = tls, domain

    def send(self, exchange: Exchange) -> Got:
        deadline = time.monotonic() + exchange.seconds
        connection = self._connection(exchange)
        with contextlib.closing(connection):
            self._connect(connection)
            try:
                return _exchanged(connection, exchange, deadline)
            except (OSError, http.client.HTTPException) as error:
                raise BrokenOff(_said(error)) from None

    def _connection(self, exchange: Exchange) -> http.client.HTTPConnection:
        wait = min(_CONNECTING, exchange.seconds)
        if self._tls is None:
            return http.client.HTTPConnection(exchange.address, exchange.port, timeout=wait)
        name = f"{exchange.name}.{self._domain}" if exchange.name else exchange.address
        return _Named(exchange.address, exchange.port, wait, self._tls, name)

    @staticmethod
    def _connect(connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except OSError as error:
            raise Unreached(_said(error)) from None


class _Named(http.client.HTTPConnection):
    """TLS to an address, with a server of that name."""

    def __init__(self, address: str, port: int, wait: float, tls: ssl.SSLContext, name: str) -> None:
        super().__init__(address, port, timeout=wait)
        self._tls, self._server_name = tls, name

    def connect(self) -> None:
        super().connect()
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _exchanged(connection: http.client.HTTPConnection, exchange: Exchange, deadline: float) -> Got:
    # from here on one wait may take what is left: a server that stages says nothing for minutes
    connection.sock = Timed(connection.sock, deadline, left(deadline))  # pyright: ignore[reportAttributeAccessIssue]
    connection.request(exchange.method, exchange.target, exchange.body, dict(exchange.headers))
    answer = connection.getresponse()
    body = bytearray()
    for piece in pieces(answer):
        body += piece
        if len(body) > exchange.most:
            raise BrokenOff(f"the answer has more than {exchange.most} bytes")
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Got(answer.status, headers, bytes(body))


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
