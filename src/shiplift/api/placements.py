"""`WorkloadPlacement`: where new pods of one namespace go while workloads are moved."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import TEXTS, Column, Resource, Rule, Value
from shiplift.api.values import LabelValue, Status
from shiplift.facts import kinds

PLACEMENT = "shiplift"
"""The name of the one WorkloadPlacement of a namespace."""


class Turn(StrEnum):
    """Which nodes the new pods of a workload may go to."""

    HELD = "Held"
    RELEASED = "Released"


_TURNS: type[dict[str, Turn]] = dict


class WorkloadPlacementSpec(Value, frozen=True, kw_only=True):
    """Where new pods of a namespace go while a migration runs."""

    target: LabelValue
    """The version that is moved to, as a label value."""
    turns: Annotated[dict[str, Turn], Meta(max_length=5000)] = field(default_factory=_TURNS)
    """By owner (`Deployment.web`): held pods keep off the target nodes, released ones go nowhere else."""
    ledger: Annotated[dict[str, Annotated[str, Meta(max_length=32768)]], Meta(max_length=5000)] = field(
        default_factory=TEXTS
    )
    """By owner: what was changed on it, so that it can be undone."""


class WorkloadPlacementStatus(Status, frozen=True, kw_only=True):
    """Nothing is reported here: the WorkloadMigration says how far things are."""


class WorkloadPlacement(Resource, frozen=True, kw_only=True):
    """Tells the API server where the new pods of one namespace go while workloads are moved.
    Made and removed by shiplift; there is one in each namespace, named `shiplift`."""

    KIND = kinds.WORKLOAD_PLACEMENT
    SHORT_NAMES = ("wp",)
    TELLS_READY = False
    COLUMNS = (Column("Target", ".spec.target"),)
    RULES = (
        Rule(
            f"self.metadata.name == '{PLACEMENT}'",
            f"metadata.name must be '{PLACEMENT}': there is one in each namespace",
        ),
    )

    spec: WorkloadPlacementSpec
    """Where new pods go."""
    status: WorkloadPlacementStatus = WorkloadPlacementStatus()
    """Not used."""
