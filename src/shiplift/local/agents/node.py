"""The agent of one simulated node: its loop, its machine, and the door through which it writes as that node.

Each look at it is made with the row that the watch has, never with one older than what was written last: an
agent believes what it has seen stored, and nothing that it merely sent.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime

import msgspec

from shiplift import __version__
from shiplift.agent import protocol
from shiplift.agent.loop import Loop
from shiplift.agent.model import Seen, Write
from shiplift.facts.kinds import LEASE, NODE
from shiplift.facts.nodes import Node
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, KubeError, NotFound, PreconditionFailed
from shiplift.local.agents.machine import Pace, SimulatedMachine
from shiplift.local.errors import LocalError
from shiplift.local.progress import Say

LEASES = "kube-node-lease"
_LEASE_SECONDS = 40
_AGAIN = 0.5
"""Seconds until what could not be written is tried again."""
_LONG = 3600.0


class Timing(msgspec.Struct, frozen=True):
    """How often things are written, in seconds."""

    heartbeat: float = 60.0
    """An agent at rest; each a little sooner, by its name, so that they do not come all together."""
    lease: float = 0.0
    """The Lease of a node that is to be changed; 0 leaves it to kwok, which renews every ten seconds."""


class SimulatedAgent:
    """One agent; looked at by one thread at a time."""

    def __init__(self, client: Client, row: Node, pace: Pace, timing: Timing, say: Say) -> None:
        self.uid = row.uid
        self._name = row.name
        self._say = say
        self._said = ""
        self._machine = SimulatedMachine(row, pace)
        self._door = _Door(client, row)
        self._lease = _Lease(client, row.name, timing.lease)
        early = zlib.crc32(row.name.encode()) % 1000 / 4000
        self._loop = Loop(self._door, self._machine, __version__, timing.heartbeat * (1 - early))

    def look(self, row: Node, now: float) -> float:
        """One look; when the next is due, if nothing changes before."""
        if row.resource_version < self._door.written:
            return now + _AGAIN
        try:
            self._look(row, now)
        except (Conflict, NotFound, PreconditionFailed):
            return now + _AGAIN
        except KubeError as error:
            self._tell(f"node {self._name}: {error}")
            return now + _AGAIN
        except LocalError as error:
            # wrong words on the Node: heard when somebody puts them right
            self._tell(f"node {self._name}: {error.message}; {error.hint}")
            return now + _LONG
        return self._due(now)

    def _look(self, row: Node, now: float) -> None:
        self._door.row = row
        self._machine.follow(row)
        self._machine.advance(now)
        if self._machine.unreported and not self._machine.silent:
            self._door.report({"nodeInfo": dict(self._machine.unreported)})
            self._machine.reported()
        elif not self._machine.silent:
            if _is_to_change(row):
                self._lease.renew(now)
            self._tell(self._loop.once(now).says)

    def _due(self, now: float) -> float:
        if self._machine.silent:
            # what a failure has stopped goes on when its annotation is gone, and that is heard
            return self._machine.next_at or now + _LONG
        lease = self._lease.due if _is_to_change(self._door.row) else None
        times = (self._machine.next_at, self._loop.due, lease)
        return max(min((time for time in times if time is not None), default=now + _AGAIN), now + 0.001)

    def _tell(self, line: str) -> None:
        """Once, until it is something else."""
        if line and line != self._said:
            self._say(line if line.startswith("node ") else f"node {self._name}: {line}")
        self._said = line


def _is_to_change(row: Node) -> bool:
    """Whether it has an order after which somebody looks at its Lease; one that cannot be read may be."""
    try:
        order = protocol.order_of(row.annotations)
    except protocol.ProtocolError:
        return True
    return order is not None and not order.token.operation.changes_nothing


class _Door:
    """The Node of one agent; written as the node."""

    def __init__(self, client: Client, row: Node) -> None:
        self.row = row
        self.written = 0
        self._client = client

    def read(self) -> Seen:
        row = self.row
        return Seen(row.uid, str(row.resource_version), row.machine_id, row.unschedulable, row.annotations)

    def write(self, write: Write) -> bool:
        change = {"metadata": {"annotations": dict(write.annotations)}}
        try:
            answer = self._client.patch(
                NODE, self.row.name, change, uid=self.row.uid, resource_version=write.resource_version
            )
        except (Conflict, NotFound, PreconditionFailed):
            return False
        self.written = int(answer.object["metadata"]["resourceVersion"])
        return True

    def report(self, status: dict[str, object]) -> None:
        """What a kubelet says of itself."""
        answer = self._client.patch(
            NODE, self.row.name, {"status": status}, uid=self.row.uid, subresource="status"
        )
        self.written = int(answer.object["metadata"]["resourceVersion"])


class _Lease:
    """The Lease of one node, renewed in its name; who holds it stays."""

    def __init__(self, client: Client, name: str, every: float) -> None:
        self._client, self._name, self._every = client, name, every
        self._uid = ""
        self._renewed = float("-inf")

    @property
    def due(self) -> float | None:
        return self._renewed + self._every if self._every else None

    def renew(self, now: float) -> None:
        if not self._every or now < self._renewed + self._every:
            return
        self._renewed = now
        spec: dict[str, object] = {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        try:
            self._uid = self._uid or self._client.get(LEASE, self._name, LEASES)["metadata"]["uid"]
            self._client.patch(LEASE, self._name, {"spec": spec}, LEASES, uid=self._uid)
        except (NotFound, PreconditionFailed):
            holder = {"holderIdentity": self._name, "leaseDurationSeconds": _LEASE_SECONDS}
            made = self._client.create(
                LEASE, {"metadata": {"name": self._name}, "spec": spec | holder}, LEASES
            )
            self._uid = made.object["metadata"]["uid"]
