"""A connected socket as the HTTP library wants one; whoever opened it knows proxy, TLS and certificates."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpcore2

from shiplift.kube.credentials import hang_up

_SHORTEST = 0.001
"""Seconds for a socket to time out: zero would mean not to wait, which fails in another way."""


class TimeLeft:
    """What is left of a call's time, asked anew at each stage: waiting for a connection is part of it."""

    def __init__(self, deadline: float, to_connect: float) -> None:
        self._deadline, self._to_connect = deadline, to_connect

    def get(self, stage: str, _: float | None = None) -> float:
        """As the connection pool asks for it."""
        left = max(self._deadline - time.monotonic(), _SHORTEST)
        return min(left, self._to_connect) if stage == "connect" else left


class Connection(httpcore2.NetworkStream):
    """One connection; `outdated` says that it must not be used for another request."""

    def __init__(self, opened: socket.socket, outdated: Callable[[], bool]) -> None:
        self._socket = opened
        self._outdated = outdated
        self._in_use = threading.Lock()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            with self._in_use:
                self._socket.settimeout(timeout)
                return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout("timed out") from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            with self._in_use:
                self._socket.settimeout(timeout)
                self._socket.sendall(buffer)
        except TimeoutError as error:
            raise httpcore2.WriteTimeout("timed out") from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        """From any thread: a read or write under way ends first, for its handle may soon be another's."""
        hang_up(self._socket)
        with self._in_use:
            self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        """The pool asks an idle connection whether the other side has hung up."""
        if info == "is_readable":
            return self._outdated() or _readable(self._socket)
        return None


def _readable(opened: socket.socket) -> bool:
    handle = opened.fileno()
    if handle < 0:
        return True
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(0))
