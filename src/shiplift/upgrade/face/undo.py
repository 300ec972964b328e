"""Undo everything of the conductor in a cluster, without the operator.

The upgrade is aborted, so that no operator begins again; what was made for it is told to go, and the user's
WorkloadMigration is as it was. Nodes and workloads are given back by their own layers, which are undone next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shiplift.api.upgrade import UpgradePhase
from shiplift.engine import clock
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcomes, Step
from shiplift.face.parts import Undone
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.upgrade.act.actor import Actor
from shiplift.upgrade.decide import ending
from shiplift.upgrade.model import Conducted, View
from shiplift.upgrade.names import FINALIZER, UPGRADE
from shiplift.upgrade.observe.observer import Observer
from shiplift.upgrade.steps import SetFinalizer


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    """How many changes it took. The store watches what the layer reads; of layers that are not installed
    there is nothing to undo."""
    store.wait_settled(list(_aborted(client, say)), SETTLE_SECONDS)
    observer = Observer(store, dict[str, str])

    def decided() -> Conducted:
        view = observer.observe(Outcomes())
        blind = UPGRADE_CONFIG in view.stale
        return Conducted(steps=() if blind else tuple(_undone(view)), now=clock.now())

    layer = Undoing(decide=decided, act=Actor(client).act, left=lambda _: False)
    changes, _ = undo_until_clean(layer, store, say)
    return Undone(changes)


def _undone(view: View) -> Iterator[Step]:
    """Everything at once: whoever is deleted gives back what it has before it goes."""
    yield from ending.orphans(view)
    upgrade = view.upgrade
    if upgrade is not None and FINALIZER in upgrade.metadata.finalizers:
        yield SetFinalizer(upgrade.metadata.uid, False)


def _is_over(live: dict[str, Any]) -> bool:
    """Whether no operator begins anything for it."""
    status: dict[str, Any] = live.get("status") or {}
    upgraded = status.get("phase") == UpgradePhase.UPGRADED
    return bool(live["spec"].get("abort") or live["metadata"].get("deletionTimestamp") or upgraded)


def _aborted(client: Client, say: Callable[[str], None]) -> Iterator[Barrier]:
    try:
        live = client.get(UPGRADE_CONFIG, UPGRADE)
    except NotFound:
        return
    if _is_over(live):
        return
    try:
        written = client.patch(
            UPGRADE_CONFIG, UPGRADE, {"spec": {"abort": True}}, uid=live["metadata"]["uid"]
        )
    except KubeError as error:
        raise UndoError(f"the upgrade cannot be aborted: {error}", "an operator would begin again") from error
    say("the upgrade is aborted, so that no operator begins again")
    yield from (written.barrier,) if written.barrier else ()
