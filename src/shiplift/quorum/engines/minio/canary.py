"""The canary: an object is written, read and deleted through each server.

Health checks say that all is well while writes still fail, so only this counts. An object has a name of its
own each time, so that what an earlier one left behind proves nothing. A bucket that was made for it is taken
away; one that somebody named is only used.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from shiplift.quorum.engines.minio.answers import refusal
from shiplift.quorum.engines.protocol import Canary, Server
from shiplift.quorum.wire import Got, WireError

Send = Callable[[Server, str, str, bytes], Got]
"""Through a server: method, path, body."""

OWN_BUCKET = "shiplift-canary"
_THERE = (200, 409)
"""A bucket was made, or is there."""


def through(send: Send, servers: Sequence[Server], bucket: str | None) -> tuple[Canary, ...]:
    """One after the other; the bucket is made through the first server that makes it."""
    if bucket is not None:
        return tuple(_one(send, server, bucket) for server in servers)
    made = any(_made(send, server) for server in servers)
    sung = tuple(_one(send, server, OWN_BUCKET) for server in servers)
    if made:
        _take_away(send, servers)
    return sung


def _made(send: Send, server: Server) -> bool:
    try:
        return send(server, "PUT", f"/{OWN_BUCKET}", b"").status in _THERE
    except WireError:
        return False


def _take_away(send: Send, servers: Sequence[Server]) -> None:
    """What cannot be deleted now is empty but for our own objects, and used again the next time."""
    for server in servers:
        try:
            if send(server, "DELETE", f"/{OWN_BUCKET}", b"").status in (204, 404):
                return
        except WireError:
            continue


def _one(send: Send, server: Server, bucket: str) -> Canary:
    path, content = f"/{bucket}/shiplift-canary-{secrets.token_hex(8)}", secrets.token_bytes(4096)
    try:
        trouble = _written_and_read(send, server, path, content)
        deleted = send(server, "DELETE", path, b"")
    except WireError as error:
        return Canary(server.name, f"no answer: {error}")
    return Canary(server.name, trouble or _unless(deleted, 204, "deleted"))


def _written_and_read(send: Send, server: Server, path: str, content: bytes) -> str:
    written = send(server, "PUT", path, content)
    if trouble := _unless(written, 200, "written"):
        return trouble
    read = send(server, "GET", path, b"")
    if trouble := _unless(read, 200, "read"):
        return trouble
    return "" if read.body == content else "what was read is not what was written"


def _unless(got: Got, status: int, what: str) -> str:
    return "" if got.status == status else f"not {what}: {refusal(got.status, got.body).message}"
