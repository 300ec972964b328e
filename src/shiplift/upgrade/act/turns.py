"""The hook that tells somebody else whose turn it is: its Job is made, then that it was is noted on the
UpgradeConfig. Its name is fixed for each turn, so that nobody is told twice; when it has ended it goes after
an hour, and with the UpgradeConfig at the latest."""

from __future__ import annotations

from typing import cast

import msgspec

from shiplift import api
from shiplift.api.marks import TURN_TOLD, UPGRADE_UID
from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import JOB, UPGRADE_CONFIG
from shiplift.kube import hook_jobs
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, Forbidden
from shiplift.kube.outcomes import Json
from shiplift.upgrade.act import asked
from shiplift.upgrade.names import UPGRADE
from shiplift.upgrade.steps import ForgetTurn, TellTurn

TURN, TARGET, POOLS = "SHIPLIFT_TURN", "SHIPLIFT_TARGET", "SHIPLIFT_POOLS"
_KEPT_SECONDS = 3600


def tell(client: Client, step: TellTurn) -> Outcome:
    """A Job that has ended is gone after a while: of a turn that was told only the note is made again."""
    return _note(client, step, step.job) if step.told else _told(client, step)


def _told(client: Client, step: TellTurn) -> Outcome:
    live = client.get(UPGRADE_CONFIG, UPGRADE)
    if (why := asked.no_more(live, step, step.uid, step.generation)) is not None:
        return why
    hook = cast("UpgradeConfig", api.decode(UPGRADE_CONFIG, msgspec.json.encode(live))).spec.turn_hook
    if hook is None or hook.namespace != step.namespace:
        return Outcome.failed(step, "spec.turnHook of the UpgradeConfig is another one by now")
    told = {TURN: step.of, TARGET: step.target, POOLS: ",".join(step.pools)}
    about = {"name": step.job, "namespace": step.namespace}
    body = hook_jobs.job(hook, about, told, labels={UPGRADE_UID: step.uid}, owner=_owner(step.uid))
    body["spec"]["ttlSecondsAfterFinished"] = _KEPT_SECONDS
    try:
        client.create(JOB, body, step.namespace)
    except AlreadyExists:
        if (why := _of_somebody_else(client, step)) is not None:
            return why
    except Forbidden as error:
        return hook_jobs.forbidden(step, error, step.namespace)
    return _note(client, step, step.job)


def forget(client: Client, step: ForgetTurn) -> Outcome:
    return _note(client, step, None)


def _of_somebody_else(client: Client, step: TellTurn) -> Outcome | None:
    labels: Json = client.get(JOB, step.job, step.namespace)["metadata"].get("labels") or {}
    if labels.get(UPGRADE_UID) == step.uid:
        return None
    named = f"Job {step.namespace}/{step.job}"
    return Outcome.failed(step, f"{named} is somebody else's (hint: delete or rename it)")


def _note(client: Client, step: TellTurn | ForgetTurn, job: str | None) -> Outcome:
    subject = Subject(UPGRADE_CONFIG, UPGRADE, "", step.uid, "upgrade")
    noted = Edit({"metadata": {"annotations": {TURN_TOLD: job}}})
    return change(client, step, subject, lambda _: noted)


def _owner(uid: str) -> Json:
    about = {"apiVersion": UPGRADE_CONFIG.api_version, "kind": UPGRADE_CONFIG.kind}
    return {**about, "name": UPGRADE, "uid": uid}
