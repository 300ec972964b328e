"""Free loopback ports, from below the range that outgoing connections are given."""

from __future__ import annotations

import random
import socket

from shiplift.local.errors import LocalError

LOWEST, HIGHEST = 20000, 32000


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Different free ports; another process may still be faster, so callers try again."""
    candidates = random.sample(range(LOWEST, HIGHEST), 500)
    found = [port for port in candidates if is_free(port)][:count] if count else []
    if len(found) < count:
        raise LocalError(
            f"no {count} free ports between {LOWEST} and {HIGHEST}",
            "stop clusters that you no longer need: shiplift local status, shiplift local down",
        )
    return found
