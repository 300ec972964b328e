"""What of a rollout's status is told at once, and what whenever it costs little."""

from __future__ import annotations

from msgspec import structs

from shiplift.api.nodes import NodeRolloutStatus
from shiplift.api.values import Progress
from shiplift.engine.progress import Weight


def _essence(status: NodeRolloutStatus) -> NodeRolloutStatus:
    """All that a decision may depend on: whatever is not mere words and counts."""
    return structs.replace(
        status,
        message="",
        eta=None,
        progress=Progress(),
        unavailable=0,
        conditions=tuple(structs.replace(one, message="") for one in status.conditions),
        nodes=tuple(structs.replace(one, message="", blockers=()) for one in status.nodes),
    )


WEIGHT = Weight(_essence, ("message", "eta", "progress", "unavailable"))
