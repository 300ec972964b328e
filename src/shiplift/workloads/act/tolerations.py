"""The toleration that lets a pod onto the target nodes in mode Template, as the API writes it."""

from __future__ import annotations

from shiplift.api.marks import UPGRADE_TAINT, label_value
from shiplift.kube.outcomes import Json


def toleration(target: str) -> Json:
    """What lets a pod onto the target nodes."""
    return {
        "key": UPGRADE_TAINT,
        "operator": "Equal",
        "value": label_value(target),
        "effect": "NoSchedule",
    }


def is_ours(one: Json, *, keeps: str = "") -> bool:
    """A toleration as we write it; a user's own for the same taint stays, also the one for the target
    `keeps`, which is written as ours."""
    ours = (one.get("key"), one.get("operator", "Equal"), one.get("effect")) == (
        UPGRADE_TAINT,
        "Equal",
        "NoSchedule",
    )
    return ours and not (keeps and one.get("value") == label_value(keeps))
