"""Our finalizer on an object, put on or taken off; those of others stay where they are."""

from __future__ import annotations

from shiplift.kube.changing import Edit
from shiplift.kube.outcomes import Json

_PATH = "/metadata/finalizers"


def finalizer_edit(live: Json, finalizer: str, *, present: bool) -> Edit:
    """What makes the object have it, or not have it; nothing where that is so."""
    have: list[str] = live["metadata"].get("finalizers") or []
    if (finalizer in have) == present:
        return Edit([])
    if present:
        added = {"path": f"{_PATH}/-", "value": finalizer} if have else {"path": _PATH, "value": [finalizer]}
        return Edit([{"op": "add", **added}])
    place = f"{_PATH}/{have.index(finalizer)}"
    return Edit([{"op": "test", "path": place, "value": finalizer}, {"op": "remove", "path": place}])
