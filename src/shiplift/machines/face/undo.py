"""Undo this layer in a cluster, without the operator: pools for which it makes machines are paused, so that
no operator begins again. Their machines and nodes stay, since pods may run on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.api.machines import Provider
from shiplift.engine.barrier import Barrier
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
    store.wait_settled([one for row in paused for one in _paused(client, row)], SETTLE_SECONDS)
    for row in staying:
        say(f"MachinePool {row.name} stays, paused: its machines and nodes stay too")
    return Undone(len(paused), len(staying))


def _paused(client: Client, row: Custom) -> Iterator[Barrier]:
    try:
        written = client.patch(MACHINE_POOL, row.name, {"spec": {"paused": True}}, uid=row.uid)
    except KubeError as error:
        raise UndoError(
            f"MachinePool {row.name} cannot be paused: {error}", "an operator would begin again"
        ) from error
    yield from (written.barrier,) if written.barrier else ()
