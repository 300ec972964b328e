"""What the tests of situations and of bad input have in common: a scene half-way, and looks at it."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import HOLD_LEDGER
from shiplift.facts import kinds
from shiplift.local.nodes import Pool
from tests.operated import NEW, OLD
from tests.workloads.rig import Scene

Json = dict[str, Any]
BUDGET = kinds.POD_DISRUPTION_BUDGET
HOLD = "shiplift-hold-deployment-web"


def gated(scene: Scene, replicas: int = 2) -> str:
    """`web` is held for as long as the gate is shut."""
    space = scene.namespace()
    scene.gate(space)
    scene.deployment(space, "web", replicas)
    scene.order(space, web=["gate"])
    scene.wait_ready(space, web=replicas)
    return space


def gated_and_held(scene: Scene, replicas: int = 2, **spec: Any) -> str:
    """The migration has begun, and `web`, which is held, is all that is left."""
    space = gated(scene, replicas)
    scene.begin(**spec)
    scene.wait_held(space)
    return space


def with_its_budget_held(scene: Scene, replicas: int = 2) -> str:
    """The migration has begun, and we hold the budget of `web`, which lets one pod go at a time."""
    space = gated(scene, replicas)
    scene.budget(space, "web", "web", maxUnavailable=1)
    scene.begin(hold="Always")
    scene.wait(lambda: HOLD_LEDGER in budgets(scene, space)["web"]["metadata"].get("annotations", {}))
    return space


def budgets(scene: Scene, space: str) -> dict[str, Json]:
    return {one["metadata"]["name"]: one for one in scene.client.list(BUDGET, space)}


def generation(scene: Scene, space: str, name: str) -> int:
    """1 until somebody changes the spec."""
    return scene.client.get(BUDGET, name, space)["metadata"]["generation"]


def uids(scene: Scene, space: str, app: str) -> set[str]:
    return {one["metadata"]["uid"] for one in scene.pods(space, app)}


def wait_line(scene: Scene, name: str, **said: str) -> Json:
    """The line of a workload, once it says that."""

    def found() -> Json | None:
        line = scene.line(name)
        return line if line and all(line.get(key) == value for key, value in said.items()) else None

    return scene.wait(found)


def autoscaler(scene: Scene, space: str, least: int, most: int) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most, "metrics": [cpu]}
    body = {"metadata": {"name": "web"}, "spec": spec}
    scene.client.create(kinds.HORIZONTAL_POD_AUTOSCALER, body, space)


def upgraded_in_place(scene: Scene, space: str, pool: Pool) -> bool:
    """One more look of somebody who upgrades every node on which no pod is left."""
    taken = {pod["spec"].get("nodeName") for pod in scene.pods(space)}
    found = [scene.client.get(kinds.NODE, name) for name in pool.names()]
    old = [one["metadata"]["name"] for one in found if one["status"]["nodeInfo"]["kubeletVersion"] == OLD]
    for name in old:
        if name not in taken:
            scene.rig.cluster.nodes.set_version(name, NEW)
    return not old
