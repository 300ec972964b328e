"""Connections to a server of a test, one after the other."""

from __future__ import annotations

import socket
from collections.abc import Iterator


def accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """Each connection that comes, until the listener is closed."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        yield client
