"""Rollouts as programs read them (`shiplift status -o json`): a shape that is documented and only grows.

Names are those of the NodeRollout where it has them. Times are seconds, from now or until now.
"""

from __future__ import annotations

from typing import Any

from shiplift.nodes.face.rollouts import NodeLine, RolloutsView, RolloutView
from shiplift.view.values import Eta

Data = dict[str, Any]


def rollouts_data(view: RolloutsView) -> Data:
    arrival = view.arrival.name.title().replace("_", "")
    return {"arrival": arrival, "stalled": view.stalled, "rollouts": [_rollout(one) for one in view.rollouts]}


def _rollout(view: RolloutView) -> Data:
    return {
        "name": view.name,
        "wanted": view.wanted,
        "phase": view.phase,
        "runningPass": view.running_pass,
        "path": list(view.path),
        "pools": list(view.pools),
        "message": view.message,
        "stalled": view.stalled,
        "nodes": {"done": view.nodes.done, "total": view.nodes.total},
        "unavailable": view.unavailable,
        "failures": view.failures,
        "elapsedSeconds": view.seconds,
        "nextWindowSeconds": view.window,
        "eta": _eta(view.eta) if view.eta else None,
        "waiting": [_line(one) for one in view.lines],
        "hints": list(view.hints),
    }


def _eta(eta: Eta) -> Data:
    return {"likelySeconds": eta.likely, "earliestSeconds": eta.earliest, "latestSeconds": eta.latest}


def _line(one: NodeLine) -> Data:
    return {
        "name": one.name,
        "state": one.state.value,
        "reason": one.reason,
        "message": one.message,
        "forSeconds": one.seconds,
        "blockers": list(one.blockers),
    }
