"""Steps on NodeRollouts that were made for an upgrade; those of others are never touched."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done
from shiplift.upgrade.act.marking import made_for, marked
from shiplift.upgrade.steps import AimRollout, DeleteRollout, HoldRollout, MakeRollout, SetRollout

RolloutStep = MakeRollout | DeleteRollout | HoldRollout | SetRollout | AimRollout


def take(client: Client, step: RolloutStep) -> Outcome:
    match step:
        case MakeRollout():
            body = {"metadata": {"name": step.name, **made_for(step.upgrade)}, "spec": step.spec}
            return done(step, client.create(NODE_ROLLOUT, body))
        case DeleteRollout():
            return done(
                step, client.delete(NODE_ROLLOUT, step.name, uid=step.uid, resource_version=step.version)
            )
        case HoldRollout():
            return change(client, step, _subject(step), lambda live: marked(live, step.why))
        case SetRollout() | AimRollout():
            return change(client, step, _subject(step), lambda live: edit(live, step.settings))


def _subject(step: HoldRollout | SetRollout | AimRollout) -> Subject:
    return Subject(NODE_ROLLOUT, step.name, "", step.uid, "rollout")


def edit(live: Json, settings: Json) -> Edit:
    """Each field is replaced whole: of one that has fields of its own nothing from before may stay."""
    have: Json = live["spec"]
    operations: list[Json] = []
    for name, value in settings.items():
        if value is not None and have.get(name) != value:
            operations.append({"op": "add", "path": f"/spec/{name}", "value": value})
        elif value is None and name in have:
            operations.append({"op": "remove", "path": f"/spec/{name}"})
    return Edit(operations)
