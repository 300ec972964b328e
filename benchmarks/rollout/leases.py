"""A watch of the Leases of nodes: it tells when each was renewed, as soon as the API server has it."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import msgspec

from benchmarks.loader import Endpoint

_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?watch=1&timeoutSeconds=86400"
Renewed = Callable[[str, float], None]
"""The name of a node, and when its Lease was seen to be renewed."""


class _About(msgspec.Struct, frozen=True):
    name: str


class _Lease(msgspec.Struct, frozen=True):
    metadata: _About


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Lease


class LeaseWatch:
    """From entering it to leaving it."""

    def __init__(self, endpoint: Endpoint, renewed: Renewed) -> None:
        self._renewed = renewed
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", endpoint.port, context=endpoint.context(), timeout=None
        )
        self._ended = False
        self._thread = threading.Thread(target=self._read, name="leases", daemon=True)

    def __enter__(self) -> Self:
        self._connection.request("GET", _PATH)
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise RuntimeError(f"Leases cannot be watched: {self._answer.status} {self._answer.reason}")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._connection.close()

    def _read(self) -> None:
        decoder = msgspec.json.Decoder(_Event)
        try:
            while line := self._answer.readline():
                event = decoder.decode(line)
                if event.type == "MODIFIED":
                    self._renewed(event.object.metadata.name, time.monotonic())
        except (OSError, http.client.HTTPException, ValueError):
            if not self._ended:
                raise
