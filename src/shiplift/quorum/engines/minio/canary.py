"""The canary: an object is written, read and deleted through each server.

Health checks say that all is well while writes still fail, so only this counts. An object has one name for
each server, so that what somebody left who was killed is written over and goes with the next; its content is
another each time, so that what was left proves nothing. A bucket that was made for it is taken away; one that
somebody named is only used.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from shiplift.quorum.engines.minio.answers import refusal
from shiplift.quorum.engines.protocol import Canary, Server
from shiplift.quorum.wire import Got, WireError

Query = tuple[tuple[str, str], ...]
Send = Callable[[Server, str, str, bytes, Query], Got]
"""Through a server: method, path, body, query."""

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
        return send(server, "PUT", f"/{OWN_BUCKET}", b"", ()).status in _THERE
    except WireError:
        return False


def _take_away(send: Send, servers: Sequence[Server]) -> None:
    """What cannot be deleted now is empty but for our own objects, and used again the next time."""
    for server in servers:
        try:
            if send(server, "DELETE", f"/{OWN_BUCKET}", b"", ()).status in (204, 404):
                return
        except WireError:
            continue


def _one(send: Send, server: Server, bucket: str) -> Canary:
    path, content = f"/{bucket}/shiplift-canary-{server.name}", secrets.token_bytes(4096)
    try:
        written = send(server, "PUT", path, content, ())
        trouble = _unless(written, 200, "written") or _read(send, server, path, content)
        return Canary(server.name, trouble or _deleted(send, server, path, _version(written)))
    except WireError as error:
        return Canary(server.name, f"no answer: {error}")


def _read(send: Send, server: Server, path: str, content: bytes) -> str:
    read = send(server, "GET", path, b"", ())
    if trouble := _unless(read, 200, "read"):
        return trouble
    return "" if read.body == content else "what was read is not what was written"


def _deleted(send: Send, server: Server, path: str, version: Query) -> str:
    """Of a bucket that keeps versions this one goes, and the one below it, which somebody left who was
    killed; a mark that says deleted would keep them all."""
    gone = send(server, "DELETE", path, b"", version)
    if version and (below := _version(send(server, "GET", path, b"", ()))):
        send(server, "DELETE", path, b"", below)
    return _unless(gone, 204, "deleted")


def _version(got: Got) -> Query:
    """How an answer names the version that it is about; nothing where versions are not kept."""
    name = got.headers.get("x-amz-version-id", "")
    return (("versionId", name),) if name and got.status == 200 else ()


def _unless(got: Got, status: int, what: str) -> str:
    return "" if got.status == status else f"not {what}: {refusal(got.status, got.body).message}"
