"""One node cordoned for a drain, and put back as it was found. I/O.

A node that was cordoned before stays so. One that a NodeRollout has marked as its own meanwhile stays
cordoned until that gives it back: it is told that this drain holds it no more.
"""

from __future__ import annotations

from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY
from shiplift.facts.kinds import NODE
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, KubeError, NotFound
from shiplift.kube.outcomes import Json, uid_of, version_of

_TRIES = 10
"""The status of a node is written all the time."""


class Cordon:
    """The cordon of one node; `ours` where it is, or may be, this drain's."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._uid = ""
        self.ours = False
        self.rollout = ""
        """The NodeRollout whose cordon it is."""

    def take(self) -> None:
        """Cordon the node, unless it is."""
        for _ in range(_TRIES):
            live = self._client.get(NODE, self._name)
            if is_cordoned(live):
                self.rollout = cordoned_by(live)
                return None
            self._uid, self.ours = uid_of(live), True  # before it is sent: an answer may be lost
            try:
                return self._patch(live, True)
            except Conflict:
                self.ours = False
        raise self._restless()

    def put_back(self) -> str:
        """Undo the cordon where it is ours; what there is to tell of the node then, if anything."""
        if not self.ours:
            return ""
        for _ in range(_TRIES):
            try:
                live = self._client.get(NODE, self._name)
                if uid_of(live) != self._uid or not is_cordoned(live):
                    return ""
                return self._left(live)
            except Conflict:
                continue
            except NotFound:
                return ""
        raise self._restless()

    def _left(self, live: Json) -> str:
        rollout = cordoned_by(live)
        if not rollout:
            self._patch(live, None)
            return f"{self._name} is uncordoned again, as it was found"
        if _note(live, CORDONED_BEFORE) == "true":
            self._write(live, {"metadata": {"annotations": {CORDONED_BEFORE: "false"}}})
        return f"{self._name} stays cordoned until NodeRollout {rollout} gives it back"

    def _restless(self) -> KubeError:
        return KubeError(f"node {self._name} changes all the time", hint="try again")

    def _patch(self, live: Json, unschedulable: bool | None) -> None:
        self._write(live, {"spec": {"unschedulable": unschedulable}})

    def _write(self, live: Json, patch: Json) -> None:
        uid, version = uid_of(live), version_of(live)
        self._client.patch(NODE, self._name, patch, uid=uid, resource_version=version)


def is_cordoned(live: Json) -> bool:
    return bool(live["spec"].get("unschedulable"))


def cordoned_by(live: Json) -> str:
    """The NodeRollout that has cordoned it, if one has."""
    return _note(live, CORDONED_BY)


def _note(live: Json, key: str) -> str:
    annotations: Json = live["metadata"].get("annotations") or {}
    return annotations.get(key, "")
