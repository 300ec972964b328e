"""A StatefulSet, as it was read, in the words of this layer. Pure."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import QUORUM_HOLD
from shiplift.quorum.model import Pool, Swap
from shiplift.quorum.names import SWAP, Record

Json = dict[str, Any]
_MANAGERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
"""By label or annotation: who would take a change back."""


def record_of(live: Json) -> Record | None:
    """What is written on it of a swap; None where nothing is that can be read."""
    annotations: dict[str, str] = live["metadata"].get("annotations") or {}
    text = annotations.get(SWAP)
    return None if text is None else Record.read(text)


def pool_of(live: Json, container: str, known: Record | None = None) -> Pool:
    """The image is empty where there is no such container. `known` is what was written on it, as far as we
    remember."""
    about, spec = live["metadata"], live["spec"]
    containers: list[Json] = spec["template"]["spec"]["containers"]
    images = (one["image"] for one in containers if one["name"] == container)
    return Pool(
        about["name"],
        about["uid"],
        next(images, ""),
        spec["updateStrategy"]["type"] == "OnDelete",
        _swap(live, known),
        _owner(about),
        spec.get("replicas", 1),
        _revision(live),
    )


def _revision(live: Json) -> str:
    status: Json = live.get("status") or {}
    seen = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    return status.get("updateRevision", "") if seen else ""


def _swap(live: Json, known: Record | None) -> Swap | None:
    annotations: dict[str, str] = live["metadata"].get("annotations") or {}
    held = QUORUM_HOLD in annotations
    written = record_of(live)
    record = written or known
    if record is None and SWAP in annotations:
        # somebody else wrote on it: a service of no name, whom nobody is
        return Swap("", "", "", "", held=held)
    if record is None:
        return None
    return Swap(
        record.service,
        record.target,
        record.image,
        record.before.image,
        held=held,
        recreate=record.recreate,
        marked=written is not None,
    )


def _owner(about: Json) -> str:
    owners: list[Json] = about.get("ownerReferences") or []
    for owner in owners:
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    marks: dict[str, str] = {**(about.get("labels") or {}), **(about.get("annotations") or {})}
    return next((who for key, who in _MANAGERS.items() if key in marks), "")
