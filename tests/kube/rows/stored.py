"""Objects as a real API server stores them, and the rows that we make of them."""

from __future__ import annotations

from typing import Any

from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client, PatchType
from shiplift.kube.rows import KIND_OF
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.watch import Watch

SPACE = "rows"
MOMENT, SECONDS = "2026-11-15T01:02:03Z", 1794704523
MI = 1 << 20


def stored(client: Client, kind: Kind, body: dict[str, Any], status: dict[str, Any] | None = None) -> Row:
    """What the store shows of an object, in its initial state; an update must show the same."""
    name = body["metadata"]["name"]
    space = SPACE if kind.namespaced else ""
    made = client.create(kind, body, space).object
    if status is not None:
        patch = {"status": status}
        about = made["metadata"]
        client.patch(
            kind,
            name,
            patch,
            space,
            type=PatchType.MERGE,
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )
    row = synced(client, kind, made["metadata"]["uid"])
    assert (row.namespace, row.name, row.uid) == (space, name, made["metadata"]["uid"])
    return row


def synced(client: Client, kind: Kind, uid: str) -> Row:
    store = Store(client.credentials, [Watch(kind)])
    store.start()
    try:
        assert store.wait_synced(20)
        rows = {row.uid: row for row in _all(store.snapshot(), kind)}
        return rows[uid]
    finally:
        store.stop()


def _all(snapshot: Snapshot, kind: Kind) -> list[Row]:
    return list(snapshot.all(next(rows for rows, of in KIND_OF.items() if of == kind)))
