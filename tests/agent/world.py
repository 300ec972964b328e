"""A node, its machine and a controller in memory: what agents are tested in.

`judged` is what must never happen; it is looked at whenever the machine is touched, by what is stored then,
not by what the agent believes.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace

from shiplift.agent import protocol
from shiplift.agent.loop import Loop
from shiplift.agent.model import Machine, Progress, Record, Seen, Work, Write
from shiplift.agent.protocol import CHANGES_ALLOWED, Operation, Order, Outcome, Readiness, Reboot, Token

UID, ROLLOUT, ID = "node-uid", "rollout-uid", "machine-1"
OLD, NEW = {"containerd": "1.7.0", "kubelet": "1.35.4-1.1"}, {"kubelet": "1.36.3-1.1"}
AGENT_VERSION = "0.2.0"
NODE, NO_WORK = Seen(UID, "1", ID, unschedulable=True), Work()


class Killed(Exception):  # noqa: N818 - says what happened
    """The agent ends here."""


def order(
    operation: Operation = Operation.PACKAGES,
    attempt: int = 1,
    uid: str = UID,
    reboot: Reboot = Reboot.IF_REQUIRED,
    version: str = "v1.36.3",
) -> Order:
    return Order(Token(ROLLOUT, uid, operation, attempt), version, reboot)


@dataclass
class World:
    """The Node as it is stored, and the machine as it is."""

    seen: Seen = NODE
    record: Record | None = None
    work: Work = NO_WORK
    software: dict[str, str] = field(default_factory=lambda: dict(OLD))
    boots: int = 1
    fails: bool = False
    full: bool = False
    """Whether the disk has no room for a record."""
    restart_required: bool = False
    lives: int | None = None
    """Actions until the agent is killed; None where it is not."""
    earlier: list[Seen] = field(default_factory=list[Seen])
    late: bool = False
    """Whether reads are of the version before, where that is not older than what the agent wrote."""
    wrote: int = 0
    begun: list[str] = field(default_factory=list[str])
    judged: list[str] = field(default_factory=list[str])

    # --- the controller, and others ---

    def patch(self, annotations: dict[str, str | None], unschedulable: bool | None = None) -> None:
        self.earlier.append(self.seen)
        after = {**self.seen.annotations, **annotations}
        self.seen = replace(
            self.seen,
            resource_version=str(int(self.seen.resource_version) + 1),
            annotations={key: value for key, value in after.items() if value is not None},
            unschedulable=self.seen.unschedulable if unschedulable is None else unschedulable,
        )

    def give(self, given: Order, desired: dict[str, str] | None = None) -> None:
        wanted = NEW if desired is None else desired
        keys: dict[str, str | None] = {protocol.desired_key(name): text for name, text in wanted.items()}
        self.patch({**keys, CHANGES_ALLOWED: given.written()})

    def withdraw(self) -> bool:
        """As the controller does it: not once the order was claimed."""
        if self.claimed:
            return False
        self.patch({CHANGES_ALLOWED: None})
        return True

    @property
    def readiness(self) -> Readiness | None:
        return protocol.readiness_of(self.seen.annotations)

    @property
    def claimed(self) -> bool:
        return self.readiness is not None and not self.readiness.ready

    @property
    def outcome(self) -> Outcome | None:
        return protocol.outcome_of(self.seen.annotations)

    @property
    def current(self) -> dict[str, str]:
        return protocol.current_versions(self.seen.annotations)

    # --- the agent's door ---

    def read(self) -> Seen | None:
        if self.late and self.earlier and int(self.earlier[-1].resource_version) >= self.wrote:
            return self.earlier[-1]
        return self.seen

    def write(self, write: Write) -> bool:
        if write.resource_version == self.seen.resource_version:
            if foreign := [key for key in write.annotations if not _of_agent(key)]:
                self.judged.append(f"wrote {foreign}")
            self.patch(dict(write.annotations))
            self.wrote = int(self.seen.resource_version)
            self._lived()
            return True
        return False

    # --- its hands ---

    def observe(self, wanted: frozenset[str]) -> Machine:
        kubelet = "v" + self.software["kubelet"].partition("-")[0]
        boot = f"boot-{self.boots}"
        return Machine(
            ID,
            boot,
            dict(self.software),
            kubelet,
            self.restart_required,
            record=self.record,
            work=self.work,
        )

    def keep(self, record: Record) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/.record.json.new")
        if self.record is None or self.record.token != record.token:
            self.work = Work()
        self.record = record
        self._lived()

    def begin(self, record: Record) -> None:
        self._judge(record.token, cordon=record.order.token.operation.wants_cordon)
        self.begun.append(record.token)
        self.work = Work(Progress.RUNNING)
        self._lived()

    def restart(self) -> None:
        assert self.record is not None
        self._judge(self.record.token, cordon=True)
        self.boots += 1
        self.restart_required = False
        self._lived()
        if self.lives is not None:
            raise Killed

    def _judge(self, token: str, *, cordon: bool) -> None:
        if self.readiness != Readiness(False, token):
            self.judged.append(f"acted on {token} while the Node said {self.readiness}")
        if cordon and not self.seen.unschedulable:
            self.judged.append(f"acted on {token} while the node was not cordoned")

    def _lived(self) -> None:
        if self.lives is not None:
            self.lives -= 1
            if self.lives <= 0:
                raise Killed

    # --- nature ---

    def tick(self) -> None:
        """Work that runs comes to its end."""
        if self.work.progress is not Progress.RUNNING or self.record is None:
            return
        if self.fails:
            self.work = Work(Progress.FAILED, "no space left")
        else:
            if self.record.order.token.operation is Operation.PACKAGES:
                self.software |= self.record.desired
            self.work = Work(Progress.DONE)

    def worker_dies(self) -> None:
        if self.work.progress is Progress.RUNNING:
            self.work = Work()

    def lose_record(self) -> None:
        self.record, self.work = None, Work()


def _of_agent(key: str) -> bool:
    return key in protocol.AGENT_KEYS or key.endswith(".shiplift.dev/current-version")


def settle(world: World, loops: int = 30) -> None:
    """The agent runs in peace until nothing happens any more."""
    world.lives, world.late = None, False
    agent = Loop(world, world, AGENT_VERSION)
    for number in range(loops):
        before = world.seen, world.record, world.work, world.boots
        agent.once(float(number) / 1000)
        world.tick()
        if (world.seen, world.record, world.work, world.boots) == before:
            return
    raise AssertionError(f"still not settled: {world}")
