"""Quorum services as programs read them (`shiplift status -o json`): a shape that only grows.

Names are those of the QuorumService where it has them. Times are seconds until now.
"""

from __future__ import annotations

from typing import Any

from shiplift.quorum.face.services import ServicesView, ServiceView

Data = dict[str, Any]


def services_data(view: ServicesView) -> Data:
    arrival = view.arrival.name.title().replace("_", "")
    return {"arrival": arrival, "stalled": view.stalled, "services": [_service(one) for one in view.services]}


def _service(view: ServiceView) -> Data:
    return {
        "namespace": view.namespace,
        "name": view.name,
        "step": view.step,
        "reason": view.reason,
        "message": view.message,
        "stalled": view.stalled,
        "currentVersion": view.current,
        "targetVersion": view.target,
        "image": view.image,
        "imageVerified": view.verified,
        "servers": {"done": view.servers.done, "total": view.servers.total},
        "members": [
            {"pod": one.pod, "state": one.state.value, "version": one.version, "message": one.message}
            for one in view.lines
        ],
        "switchedSecondsAgo": view.switched,
        "hints": list(view.hints),
    }
