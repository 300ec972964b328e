"""What is asked of the API server itself, live; where it does not answer, nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from shiplift.engine.claims import ClaimError, Claims
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.pods import Pod
from shiplift.kube import node_trust, served
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.policies import Manifest
from shiplift.kube.succession import NOBODY, Succession
from shiplift.nodes.memory import JobName
from shiplift.nodes.model import Hooked, HookState
from shiplift.nodes.observe.hooks import hooked


class Asking(NamedTuple):
    """What is asked of the API server itself, and only when it matters."""

    version: Callable[[], str]
    """The version of the server that answers; empty where none does."""
    claims: Callable[[], Claims | None]
    """On the control plane; None where they cannot be read."""
    job: Callable[[JobName], Hooked | None]
    """The Job of a hook; None where it is gone, unknown where it cannot be read."""
    is_gone: Callable[[Pod], bool | None]
    """Whether the DaemonSet that a pod names is gone; None where that cannot be told."""
    own_pod: Callable[[], str]
    """The uid of the pod that we run in; empty where we run in none."""
    may_hand_over: Callable[[], bool]
    """Whether another pod of ours may be let lead: not for a while after that was tried."""
    hands_over: Callable[[], bool]
    """Whether that is being tried: this term has not ended yet."""
    distrust: Callable[[], str]
    """Why what is on a Node may be an order that a node has given itself; empty where it is not, or where
    that cannot be read."""


def asking(client: Client, book: ClaimBook, succession: Succession = NOBODY) -> Asking:
    """All that this layer asks, through one client."""
    return Asking(
        version=partial(_version, client),
        claims=partial(_claims, book),
        job=partial(_job, client),
        is_gone=partial(_is_gone, client),
        own_pod=succession.pod,
        may_hand_over=succession.may_hand_over,
        hands_over=lambda: succession.pending,
        distrust=partial(_distrust, client),
    )


def _version(client: Client) -> str:
    try:
        return served.version(client)
    except KubeError:
        return ""


def _claims(book: ClaimBook) -> Claims | None:
    try:
        return book.open_claims()
    except (KubeError, ClaimError):
        return None


def _job(client: Client, name: JobName) -> Hooked | None:
    """One that cannot be read keeps its own node waiting, and nobody else."""
    try:
        return hooked(client.get(kinds.JOB, name[1], name[0]))
    except NotFound:
        return None
    except KubeError as error:
        return Hooked(*name, "", 0, HookState.UNKNOWN, str(error))


def _is_gone(client: Client, pod: Pod) -> bool | None:
    """Asked for as a list of one: that takes no right besides those of a watch."""
    owner = pod.controller
    if owner is None:
        return None
    try:
        found = list(
            client.list(kinds.DAEMON_SET, pod.namespace, field_selector=f"metadata.name={owner.name}")
        )
    except KubeError:
        return None
    return all(one["metadata"]["uid"] != owner.uid for one in found)


def _distrust(client: Client) -> str:
    try:
        policy, binding = (_policy(client, kind) for kind in node_trust.KINDS)
    except KubeError:
        return ""
    return node_trust.weakness(policy, binding)


def _policy(client: Client, kind: Kind) -> Manifest | None:
    try:
        return client.get(kind, node_trust.NAME)
    except NotFound:
        return None
