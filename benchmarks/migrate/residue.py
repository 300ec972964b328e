"""What a contender has left in the cluster that was not there before."""

from __future__ import annotations

from benchmarks.migrate.scene import Scene
from benchmarks.recipe.base import Json
from shiplift.facts import kinds
from shiplift.kube.client import Client

_OURS = "shiplift.dev/"


def count(scene: Scene) -> int:
    """Marks of ours on nodes, placements, budgets that are not the plan's, tolerations in templates."""
    with scene.rig.cluster.client() as client:
        return (
            sum(_node_marks(node) for node in client.list(kinds.NODE))
            + sum(1 for _ in client.list(kinds.WORKLOAD_PLACEMENT))
            + _foreign_budgets(client, scene)
            + sum(_tolerates(one) for kind in _OWNERS for one in client.list(kind))
        )


_OWNERS = (kinds.DEPLOYMENT, kinds.STATEFUL_SET)


def _node_marks(node: Json) -> int:
    labels = [key for key in node["metadata"].get("labels", {}) if key.startswith(_OURS)]
    taints = [one for one in node["spec"].get("taints", []) if one["key"].startswith(_OURS)]
    return len(labels) + len(taints)


def _foreign_budgets(client: Client, scene: Scene) -> int:
    """Those that the plan does not have, or that are not as the plan has them."""
    planned = {one.name for one in scene.workloads if one.budget}
    found = list(client.list(kinds.POD_DISRUPTION_BUDGET))
    return sum(one["metadata"]["name"] not in planned or _held(one) for one in found)


def _held(budget: Json) -> bool:
    marks = budget["metadata"].get("annotations", {})
    return any(key.startswith(_OURS) for key in marks) or budget["spec"].get("maxUnavailable") == 0


def _tolerates(owner: Json) -> bool:
    tolerations = owner["spec"]["template"]["spec"].get("tolerations", [])
    return any(one.get("key", "").startswith(_OURS) for one in tolerations)
