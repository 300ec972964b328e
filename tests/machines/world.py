"""Machines in memory, and somebody who runs bootstrap on them: what decisions are tested in.

`judged` is what must never happen; it is looked at whenever a machine is touched, by what is on the machines
then, not by what bootstrap believes.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from shiplift.engine.step import Outcomes, Started, Step
from shiplift.machines import foresee
from shiplift.machines.decide.decision import decide
from shiplift.machines.model import Bootstrapping, Command, CommandState, Facts, Purpose, Silent, View
from shiplift.machines.names import admission
from shiplift.machines.pools import AgentPackage, Manifest, Wanted, read
from shiplift.machines.steps import Claim, Record, Run

START = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2nQPLDzdhHNvSLVZBqC7Xf9fVdR4JTnCq1m0KvIg9U"
ENDPOINT = "api.example.test:6443"
NETWORK = Manifest("network.yaml", "kind: List\n", "d1")
AGENT = AgentPackage("0.2.0", b"deb", "d2")
MOST_ROUNDS = 400


def pool(name: str, role: str, replicas: int, hosts: list[str], first: int = 10, **more: object) -> str:
    lines = [
        "---",
        "apiVersion: shiplift.dev/v1alpha1",
        "kind: MachinePool",
        f"metadata: {{name: {name}}}",
        "spec:",
        f"  role: {role}",
        "  provider: Static",
        f"  replicas: {replicas}",
        "  version: 1.36.3",
        *(f"  {key}: {value}" for key, value in more.items()),
        "  static:",
        "    sshKeySecret: key",
        "    hosts:",
    ]
    lines += [
        f"    - {{name: {host}, address: 10.0.0.{first + number}, hostKey: {KEY}}}"
        for number, host in enumerate(hosts)
    ]
    return "\n".join(lines) + "\n"


CLUSTER = f"""---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
controlPlaneEndpoint: {ENDPOINT}
"""


def text(control_planes: int = 1, workers: int = 2) -> str:
    """A file: the control plane, and workers if any."""
    planes = [f"cp-{number}" for number in range(1, control_planes + 1)]
    names = [f"w-{number}" for number in range(1, workers + 1)]
    found = pool("control-plane", "ControlPlane", control_planes, planes)
    found += pool("workers", "Worker", workers, names, 100) if workers else ""
    return found + CLUSTER


def wanted(control_planes: int = 1, workers: int = 2, network: Manifest | None = NETWORK) -> Wanted:
    return replace(read(text(control_planes, workers).encode()), network=network, agent=AGENT)


def bare(name: str, memory: int = 4096) -> Facts:
    return Facts(machine_id=f"id-{name}", boot_id=f"{name}-1", memory_mib=memory)


class World:
    """All machines, whatever anybody asks for."""

    def __init__(self, *names: str) -> None:
        self.machines = {name: bare(name) for name in names}
        self.down: dict[str, datetime] = {}
        self.fails: dict[tuple[str, Purpose], int] = {}
        """How often a command still fails on a machine."""
        self.begun: list[tuple[str, Purpose]] = []
        self.judged: list[str] = []
        self.now = START
        self._boots = itertools.count(2)

    # --- what happens to machines ---

    def take_down(self, name: str) -> None:
        self.down.setdefault(name, self.now)

    def bring_back(self) -> None:
        self.down.clear()

    def power_cut(self, name: str) -> None:
        """Whatever runs on it is gone; it boots anew."""
        facts = self.machines[name]
        commands = tuple(
            replace(one, state=CommandState.LOST) if one.state is CommandState.RUNNING else one
            for one in facts.commands
        )
        self.machines[name] = replace(facts, commands=commands, boot_id=f"{name}-{next(self._boots)}")

    def tick(self, view: View) -> None:
        """Commands that run come to their end."""
        self.now += timedelta(seconds=5)
        for name, facts in list(self.machines.items()):
            for command in facts.commands:
                if command.state is CommandState.RUNNING:
                    self._end(view, name, command)

    def _end(self, view: View, name: str, command: Command) -> None:
        purpose = Purpose(command.purpose)
        left = self.fails.get((name, purpose), 0)
        if left:
            self.fails[(name, purpose)] = left - 1
            self._state(name, command.id, CommandState.ENDED, 1)
            return
        started = Started(command.id, command.started, command.deadline, command.attempt)
        step = Run(started=started, machine=name, purpose=purpose, what="")
        after = foresee.done(self._all(view), step)
        self.machines = {one: found for one in self.machines if (found := after.facts(one)) is not None}

    def _all(self, view: View) -> View:
        """What is, whoever answers."""
        return replace(view, hosts={**self.machines})

    def _state(self, name: str, command: str, state: CommandState, code: int | None = None) -> None:
        facts = self.machines[name]
        commands = tuple(
            replace(one, state=state, code=code, tail="it says why") if one.id == command else one
            for one in facts.commands
        )
        self.machines[name] = replace(facts, commands=commands)

    # --- what bootstrap does to them ---

    def act(self, view: View, step: Step) -> None:
        if isinstance(step, Run):
            return self._begin(step)
        if isinstance(step, Claim | Record) and step.machine in self.down:
            return None
        after = foresee.done(self._all(view), step)
        self.machines = {one: found for one in self.machines if (found := after.facts(one)) is not None}
        return None

    def _begin(self, step: Run) -> None:
        if step.machine in self.down:
            return
        command = next((c for c in self.machines[step.machine].commands if c.id == step.started.id), None)
        if command is None:
            self.judged.append(f"{step.key} is not on record")
        elif command.state is CommandState.RECORDED:
            self._judge(step)
            self.begun.append((step.machine, step.purpose))
            self._let_in(step)
            self._state(step.machine, command.id, CommandState.RUNNING)
            if step.purpose is Purpose.INIT or step.again:
                self.machines[step.machine] = replace(self.machines[step.machine], kubeadm=True)

    def _let_in(self, step: Run) -> None:
        """The control plane that is asked has that in its journal, too."""
        via = self.machines.get(step.via)
        if step.purpose is not Purpose.JOIN or via is None:
            return
        before = via.last(admission(step.machine))
        asked = Command(
            id=f"{admission(step.machine)}-{before.attempt + 1 if before else 1}",
            number=len(via.commands) + 1,
            run="",
            started=step.started.started,
            deadline=step.started.deadline,
            boot=via.boot_id,
            state=CommandState.ENDED,
            code=0,
        )
        self.machines[step.via] = replace(via, commands=(*via.commands, asked))

    def _judge(self, step: Run) -> None:
        inits = {name for name, purpose in self.begun if purpose is Purpose.INIT}
        if step.purpose is Purpose.INIT and inits:
            self.judged.append(f"a second init, on {step.machine} after {inits}")
        if step.purpose is Purpose.JOIN and step.machine.startswith("cp"):
            others = [name for name in self.machines if name.startswith("cp") and self._joins(name)]
            self.judged += [f"{step.machine} joins while {name} does" for name in others]

    def _joins(self, name: str) -> bool:
        last = self.machines[name].last(Purpose.JOIN.value)
        return last is not None and last.state is CommandState.RUNNING

    @property
    def nodes(self) -> set[str]:
        found = [one.nodes for one in self.machines.values() if one.nodes is not None]
        return {node.name for node in found[0]} if found else set()


class Laptop:
    """One run of bootstrap: what it remembers is lost with it."""

    numbers = itertools.count(1)

    def __init__(self, world: World, asked: Wanted) -> None:
        self.world = world
        self.asked = asked
        self.run = f"run-{next(self.numbers)}"
        self.seen: dict[str, Facts] = {}
        self.api_silent_since: datetime | None = None

    def view(self) -> View:
        hosts: dict[str, Facts | Silent] = {}
        for one in self.asked.candidates:
            if one.name in self.world.down:
                since = self.world.down[one.name]
                hosts[one.name] = Silent("connection refused", since, seen=self.seen.get(one.name))
            else:
                hosts[one.name] = self.seen[one.name] = self.world.machines[one.name]
        told = any(isinstance(one, Facts) and one.nodes is not None for one in hosts.values())
        self.api_silent_since = None if told else self.api_silent_since or self.world.now
        return View(
            wanted=self.asked,
            hosts=hosts,
            run=self.run,
            fresh=f"of-{self.run}",
            outcomes=Outcomes(),
            api_silent_since=self.api_silent_since,
        )

    def decide(self) -> Bootstrapping:
        return decide(self.view(), self.world.now)

    def round(self, most: int = 99, *, tick: bool = True) -> Bootstrapping:
        """One round; killed after so many steps."""
        view = self.view()
        decision = decide(view, self.world.now)
        for step in decision.steps[:most]:
            self.world.act(view, step)
        if tick:
            self.world.tick(view)
        return decision

    def finish(self) -> Bootstrapping:
        for _ in range(MOST_ROUNDS):
            decision = self.round()
            if decision.over:
                return decision
        raise AssertionError(f"no end: {decision.message}; {[one.message for one in decision.told]}")


def names(asked: Wanted) -> tuple[str, ...]:
    return tuple(one.name for one in asked.candidates)
