"""Pools on their way, act by act: what a user asks for, what somebody takes away."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.crash import suite

Json = dict[str, Any]
POOL = "burst"


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """What is done at its beginning, and what is true at its end."""

    spec: Json = msgspec.field(default_factory=dict[str, Any])
    """What a user writes into the MachinePool."""
    lose: tuple[str, ...] = ()
    """What somebody deletes: `Node/burst-1`, `Machine/burst-1`."""
    reason: str = "Complete"
    """Of the condition Ready, in the end."""
    ready: str = ""
    """What the pool says of how many are ready."""
    without: tuple[str, ...] = ()
    """What is not there in the end, of that which was lost; the rest is there again."""


class Scenario(suite.Scenario, frozen=True, kw_only=True):
    """One way of a pool."""

    acts: tuple[Act, ...]
    replicas: int = 2


ALL: tuple[Scenario, ...] = (
    Scenario(
        name="grow",
        acts=(
            Act(ready="2/2"),
            Act(spec={"replicas": 4}, ready="4/4"),
        ),
    ),
    Scenario(
        name="lost",
        acts=(
            Act(ready="2/2"),
            Act(lose=("Node/burst-0",), ready="2/2"),
            Act(lose=("Machine/burst-1",), ready="2/2"),
            Act(lose=("Machine/burst-0", "Node/burst-0"), ready="2/2"),
        ),
    ),
    Scenario(
        name="fewer",
        replicas=3,
        acts=(
            Act(ready="3/3"),
            Act(spec={"replicas": 2}, reason="RemovalNotDone", ready="2/2"),
            Act(lose=("Node/burst-2",), reason="RemovalNotDone", ready="2/2", without=("Node/burst-2",)),
            Act(spec={"joinTimeout": "11m"}, reason="RemovalNotDone", ready="2/2"),
            Act(lose=("Machine/burst-2",), ready="2/2", without=("Machine/burst-2",)),
        ),
    ),
)
