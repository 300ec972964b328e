"""What an agent knows when it decides, and what it can do: plain values.

Nothing here is remembered from the loop before. What the Node says was read from the API server, what the
machine says was looked at just now. The one thing that is kept is the record of an order: it lies on the
machine's disk, so that an agent that was killed, or a machine that was restarted, goes on with the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shiplift.agent.protocol import Operation, Order


@dataclass(frozen=True)
class Seen:
    """The agent's own Node, as the API server has it."""

    uid: str
    resource_version: str
    machine_id: str = ""
    unschedulable: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Record:
    """An order as it was found, written to the machine's disk before it is claimed."""

    order: Order
    desired: Mapping[str, str]
    """The versions that were wanted then, by software."""
    begun: bool = False
    """Whether the work may have been begun; the machine may then be half-way."""
    restarted_from: str | None = None
    """The boot id that the machine had when its restart was asked for; None until then."""

    @property
    def token(self) -> str:
        return str(self.order.token)


class Progress(Enum):
    """How the work on a record is."""

    ABSENT = "Absent"
    """It was never begun, or whoever did it has died."""
    RUNNING = "Running"
    DONE = "Done"
    FAILED = "Failed"


@dataclass(frozen=True)
class Work:
    """The work on the machine's record, as it is found."""

    progress: Progress = Progress.ABSENT
    message: str = ""
    path: str = ""
    """Where the copy of etcd's data is."""


@dataclass(frozen=True)
class Machine:
    """The agent's machine, as it was looked at in this loop."""

    id: str
    boot_id: str
    software: Mapping[str, str]
    """Versions of packages, by software."""
    kubelet: str = ""
    """The version that the running kubelet says it is."""
    restart_required: bool = False
    """Whether what was changed takes effect only after a restart."""
    can: frozenset[Operation] = frozenset(Operation)
    record: Record | None = None
    work: Work = Work()


@dataclass(frozen=True)
class Keep:
    """Write the record to the machine's disk, in place of the one that is there."""

    record: Record


@dataclass(frozen=True)
class Begin:
    """Do what the record says; where its work runs already, that is the work."""

    record: Record


@dataclass(frozen=True)
class Restart:
    """Restart the machine."""


@dataclass(frozen=True)
class Write:
    """Annotations of the Node, in the version of it that was seen; None takes one off."""

    annotations: Mapping[str, str | None]
    resource_version: str


Action = Keep | Begin | Restart | Write


@dataclass(frozen=True)
class Decision:
    """What an agent does now, in this order; where one fails, what follows it is left out."""

    actions: tuple[Action, ...] = ()
    says: str = ""
    """Why it does no more than that: for its log, and for its Node, where it may be written."""
    busy: bool = False
    """Whether an order is under way: the heartbeat is then quicker."""
