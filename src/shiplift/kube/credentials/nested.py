"""TLS within TLS: a connection to the API server inside one to a proxy that is itself reached by TLS.

What Python wraps must be a plain socket, so the inner TLS is done in memory, and what comes out of it is sent
through the outer one. One thread reads or writes at a time; any may hang up.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar, cast

R = TypeVar("R")

_CHUNK = 1 << 16


class Nested(socket.socket):
    """A socket whose bytes pass two layers of TLS. Its handle is one more to the same connection: hanging up,
    and asking whether something has come, work on it as on any other."""

    def __init__(self, outer: ssl.SSLSocket, inner: ssl.SSLContext, name: str) -> None:
        super().__init__(fileno=os.dup(outer.fileno()))
        self._outer = outer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = inner.wrap_bio(self._incoming, self._outgoing, server_hostname=name)

    def shake_hands(self) -> None:
        self._until_done(self._tls.do_handshake)

    def settimeout(self, value: float | None, /) -> None:
        self._outer.settimeout(value)

    def gettimeout(self) -> float | None:
        return self._outer.gettimeout()

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        try:
            return self._until_done(lambda: self._tls.read(bufsize))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        try:
            # with a buffer it is how many bytes were put there
            return cast("int", self._until_done(lambda: self._tls.read(nbytes or len(buffer), buffer)))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        left = memoryview(data)
        while left:
            sent = self._until_done(lambda some=left: self._tls.write(some))
            left = left[sent:]

    def close(self) -> None:
        self._outer.close()
        super().close()

    def _until_done(self, act: Callable[[], R]) -> R:
        while True:
            try:
                result = act()
            except ssl.SSLWantReadError:
                self._send_what_came_out()
                self._take_in()
            else:
                self._send_what_came_out()
                return result

    def _send_what_came_out(self) -> None:
        if data := self._outgoing.read():
            self._outer.sendall(data)

    def _take_in(self) -> None:
        if data := self._outer.recv(_CHUNK):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
