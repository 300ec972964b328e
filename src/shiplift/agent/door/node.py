"""An agent's door to its Node: it reads it, writes annotations of it, and hears when it changes.

Which Node that is, is asked of the API server: it knows from the certificate which node this is. All reads
are of what is stored at that moment, so none is older than a write that was answered.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from shiplift.agent import patience
from shiplift.agent.door.connection import Answer, Connection, RefusedError
from shiplift.agent.errors import AgentError
from shiplift.agent.model import Seen, Write

FIELD_MANAGER = "node-agent"
_USER = re.compile(r"system:node:([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)")
_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_PATCH = "application/merge-patch+json"
_log = logging.getLogger(__name__)


class NodeDoor:
    """With the kubeconfig of the machine's kubelet; `chance` is from 0 to 1."""

    def __init__(self, kubeconfig: Path, chance: Callable[[], float] = random.random) -> None:
        self._connection, self._chance = Connection(kubeconfig), chance
        self._name = ""
        self._uid = ""
        self._version = ""
        """The version of the Node that was seen or written last."""
        self._unheard = 0
        """How often in a row it could not be listened to."""
        self._said = ""

    def read(self) -> Seen | None:
        self._version = ""
        try:
            answer = self._connection.ask("GET", self._path())
        except AgentError as error:
            return self._tell(str(error))
        if answer.status != 200:
            # the certificate may be of another node by now
            self._name = ""
            return self._tell(f"the Node was not given: {answer.status} {answer.message}")
        self._said = ""
        return self._seen(answer.body)

    def write(self, write: Write) -> bool:
        guards = {"uid": self._uid, "resourceVersion": write.resource_version}
        change = {"metadata": guards | {"annotations": dict(write.annotations)}}
        try:
            answer = self._connection.ask(
                "PATCH", f"{self._path()}?fieldManager={FIELD_MANAGER}", change, _PATCH
            )
        except AgentError as error:
            self._tell(str(error))
            return False
        if answer.status != 200:
            if answer.status != 409:
                self._tell(f"the Node was not written: {answer.status} {answer.message}")
            return False
        self._version = str(answer.body["metadata"]["resourceVersion"])
        return True

    def wait(self, seconds: float) -> None:
        """Until the Node is another than was seen last, or so many seconds have passed; not so many where it
        cannot be listened to: changes are then found by looking, ever less often."""
        began = time.monotonic()
        if self._version and seconds >= 1:
            try:
                came = self._connection.wait(self._watch(seconds), seconds)
            except AgentError as error:
                time.sleep(self._until_next_look(error, seconds))
                return
            self._unheard = 0
            if came:
                return
        time.sleep(max(0.0, began + seconds - time.monotonic()))

    def _until_next_look(self, error: AgentError, seconds: float) -> float:
        """Seconds, where nothing can be heard for that reason."""
        self._unheard += 1
        if self._unheard == 1:
            self._tell(str(error))
        asked = error.again if isinstance(error, RefusedError) else 0.0
        return max(min(patience.pause(self._unheard, self._chance()), seconds), asked)

    def _watch(self, seconds: float) -> str:
        return (
            f"/api/v1/nodes?watch=1&fieldSelector=metadata.name%3D{quote(self._name)}"
            f"&resourceVersion={quote(self._version)}&timeoutSeconds={seconds:.0f}"
        )

    def close(self) -> None:
        self._connection.close()

    def _path(self) -> str:
        self._name = self._name or self._asked_name()
        return f"/api/v1/nodes/{quote(self._name)}"

    def _asked_name(self) -> str:
        """The node that the API server takes these credentials for."""
        answer = self._connection.ask("POST", _REVIEWS, {})
        user = str(_dig(answer.body, "status", "userInfo", "username") or "")
        if answer.status not in (200, 201):
            raise AgentError(f"the API server does not say who this is: {answer.status} {answer.message}")
        found = _USER.fullmatch(user)
        if found is None:
            raise AgentError(f"the kubelet's credentials are those of {user!r}, and that is no node")
        return found[1]

    def _seen(self, body: dict[str, Any]) -> Seen | None:
        metadata: dict[str, Any] = body.get("metadata", {})
        annotations: dict[str, Any] = metadata.get("annotations") or {}
        self._uid, self._version = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
        return Seen(
            self._uid,
            self._version,
            str(_dig(body, "status", "nodeInfo", "machineID") or ""),
            _dig(body, "spec", "unschedulable") is True,
            {key: str(value) for key, value in annotations.items()},
        )

    def _tell(self, line: str) -> None:
        """Once, until it is something else."""
        if line != self._said:
            _log.warning("%s", line)
        self._said = line


def _dig(body: Any, *keys: str) -> Any:
    for key in keys:
        body = cast("dict[str, Any]", body).get(key) if isinstance(body, dict) else None
    return body


__all__ = ["Answer", "NodeDoor"]
