"""A copy of etcd's data, through etcd itself: it is consistent, and made while etcd goes on. And who its
members are, who have to be known to whoever puts such a copy back.

etcd offers its snapshot over gRPC, which the standard library does not speak, and over the JSON gateway that
it has on the same port, which it does: one JSON object a line, each with a piece of the file. The last 32
bytes are a digest of all before; a copy that does not fit it is thrown away. The copy holds every Secret of
the cluster: nobody but root may read it.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import disk, space

_PKI = Path("/etc/kubernetes/pki/etcd")
_SECONDS = 120.0
"""For each piece; there is no bound to the size of a database."""
_LONGEST_LINE = 16 << 20
_DIGEST = 32
_BLOCK = 512
KEPT = 3
"""Copies that stay, the newest; the one before the last rollout may be wanted after the next has begun."""


@dataclass(frozen=True)
class Member:
    """The etcd of this machine, and what is needed to speak to it, as kubeadm has put it there."""

    port: int = 2379
    authority: Path = _PKI / "ca.crt"
    certificate: Path = _PKI / "healthcheck-client.crt"
    key: Path = _PKI / "healthcheck-client.key"


OF_KUBEADM = Member()


def snapshot(member: Member, folder: Path, name: str) -> Path:
    """A copy with that name; where there is a whole one already, that is it."""
    disk.private_folder(folder)
    path = folder / f"{name}.db"
    if not path.exists():
        beside = folder / ".copy.new"
        space.need(folder, _size(member), "a copy of etcd's data")
        _whole(member, beside)
        beside.replace(path)
        disk.settle(folder)
        _forget_old(folder)
    return path


def members(member: Member) -> tuple[str, ...]:
    """The names of all, as this one knows them; of one that has not started yet its address."""
    found = _answer(member, "/v3/cluster/member/list").get("members", [])
    return tuple(sorted(one.get("name") or ", ".join(one.get("peerURLs", ())) for one in found))


def _size(member: Member) -> int:
    """Of the database, in bytes."""
    return int(_answer(member, "/v3/maintenance/status").get("dbSize", 0))


def _answer(member: Member, path: str) -> dict[str, Any]:
    connection, response = _asked(member, path)
    try:
        return _line(response.read(_LONGEST_LINE))
    except (OSError, http.client.HTTPException) as error:
        raise AgentError(f"etcd on this machine broke off its answer to {path}: {error}") from None
    finally:
        connection.close()


def _whole(member: Member, path: Path) -> None:
    """What is not whole goes at once: it would keep a full disk full."""
    try:
        _copied(member, path)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise AgentError(f"the copy of etcd's data could not be written: {error.strerror}") from None
    except AgentError:
        path.unlink(missing_ok=True)
        raise


def _copied(member: Member, path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    digest, tail, size = hashlib.sha256(), b"", 0
    with os.fdopen(descriptor, "wb") as file:
        for piece in _pieces(member):
            file.write(piece)
            size += len(piece)
            digest.update((tail + piece)[:-_DIGEST])
            tail = (tail + piece)[-_DIGEST:]
        file.flush()
        os.fsync(file.fileno())
    if size % _BLOCK != _DIGEST or digest.digest() != tail:
        raise AgentError(f"the copy of etcd's data is not whole: {size} bytes that do not fit their digest")


def _pieces(member: Member) -> Iterator[bytes]:
    connection, response = _asked(member, "/v3/maintenance/snapshot")
    try:
        while line := response.readline(_LONGEST_LINE):
            said = _line(line)
            if "error" in said:
                raise AgentError(f"etcd gives no copy of its data: {str(said['error'])[:200]}")
            yield base64.b64decode(said.get("result", {}).get("blob", ""))
    except (OSError, http.client.HTTPException) as error:
        raise AgentError(f"etcd broke off the copy of its data: {error}") from None
    finally:
        connection.close()


def _asked(member: Member, path: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
    try:
        context = ssl.create_default_context(cafile=str(member.authority))
        context.load_cert_chain(member.certificate, member.key)
        connection = http.client.HTTPSConnection("127.0.0.1", member.port, timeout=_SECONDS, context=context)
        connection.request("POST", path, b"{}", {"Content-Type": "application/json"})
        response = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        raise AgentError(f"etcd on this machine does not answer: {error}") from None
    if response.status != 200:
        connection.close()
        raise AgentError(f"etcd on this machine answered {response.status} to {path}")
    return connection, response


def _line(text: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise AgentError("etcd on this machine answered what is no JSON object") from None


def _forget_old(folder: Path) -> None:
    copies = sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime_ns)
    for old in copies[:-KEPT]:
        old.unlink()
