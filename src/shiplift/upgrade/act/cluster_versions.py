"""Steps on OpenShift's ClusterVersion: its channel, and the release that is wanted; nothing else of it is
changed."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts.kinds import CLUSTER_VERSION, UPGRADE_CONFIG
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json
from shiplift.upgrade.act import asked
from shiplift.upgrade.names import CLUSTER_VERSION_NAME, UPGRADE
from shiplift.upgrade.steps import SetChannel, SetUpdate


def take(client: Client, step: SetChannel | SetUpdate) -> Outcome:
    if isinstance(step, SetUpdate):
        upgrade = client.get(UPGRADE_CONFIG, UPGRADE)
        if (why := asked.no_more(upgrade, step, step.upgrade, step.generation)) is not None:
            return why
    subject = Subject(CLUSTER_VERSION, CLUSTER_VERSION_NAME, "", step.uid, "ClusterVersion")
    return change(client, step, subject, lambda live: _edit(live, step))


def _edit(live: Json, step: SetChannel | SetUpdate) -> Edit:
    spec: Json = live.get("spec") or {}
    if isinstance(step, SetChannel):
        return Edit({} if spec.get("channel") == step.channel else {"spec": {"channel": step.channel}})
    wanted: Json = spec.get("desiredUpdate") or {}
    if wanted.get("version") == step.version:
        return Edit({})
    # an image, or force, that somebody set for another release is not for this one
    return Edit({"spec": {"desiredUpdate": {"version": step.version, "image": None, "force": None}}})
