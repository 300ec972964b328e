"""`WorkloadOrder`: which workloads wait for which."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from shiplift.api.base import Column, Resource, Rule, Value
from shiplift.api.values import Count, Line, Name, Status, keyed, ordered
from shiplift.api.workloads import Edge, WorkloadKind
from shiplift.facts import kinds


class WorkloadRef(Value, frozen=True, kw_only=True):
    """A workload, by name."""

    kind: WorkloadKind
    """The kind of the workload."""
    name: Name
    """Its name."""
    namespace: Annotated[str, Meta(max_length=63, pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$")] = ""
    """Its namespace; empty means that of the WorkloadOrder."""


class OrderedWorkload(WorkloadRef, frozen=True, kw_only=True):
    """A workload of the WorkloadOrder's own namespace, and what must have moved before it, anywhere.
    What is said of a workload of another namespace is named in the condition and does not count."""

    RULES = (
        Rule(
            "!has(self.dependsOn) || !self.dependsOn.exists(other, other.kind == self.kind"
            " && other.name == self.name && other.__namespace__ == self.__namespace__)",
            "a workload cannot depend on itself",
        ),
    )

    depends_on: Annotated[tuple[WorkloadRef, ...], keyed("kind", "namespace", "name", most=64)] = ()
    """What must have moved before it."""


class WorkloadOrderSpec(Value, frozen=True, kw_only=True):
    """Which workloads wait for which."""

    workloads: Annotated[tuple[OrderedWorkload, ...], keyed("kind", "namespace", "name", most=512, least=1)]
    """The workloads, in any order."""


class WorkloadOrderStatus(Status, frozen=True, kw_only=True):
    """What became of the declared order."""

    workloads: Count = 0
    """How many workloads it names."""
    dependencies: Count = 0
    """How many dependencies it declares."""
    missing: Annotated[tuple[Edge, ...], ordered(most=256)] = ()
    """Dependencies that do not exist."""
    cycles: Annotated[tuple[Edge, ...], ordered(most=256)] = ()
    """Its dependencies that are part of a cycle."""
    absent: Annotated[tuple[Line, ...], ordered(most=256)] = ()
    """Workloads that should wait and do not exist: what they depend on is waited for by nobody."""


class WorkloadOrder(Resource, frozen=True, kw_only=True):
    """Declares which workloads must have moved before which others."""

    KIND = kinds.WORKLOAD_ORDER
    SHORT_NAMES = ("wo",)
    COLUMNS = (
        Column("Workloads", ".status.workloads", "integer"),
        Column("Dependencies", ".status.dependencies", "integer"),
        Column("Message", ".status.conditions[?(@.type=='Ready')].message", wide=True),
    )

    spec: WorkloadOrderSpec
    """Which workloads wait for which."""
    status: WorkloadOrderStatus = WorkloadOrderStatus()
    """What became of the declared order."""
