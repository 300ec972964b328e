"""Our marks on an object of another layer: the one that holds it, put on or taken off, and those by which we
know what we have made; nothing else of it is changed."""

from __future__ import annotations

from shiplift.api.marks import MANAGED_BY, MANAGER, UPGRADE_HOLD, UPGRADE_UID
from shiplift.kube.changing import Edit
from shiplift.kube.outcomes import Json


def marked(live: Json, why: str) -> Edit:
    """What makes the mark say `why`, or be gone where that is empty; nothing where it is so."""
    notes: Json = live["metadata"].get("annotations") or {}
    return Edit(
        {}
        if notes.get(UPGRADE_HOLD, "") == why
        else {"metadata": {"annotations": {UPGRADE_HOLD: why or None}}}
    )


def made_for(upgrade: str) -> Json:
    """The metadata by which we know what was made for an UpgradeConfig."""
    return {"labels": {MANAGED_BY: MANAGER, UPGRADE_UID: upgrade}, "annotations": {UPGRADE_UID: upgrade}}


def ours(live: Json, upgrade: str) -> Edit:
    """What puts these marks back; nothing where all are there."""
    about: Json = live["metadata"]
    labels: Json = about.get("labels") or {}
    notes: Json = about.get("annotations") or {}
    there = labels.get(UPGRADE_UID) == notes.get(UPGRADE_UID) == upgrade
    return Edit({} if there else {"metadata": made_for(upgrade)})
