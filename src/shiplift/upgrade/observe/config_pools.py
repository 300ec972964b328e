"""OpenShift's MachineConfigPools as the conductor sees them: listed live, they have no rows. Where OpenShift
has none there is nothing to wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiplift.facts.kinds import MACHINE_CONFIG_POOL
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.upgrade.model import ConfigPool

Json = Mapping[str, Any]


def read(client: Client) -> tuple[ConfigPool, ...] | str:
    """What they say, or why nobody knows."""
    try:
        return tuple(sorted(map(seen, client.list(MACHINE_CONFIG_POOL)), key=lambda one: one.name))
    except NotFound:
        return ()
    except KubeError as error:
        return str(error)


def seen(live: Json) -> ConfigPool:
    about: Json = live["metadata"]
    spec: Json = live.get("spec") or {}
    status: Json = live.get("status") or {}
    conditions: list[Json] = status.get("conditions") or []
    said = {one.get("type"): one for one in conditions if one.get("status") == "True"}
    looked_at = int(status.get("observedGeneration") or 0) >= int(about.get("generation") or 0)
    machines = int(status.get("machineCount") or 0)
    return ConfigPool(
        about["name"],
        machines,
        int(status.get("updatedMachineCount") or 0),
        paused=spec.get("paused") is True,
        settled=looked_at and ("Updated" in said or not machines),
        degraded=_message(said.get("Degraded")),
    )


def _message(condition: Json | None) -> str:
    if condition is None:
        return ""
    return str(condition.get("message") or condition.get("reason") or "it is degraded")[:1000]
