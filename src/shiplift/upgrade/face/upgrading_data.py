"""The upgrade as programs read it (`shiplift status -o json`): a shape that is documented and only grows."""

from __future__ import annotations

from typing import Any

from shiplift.upgrade.face.upgrading import UpgradeView

Data = dict[str, Any]


def upgrade_data(view: UpgradeView) -> Data:
    eta = view.eta
    return {
        "phase": view.phase,
        "from": view.came_from,
        "target": view.target,
        "message": view.message,
        "stalled": view.stalled,
        "arrival": view.arrival.name.title().replace("_", ""),
        "elapsedSeconds": view.seconds,
        "eta": {"likelySeconds": eta.likely, "earliestSeconds": eta.earliest, "latestSeconds": eta.latest}
        if eta
        else None,
        "nodes": {"done": view.nodes.done, "total": view.nodes.total},
        "steps": [{"name": name, "done": done} for name, done in view.steps],
        "findings": list(view.findings),
        "plan": view.plan,
        "planDigest": view.digest,
        "hints": list(view.hints),
    }
