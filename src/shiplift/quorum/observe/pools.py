"""A StatefulSet, as it was read, in the words of this layer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiplift.api.marks import QUORUM_HOLD
from shiplift.quorum.model import Pool, Swap
from shiplift.quorum.names import SWAP, Record
from shiplift.quorum.records import written_on

Json = dict[str, Any]
_MANAGERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
"""By label or annotation: who would take a change back."""


def pool_of(live: Json, container: str, known: Record | None = None, *, recorded: bool = False) -> Pool:
    """The image is empty where there is no such container: the one that its swap began with, else the one
    that is named now. `known` is what is known of a swap, and `recorded` whether the status has it."""
    about, spec = live["metadata"], live["spec"]
    annotations: dict[str, str] = about.get("annotations") or {}
    return Pool(
        about["name"],
        about["uid"],
        _image(live, (known.container if known else container, container)),
        spec["updateStrategy"]["type"] == "OnDelete",
        _swap(live, known, recorded),
        _owner(about),
        spec.get("replicas", 1),
        _revision(live),
        annotations.get(QUORUM_HOLD, ""),
    )


def _image(live: Json, names: Sequence[str]) -> str:
    containers: list[Json] = live["spec"]["template"]["spec"]["containers"]
    images = {one["name"]: one["image"] for one in containers}
    return next((images[name] for name in names if name in images), "")


def _revision(live: Json) -> str:
    status: Json = live.get("status") or {}
    seen = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    return status.get("updateRevision", "") if seen else ""


def _swap(live: Json, known: Record | None, recorded: bool) -> Swap | None:
    annotations: dict[str, str] = live["metadata"].get("annotations") or {}
    held = QUORUM_HOLD in annotations
    written = written_on(live)
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
        recorded=recorded,
        container=record.container,
        strategy=record.before.strategy,
    )


def _owner(about: Json) -> str:
    owners: list[Json] = about.get("ownerReferences") or []
    for owner in owners:
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    marks: dict[str, str] = {**(about.get("labels") or {}), **(about.get("annotations") or {})}
    return next((who for key, who in _MANAGERS.items() if key in marks), "")
