"""Objects of a definition are stored anew, in the version in which it stores now; only then is it noted that
no older one is in use.

Kept true: an object is written as it was read, or not at all; the note is made only when each object that was
there has been written since the definition stores so, and not if the definition was changed meanwhile.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from shiplift.engine.denials import is_denial
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, Conflict, Invalid, KubeError, NotFound, PreconditionFailed
from shiplift.operators.crds.definition import listed, storage_of, stored_in

Json = dict[str, Any]
Servers = Callable[[], Iterable[Client]]
_PATIENCE = 30.0
_LOOK = 0.2


class StoringError(RuntimeError):
    """Objects cannot be stored anew; says why."""


def store_anew(client: Client, live: Json, until: float, servers: Servers) -> int:
    """How many objects were written. `live` is the definition as it was read, `until` a monotonic time;
    `servers` asks each API server, since any of them may be the one that writes."""
    storage = storage_of(live)
    if stored_in(live) == (storage,):
        return 0
    kind = _kind(live, storage)
    _wait_in_use(servers, kind, storage)
    count = _write_all(client, kind, until)
    meta = live["metadata"]
    client.patch(
        CUSTOM_RESOURCE_DEFINITION,
        meta["name"],
        {"status": {"storedVersions": [storage]}},
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
        subresource="status",
    )
    return count


def _kind(live: Json, storage: str) -> Kind:
    """As it can be asked for: in the version that is stored where that is served."""
    served = [one.name for one in listed(live) if one.served]
    if not served:
        raise StoringError("no version of it is served: its objects cannot be read")
    spec = live["spec"]
    version = storage if storage in served else served[0]
    names = spec["names"]
    return Kind(names["kind"], names["plural"], spec["group"], version, spec["scope"] == "Namespaced")


def _write_all(client: Client, kind: Kind, until: float) -> int:
    """Whoever is faster with a write of their own has stored the object anew just as well; who denies it has
    not, whatever status the denial has."""
    count = 0
    for one in client.list(kind):
        if time.monotonic() > until:
            raise StoringError(f"there are more than {count:,} objects of {kind}, too many to store in time")
        try:
            client.update(kind, one)
        except ApiError as error:
            if is_denial(error.message) or isinstance(error, Invalid):
                raise StoringError(f"{_name(one)} cannot be stored anew: {error.message}") from error
            if isinstance(error, (Conflict, NotFound, PreconditionFailed)):
                continue
            raise
        count += 1
    return count


def _name(one: Json) -> str:
    meta = one["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _wait_in_use(servers: Servers, kind: Kind, storage: str) -> None:
    """Until every API server says that it stores so: each learns of a changed definition a moment later."""
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        if all(_stores_as(one, kind, storage) for one in servers()):
            return
        time.sleep(_LOOK)
    raise StoringError(f"not every API server says that it stores {kind} as {storage}")


class _Resource(msgspec.Struct, rename="camel"):
    name: str
    storage_version_hash: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


def _stores_as(client: Client, kind: Kind, storage: str) -> bool:
    """Who does not answer may store as before."""
    try:
        found = client.ask("GET", f"/apis/{kind.group}/{kind.version}", _Resources)
    except KubeError:
        return False
    told = {one.name: one.storage_version_hash for one in found.resources}
    return told.get(kind.plural) == storage_hash(kind.group, storage, kind.kind)


def storage_hash(group: str, version: str, kind: str) -> str:
    """As discovery tells how something is stored."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
