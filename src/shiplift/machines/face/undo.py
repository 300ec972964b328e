"""Undo this layer in a cluster, without the operator: pools for which it makes machines are paused, so that
no operator begins again. Their machines and nodes stay, since pods may run on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shiplift.api.machines import Provider
from shiplift.face.parts import Undone
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import MACHINE_POOL
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError
from shiplift.machines.in_cluster.model import pool_of

Say = Callable[[str], None]


def undo_all(client: Client, store: Store, say: Say) -> Undone:
    """How many changes it took; pools stay, and are named."""
    pools = sorted(store.snapshot(MACHINE_POOL).customs(MACHINE_POOL), key=lambda row: row.name)
    staying = [row for row in pools if pool_of(row).spec.provider is Provider.KWOK and not row.deleting]
    paused = [row for row in staying if not pool_of(row).spec.paused]
    refused = {row.name: error for row in paused if (error := _pause(client, store, row)) is not None}
    for row in staying:
        if row.name not in refused:
            say(f"MachinePool {row.name} stays, paused: its machines and nodes stay too")
    for name, error in refused.items():  # the first is told, once all others are paused
        raise UndoError(f"MachinePool {name} cannot be paused: {error}", _others(refused)) from error
    return Undone(len(paused), len(staying))


def _pause(client: Client, store: Store, row: Custom) -> KubeError | None:
    try:
        written = client.patch(MACHINE_POOL, row.name, {"spec": {"paused": True}}, uid=row.uid)
    except KubeError as error:
        return error
    store.wait_settled([written.barrier] if written.barrier else [], SETTLE_SECONDS)
    return None


def _others(refused: Mapping[str, KubeError]) -> str:
    more = len(refused) - 1
    told = "an operator would begin again"
    return f"{told}; so it is with {more} more" if more else told
