"""The bare wire as a program of its own: `python -m benchmarks.wire KUBECONFIG`.

It asks for what our store asks for, pods and nodes at once, and drops every byte unread until each
stream has said that its initial state is complete. No client of this server can be faster.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks.process import cpu_seconds, memory
from shiplift.facts.kinds import NODE, POD, Kind
from shiplift.kube import credentials
from shiplift.kube.credentials import Credentials

_END = b"k8s.io/initial-events-end"
_QUERY = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
_TIMEOUT = 60.0


def main() -> None:
    access = credentials.load(Path(sys.argv[1]))
    begin, used = time.perf_counter(), cpu_seconds()
    with ThreadPoolExecutor(2) as pool:
        received = list(pool.map(_drain, (access, access), (POD, NODE)))
    wall = time.perf_counter() - begin
    now = memory()
    answer = {"event": "synced", "wall": wall, "cpu": cpu_seconds() - used, "rss": now.rss, "peak": now.peak}
    print(msgspec.json.encode(answer | {"bytes": sum(received)}).decode(), flush=True)


def _drain(access: Credentials, kind: Kind) -> int:
    """Read until the mark has passed, and say how many bytes that took."""
    with access.open(_TIMEOUT) as connection:
        connection.settimeout(_TIMEOUT)
        connection.sendall(_request(access, kind))
        buffer = bytearray(1 << 20)
        received, tail = 0, b""
        while count := connection.recv_into(buffer):
            received += count
            # the mark may lie across two reads
            if buffer.find(_END, 0, count) >= 0 or _END in tail + buffer[: len(_END)]:
                return received
            tail = bytes(buffer[max(0, count - len(_END)) : count])
    raise ConnectionError(f"the stream of {kind} ended before its initial state was complete")


def _request(access: Credentials, kind: Kind) -> bytes:
    lines = [
        f"GET {access.server.prefix}{kind.path()}?{_QUERY} HTTP/1.1",
        f"Host: {access.server.authority}",
        "Accept: application/vnd.kubernetes.protobuf;stream=watch",
        "Accept-Encoding: identity",
        *(f"{name}: {value}" for name, value in access.headers()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


if __name__ == "__main__":
    main()
