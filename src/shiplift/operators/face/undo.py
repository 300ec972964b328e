"""Undo everything of this layer in a cluster, without the operator: what is installed goes on running.

AppTypes are paused, so that no operator begins again, and our finalizers go: whoever deletes an AppType then
need not wait for us, and the garbage collector takes what refers to its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Step
from shiplift.face.parts import Undone
from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.finalizers import finalizer_edit
from shiplift.kube.outcomes import refusal
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.operators.names import FINALIZER
from shiplift.operators.rows import app_of
from shiplift.operators.steps import SetFinalizer


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    """How many changes it took; AppTypes stay, and are named."""
    paused = list(_paused(client, store, say))
    store.wait_settled(paused, SETTLE_SECONDS)
    layer = Undoing(
        decide=lambda: Decision(tuple(_finalizers(store))), act=lambda step: _act(client, step), left=_nothing
    )
    changes, _ = undo_until_clean(layer, store, say)
    apps = sorted(
        f"{row.namespace}/{row.name}"
        for row in store.snapshot(APP_TYPE).customs(APP_TYPE)
        if not row.deleting
    )
    for name in apps:
        say(f"AppType {name} stays, paused: its operator runs on")
    return Undone(changes + len(paused), len(apps))


def _nothing(_: Decision) -> bool:
    return False


def _paused(client: Client, store: Store, say: Callable[[str], None]) -> Iterator[Barrier]:
    for row in store.snapshot(APP_TYPE).customs(APP_TYPE):
        if app_of(row).spec.paused or row.deleting:
            continue
        try:
            written = client.patch(APP_TYPE, row.name, {"spec": {"paused": True}}, row.namespace, uid=row.uid)
        except KubeError as error:
            named = f"AppType {row.namespace}/{row.name}"
            raise UndoError(f"{named} cannot be paused: {error}", "an operator would begin again") from error
        say(f"AppType {row.namespace}/{row.name} is paused, so that no operator begins again")
        yield from (written.barrier,) if written.barrier else ()


def _finalizers(store: Store) -> Iterator[Step]:
    snapshot = store.snapshot(APP_TYPE, OPERATOR_VERSION)
    for kind in (OPERATOR_VERSION, APP_TYPE):
        for row in snapshot.customs(kind):
            if FINALIZER in row.finalizers:
                yield SetFinalizer(kind, row.namespace, row.name, row.uid, present=False)


def _act(client: Client, step: Step) -> Outcome:
    if not isinstance(step, SetFinalizer):
        raise TypeError(f"{type(step).__name__} is not undone here")
    subject = Subject(step.kind, step.name, step.namespace, step.uid, step.kind.kind)
    try:
        return change(client, step, subject, lambda live: finalizer_edit(live, FINALIZER, present=False))
    except KubeError as error:
        return refusal(step, error)
