"""Waiting for the API server to serve our CRDs."""

from __future__ import annotations

import time

from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION
from shiplift.kube.client import Client
from tests.until import Deadline

DEADLINE = 60.0


def wait_established(client: Client) -> None:
    deadline = Deadline(DEADLINE)
    waiting = {manifest["metadata"]["name"] for manifest in crd.manifests()}
    while waiting:
        assert not deadline.over, f"not established in time: {sorted(waiting)}"
        waiting = {name for name in waiting if conditions(client, name).get("Established") != "True"}
        time.sleep(0.05)


def conditions(client: Client, name: str) -> dict[str, str]:
    status = client.get(CUSTOM_RESOURCE_DEFINITION, name).get("status", {})
    return {one["type"]: one["status"] for one in status.get("conditions") or []}
