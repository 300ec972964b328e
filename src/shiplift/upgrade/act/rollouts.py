"""Steps on NodeRollouts that were made for an upgrade; those of others are never touched."""

from __future__ import annotations

from shiplift.api.marks import MANAGED_BY, MANAGER, UPGRADE_UID
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import done
from shiplift.upgrade.act.marking import marked
from shiplift.upgrade.steps import DeleteRollout, HoldRollout, MakeRollout


def take(client: Client, step: MakeRollout | DeleteRollout | HoldRollout) -> Outcome:
    match step:
        case MakeRollout():
            labels = {MANAGED_BY: MANAGER, UPGRADE_UID: step.upgrade}
            body = {"metadata": {"name": step.name, "labels": labels}, "spec": step.spec}
            return done(step, client.create(NODE_ROLLOUT, body))
        case DeleteRollout():
            return done(
                step, client.delete(NODE_ROLLOUT, step.name, uid=step.uid, resource_version=step.version)
            )
        case HoldRollout():
            subject = Subject(NODE_ROLLOUT, step.name, "", step.uid, "rollout")
            return change(client, step, subject, lambda live: marked(live, step.why))
