"""Steps on pods of a node that is drained: each ends that very pod, by uid, or lets its budget count one that
is there."""

from __future__ import annotations

from shiplift.drain.forgetting import forget
from shiplift.drain.steps import ForgetEviction
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import POD
from shiplift.kube.client import Client, Written
from shiplift.kube.ending import ended
from shiplift.nodes.steps import Evict, Force


def take(client: Client, step: Evict | ForgetEviction) -> Outcome:
    """Evicted, which its budget may refuse; forced, deleted in the version that was seen."""
    if isinstance(step, ForgetEviction):
        return forget(client, step)
    return ended(step, step.uid, lambda: _send(client, step))


def _send(client: Client, step: Evict) -> Written:
    if not isinstance(step, Force):
        return client.evict(step.name, step.namespace, uid=step.uid, grace=step.grace)
    version = str(step.version)
    return client.delete(
        POD, step.name, step.namespace, uid=step.uid, resource_version=version, grace=step.grace
    )
