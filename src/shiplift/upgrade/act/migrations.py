"""Steps on the WorkloadMigration: one that a user made gets our target and a record of its own, in one write;
one that we made is ours alone."""

from __future__ import annotations

from shiplift.api.marks import UPGRADE_LEDGER
from shiplift.engine import ledger
from shiplift.engine.ledger import Change, Patched
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done
from shiplift.upgrade.act.marking import made_for, marked
from shiplift.upgrade.names import MIGRATION
from shiplift.upgrade.steps import (
    DeleteMigration,
    HoldMigration,
    MakeMigration,
    PutBackTarget,
    SetTarget,
)

_KIND = WORKLOAD_MIGRATION
_TARGET = "/spec/target"
MigrationStep = MakeMigration | SetTarget | PutBackTarget | HoldMigration | DeleteMigration


def take(client: Client, step: MigrationStep) -> Outcome:
    match step:
        case MakeMigration():
            body = {"metadata": {"name": MIGRATION, **made_for(step.upgrade)}, "spec": step.spec}
            return done(step, client.create(_KIND, body))
        case DeleteMigration():
            return done(step, client.delete(_KIND, MIGRATION, uid=step.uid, resource_version=step.version))
        case SetTarget():
            return change(client, step, _subject(step.uid), lambda live: _retargeted(live, step.target))
        case PutBackTarget():
            return change(client, step, _subject(step.uid), _forgotten if step.keep else _put_back)
        case HoldMigration():
            return change(client, step, _subject(step.uid), lambda live: marked(live, step.why))


def _subject(uid: str) -> Subject:
    return Subject(_KIND, MIGRATION, "", uid, "migration")


def _retargeted(live: Json, target: str) -> Edit:
    return _edit(ledger.change_in_place(live, UPGRADE_LEDGER, [Change(_TARGET, target)]))


def _put_back(live: Json) -> Edit:
    return _edit(ledger.undo_in_place(live, UPGRADE_LEDGER))


def _forgotten(live: Json) -> Edit:
    """The target stays; only the record of the one from before goes."""
    there = UPGRADE_LEDGER in (live["metadata"].get("annotations") or {})
    return Edit({"metadata": {"annotations": {UPGRADE_LEDGER: None}}} if there else {})


def _edit(patched: Patched) -> Edit:
    return Edit(patched.patch, "; ".join(one.describe() for one in patched.kept))
