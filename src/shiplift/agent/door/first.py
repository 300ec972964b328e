"""An agent's door before there is a cluster: the same words as on a Node, in two files.

`orders.json` is written by whoever makes the machine part of a cluster, whole, and never by the agent;
`answers.json` by the agent alone. The machine counts as cordoned: nothing runs on it yet.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from pathlib import Path
from typing import Any, cast

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import disk
from shiplift.agent.machine.hands import BOOT_ID, MACHINE_ID
from shiplift.agent.model import Seen, Write

ORDERS, ANSWERS = "orders.json", "answers.json"
_MOST = 1 << 16
_LOOK = 0.5
_log = logging.getLogger(__name__)


class FirstDoor:
    """In a folder; it is shut as soon as there is a kubeconfig."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._said = ""

    def read(self) -> Seen | None:
        try:
            orders, answers = self._file(ORDERS), self._file(ANSWERS)
        except AgentError as error:
            if str(error) != self._said:
                _log.warning("%s", error)
            self._said = str(error)
            return None
        annotations = {**_annotations(orders), **_annotations(answers)}
        return Seen(str(orders.get("uid", "")), self._version(), disk.text(MACHINE_ID), True, annotations)

    def write(self, write: Write) -> bool:
        if write.resource_version != self._version():
            return False
        told = _annotations(self._file(ANSWERS))
        after = {**told, **write.annotations}
        body = {
            "annotations": {key: value for key, value in after.items() if value is not None},
            "machineID": disk.text(MACHINE_ID),
            "bootID": disk.text(BOOT_ID),
        }
        disk.write(self._folder / ANSWERS, json.dumps(body, sort_keys=True).encode(), 0o644)
        return True

    def wait(self, seconds: float) -> None:
        """Until there are other orders or a cluster, or so many seconds have passed."""
        before, deadline = self._version(), time.monotonic() + seconds
        while time.monotonic() < deadline and not self._kubeconfig.exists() and self._version() == before:
            time.sleep(_LOOK)

    def _version(self) -> str:
        """Another one, whenever one of the files is."""
        contents = [self._content(name) for name in (ORDERS, ANSWERS)]
        return hashlib.sha256(b"\0".join(contents)).hexdigest()

    def _content(self, name: str) -> bytes:
        try:
            return disk.read(self._folder / name, _MOST) or b""
        except AgentError as error:
            return str(error).encode()

    def _file(self, name: str) -> dict[str, Any]:
        content = disk.read(self._folder / name, _MOST)
        if content is None:
            return {}
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            raise AgentError(f"{self._folder / name} is no JSON") from None
        if not isinstance(body, dict):
            raise AgentError(f"{self._folder / name} is no JSON object")
        return cast("dict[str, Any]", body)


def _annotations(body: dict[str, Any]) -> dict[str, str]:
    found = body.get("annotations", {})
    if not isinstance(found, dict):
        return {}
    return {str(key): str(value) for key, value in cast("dict[object, object]", found).items()}
