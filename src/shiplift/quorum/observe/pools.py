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


def pool_of(live: Json, container: str) -> Pool:
    """The image is empty where there is no such container."""
    about, spec = live["metadata"], live["spec"]
    containers: list[Json] = spec["template"]["spec"]["containers"]
    images = (one["image"] for one in containers if one["name"] == container)
    return Pool(
        about["name"],
        about["uid"],
        next(images, ""),
        spec["updateStrategy"]["type"] == "OnDelete",
        _swap(about),
        _owner(about),
        spec.get("replicas", 1),
    )


def _swap(about: Json) -> Swap | None:
    annotations: dict[str, str] = about.get("annotations") or {}
    text = annotations.get(SWAP)
    if text is None:
        return None
    record = Record.read(text)
    if record is None:
        # somebody else wrote on it: a service of no name, whom nobody is
        return Swap("", "", "", "", held=QUORUM_HOLD in annotations)
    held = QUORUM_HOLD in annotations
    return Swap(
        record.service, record.target, record.image, record.before.image, held=held, recreate=record.recreate
    )


def _owner(about: Json) -> str:
    owners: list[Json] = about.get("ownerReferences") or []
    for owner in owners:
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    marks: dict[str, str] = {**(about.get("labels") or {}), **(about.get("annotations") or {})}
    return next((who for key, who in _MANAGERS.items() if key in marks), "")
