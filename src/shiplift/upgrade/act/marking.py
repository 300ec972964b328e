"""The mark that holds an object of another layer: put on, taken off; nothing else of it is changed."""

from __future__ import annotations

from shiplift.api.marks import UPGRADE_HOLD
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
