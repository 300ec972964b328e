"""Our finalizer on the WorkloadMigration: it is there for as long as something of ours may be in the cluster.

It is put on before anything is changed, and on migrations of releases that had none; it goes when all is
undone. What keeps it from being put on (a right that is missing) keeps nothing from moving, and is told.
"""

from __future__ import annotations

from shiplift.workloads.model import View
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.steps import SetFinalizer


def put_on(view: View) -> tuple[SetFinalizer, ...]:
    """What puts it on; nothing where it is on, or too late for it."""
    about = view.migration.metadata if view.migration else None
    if about is None or FINALIZER in about.finalizers or about.deletion_timestamp is not None:
        return ()
    return (SetFinalizer(about.uid, present=True),)


def take_off(view: View) -> tuple[SetFinalizer, ...]:
    """What takes it off; nothing where it is off."""
    about = view.migration.metadata if view.migration else None
    if about is None or FINALIZER not in about.finalizers:
        return ()
    return (SetFinalizer(about.uid, present=False),)
