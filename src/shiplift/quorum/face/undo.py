"""Undo everything of this layer in a cluster, without the operator.

Each service is paused first, so that an operator that comes back begins nothing. StatefulSets whose servers
have not begun to switch are put back to what they were. Once a server runs the new version, or a pod was made
of the new image, there is no way back: such a swap is named, and stays for an operator to finish. What the
status of a service has of its StatefulSets goes before their marks do: an operator that comes back would
write them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from shiplift.api.quorum import Swapping
from shiplift.face.parts import Undone
from shiplift.facts.kinds import POD, QUORUM_SERVICE, STATEFUL_SET
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import KubeError
from shiplift.kube.finalizers import finalizer_edit
from shiplift.kube.store import Store
from shiplift.kube.undoing import UndoError
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.names import FINALIZER, Record
from shiplift.quorum.records import in_status, known
from shiplift.quorum.steps import PutBack

Json = dict[str, Any]
_SWITCHED = ("New", "Recreated")


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:  # noqa: ARG001 - all is live
    """How many changes it took."""
    changes = stays = 0
    try:
        for service in list(client.list(QUORUM_SERVICE)):
            changed, stayed = _undone(client, service, say)
            changes, stays = changes + changed, stays + stayed
    except KubeError as error:
        raise UndoError(f"quorum services: {error}", "what was not undone yet can be undone again") from error
    return Undone(changes, stays)


def _undone(client: Client, service: Json, say: Callable[[str], None]) -> tuple[int, int]:
    about = service["metadata"]
    space, name = about["namespace"], about["name"]
    recorded = _in_status(service)
    found = ((live, known(name, live, recorded)) for live in client.list(STATEFUL_SET, space))
    marked = [(live, record) for live, record in found if record is not None]
    if not marked:
        return _let_go(client, service, say), 0
    _pause(client, service, say)
    if not _can_go_back(client, service, marked):
        say(f"QuorumService {space}/{name} has switched servers: an operator has to finish its swap")
        return 0, len(marked)
    _let_status_go(client, service)
    for live, record in marked:
        uid = live["metadata"]["uid"]
        step = PutBack(live["metadata"]["name"], uid)
        outcome = Sets(client, space, name, record.container, {uid: record}).take(step)
        if not outcome.ok:
            raise UndoError(f"{step.describe()}: {outcome.message}", "try again")
        say(step.describe())
    return len(marked) + _let_go(client, service, say), 0


def _in_status(service: Json) -> dict[str, Record]:
    status: Json = service.get("status") or {}
    swapping: list[Json] = status.get("swapping") or []
    return in_status(service["metadata"]["name"], msgspec.convert(swapping, list[Swapping]))


def _let_status_go(client: Client, service: Json) -> None:
    about = service["metadata"]
    if not _in_status(service):
        return
    none = {"status": {"swapping": None}}
    client.patch(
        QUORUM_SERVICE, about["name"], none, about["namespace"], uid=about["uid"], subresource="status"
    )


def _pause(client: Client, service: Json, say: Callable[[str], None]) -> None:
    about = service["metadata"]
    if service["spec"].get("paused"):
        return
    paused = {"spec": {"paused": True}}
    client.patch(QUORUM_SERVICE, about["name"], paused, about["namespace"], uid=about["uid"])
    say(f"QuorumService {about['namespace']}/{about['name']} is paused, so that no operator begins again")


def _can_go_back(client: Client, service: Json, marked: list[tuple[Json, Record]]) -> bool:
    """By what the operator last heard of servers, and by what their pods are made of now."""
    status: Json = service.get("status") or {}
    members: list[Json] = status.get("members") or []
    if any(one["state"] in _SWITCHED for one in members) or status.get("step") == "Switch":
        return False
    images = {record.image for _, record in marked}
    pods = client.list(POD, service["metadata"]["namespace"])
    return not any(one["image"] in images for pod in pods for one in pod["spec"]["containers"])


def _let_go(client: Client, service: Json, say: Callable[[str], None]) -> int:
    about = service["metadata"]
    edit = finalizer_edit(service, FINALIZER, present=False)
    if not edit.patch:
        return 0
    space, name = about["namespace"], about["name"]
    client.patch(QUORUM_SERVICE, name, edit.patch, space, type=PatchType.JSON, uid=about["uid"])
    say(f"take our finalizer off QuorumService {space}/{name}")
    return 1
