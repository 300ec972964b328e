"""A machine that there is not, as the hands of its agent: packages in memory, work and restarts on set times.

What the kubelet of such a machine would report stands in the Node's status, and is taken from there, so that
whoever changes it by hand is heard. A change of ours is reported first and counts from then on. Nothing here
has a clock: `advance` says what time it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import msgspec

from shiplift.agent import protocol
from shiplift.agent.model import Machine, Progress, Record, Work
from shiplift.agent.protocol import Operation
from shiplift.facts.nodes import Node, is_control_plane
from shiplift.local.agents.failures import Failure, ordered
from shiplift.local.agents.software import KUBELET, found_on, left_by, reported_of

_ON_CONTROL_PLANES = frozenset({Operation.SNAPSHOT, Operation.UPGRADE_APPLY})


class Pace(msgspec.Struct, frozen=True):
    """How long things take, in seconds, always the same."""

    change: float = 2.0
    """Work of any kind."""
    reboot: float = 1.0
    """From the end of the work until the machine is back."""


class SimulatedMachine:
    """One machine; `Hands` to its agent."""

    def __init__(self, row: Node, pace: Pace) -> None:
        self._pace = pace
        self._row = row
        self._now = 0.0
        self._control_plane = is_control_plane(row)
        self._software = found_on(row)
        self._record: Record | None = None
        self._work = Work()
        self._next: float | None = None
        """When the work, or the restart, is over."""
        self._restarting = False
        self._dead = False
        self._old_kubelet: tuple[float, str] | None = None
        """When which kubelet is back."""
        self._unreported: dict[str, str] = {}

    # --- time, and what others say ---

    def follow(self, row: Node) -> None:
        """What the Node says now; of its status, what we have not reported yet comes before that."""
        self._row = row
        running = row.kubelet_version.removeprefix("v")
        if "kubeletVersion" not in self._unreported and not protocol.fits(running, self._software[KUBELET]):
            self._software[KUBELET] = running

    def advance(self, now: float) -> None:
        """What is over by then has happened, but for what a failure stops."""
        self._now = now
        if self._old_kubelet is not None and now >= self._old_kubelet[0]:
            self._install({KUBELET: self._old_kubelet[1]})
            self._old_kubelet = None
        if self._next is None or now >= self._next:
            self._next = None
            self._go_on(self._failure())

    @property
    def next_at(self) -> float | None:
        """When something happens by itself."""
        times = [self._next] + ([self._old_kubelet[0]] if self._old_kubelet else [])
        return min((time for time in times if time is not None), default=None)

    @property
    def silent(self) -> bool:
        """Whether nobody answers: the agent is dead, or the machine is down."""
        return self._dead or self._restarting

    @property
    def unreported(self) -> Mapping[str, str]:
        """What the kubelet has to say of itself, as `nodeInfo` of the Node's status."""
        return self._unreported

    def reported(self) -> None:
        self._unreported = {}

    # --- the agent's hands ---

    def observe(self, wanted: frozenset[str]) -> Machine:
        return Machine(
            self._row.machine_id,
            self._unreported.get("bootID", self._row.boot_id),
            dict(self._software),
            self._unreported.get("kubeletVersion", self._row.kubelet_version),
            restart_required=self._failure() is Failure.NEVER_BOOTS,
            can=frozenset(Operation) - (frozenset() if self._control_plane else _ON_CONTROL_PLANES),
            record=self._record,
            work=self._work,
        )

    def keep(self, record: Record) -> None:
        if self._record is None or self._record.token != record.token:
            self._work, self._next = Work(), None
        self._record = record

    def begin(self, record: Record) -> None:
        if self._work.progress is Progress.ABSENT:
            share = 0.5 if self._failure() is Failure.DIES else 1.0
            self._work, self._next = Work(Progress.RUNNING), self._now + share * self._pace.change

    def restart(self) -> None:
        self._restarting, self._next = True, self._now + self._pace.reboot

    # --- what happens ---

    def _failure(self) -> Failure | None:
        """Orders that change nothing go well whatever was ordered."""
        order = None if self._record is None else self._record.order
        if order is not None and order.token.operation in (Operation.PREPARE, Operation.SNAPSHOT):
            return None
        return ordered(self._row.annotations, back=order is not None and order.back)

    def _go_on(self, failure: Failure | None) -> None:
        if self._restarting:
            if failure is not Failure.NEVER_BOOTS:
                self._restarting = False
                self._unreported["bootID"] = str(uuid.uuid4())
        elif self._dead:
            if failure is not Failure.DIES:
                self._dead, self._work = False, Work()
        elif self._record is not None and self._work.progress is Progress.RUNNING:
            self._end_work(self._record, failure)

    def _end_work(self, record: Record, failure: Failure | None) -> None:
        match failure:
            case Failure.DIES:
                self._dead = True
            case Failure.NEVER_READY:
                pass
            case Failure.FAILS:
                self._work = Work(Progress.FAILED, "the work fails, as was ordered")
            case Failure.WRONG_VERSION:
                self._work = Work(Progress.DONE)
            case _:
                self._do(record, rolls_back=failure is Failure.ROLLS_BACK)

    def _do(self, record: Record, *, rolls_back: bool) -> None:
        kubelet = self._software[KUBELET]
        self._install(left_by(record, control_plane=self._control_plane))
        if rolls_back and self._software[KUBELET] != kubelet:
            self._old_kubelet = self._now + self._pace.change, kubelet
        snapshot = record.order.token.operation is Operation.SNAPSHOT
        self._work = Work(Progress.DONE, path=f"/var/lib/shiplift/{record.token}.db" if snapshot else "")

    def _install(self, software: Mapping[str, str]) -> None:
        self._software |= software
        self._unreported |= reported_of(software)
