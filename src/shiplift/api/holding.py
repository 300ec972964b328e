"""What the conductor holds, as its own layer goes by it: the mark counts as a pause, and `paused` stays what
its user has made it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.api.nodes import NodeRollout
from shiplift.api.workloads import WorkloadMigration

R = TypeVar("R", NodeRollout, WorkloadMigration)


def as_held(one: R) -> R:
    """The object as its layer should take it."""
    if UPGRADE_HOLD not in one.metadata.annotations or one.spec.paused:
        return one
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, paused=True))
