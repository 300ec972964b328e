"""Who plays in the cluster in memory: agents, nature, and an operator that can be interrupted.

An agent claims an order, begins on its next turn, and answers when its work is over. How one fails, a word of
its machine says.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from shiplift.agent import protocol
from shiplift.agent.protocol import OUTCOME, READY, Agent, Operation, Outcome, Readiness, Result, Token
from shiplift.engine.api_servers import API_SERVER
from shiplift.engine.contested import Made
from shiplift.engine.step import Outcome as Answered
from shiplift.engine.step import Step
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.model import HookState, Rolling
from tests.nodes.world import Machine, Memory, Refused, World

TAKES = 3
"""Seconds of work of one order."""
QUIET, LONG = 9, 700
"""So many rounds without a change, and nothing more is going to happen; the last ones are far apart."""
MOST_ROUNDS = 300

FAILS, WRONG, SILENT, STUCK, REFUSES, NEVER_READY = "fails", "wrong", "silent", "stuck", "refuses", "unready"


def agents(world: World) -> None:
    """Every agent looks once."""
    for node in world.nodes.values():
        if node.fails != SILENT:
            _tell(world, node)
            _agent(world, node)


def _tell(world: World, node: Machine) -> None:
    """What is there, as seen now; and that somebody is."""
    said = {protocol.current_key(name): version for name, version in node.packages.items()}
    if node.api_server:
        said[protocol.current_key(API_SERVER)] = node.api_server
    said[protocol.AGENT] = Agent("1", 1).written()
    if said.items() - node.annotations.items():
        node.annotations |= said
        world.touched(node)


def _agent(world: World, node: Machine) -> None:
    known = protocol.readiness_of(node.annotations)
    if known is not None and not known.ready:
        _at_work(world, node, known.token)
        return
    order = protocol.order_of(node.annotations)
    if order is None or order.token.node != node.uid:
        return
    token = str(order.token)
    if known is not None and known.token == token:
        return
    if node.fails == REFUSES and order.token.operation is Operation.PACKAGES:
        _answer(world, node, token, Result.REFUSED)
    elif node.unschedulable or not order.token.operation.wants_cordon:
        node.annotations[READY] = Readiness(False, token).written()
        node.claimed, node.work = order.written(), TAKES
        world.touched(node)


def _at_work(world: World, node: Machine, token: str) -> None:
    """It has what it needs from its claim on: the order may be gone from the node."""
    order = protocol.order_of({protocol.CHANGES_ALLOWED: node.claimed})
    assert order is not None
    changes = order.token.operation in {Operation.PACKAGES, Operation.UPGRADE_APPLY, Operation.UPGRADE_NODE}
    if node.fails == STUCK and changes:
        return
    node.work -= 1
    if node.work > 0:
        return
    if changes and not order.back and node.fails == FAILS:
        _answer(world, node, token, Result.FAILED)
        return
    if changes and not (node.fails == WRONG and not order.back):
        _install(node, order.token.operation)
    if changes and not order.back and node.fails == NEVER_READY:
        node.ready = False
    if changes and order.back:
        node.ready = True
    _answer(world, node, token, Result.DONE)


def _install(node: Machine, operation: Operation) -> None:
    for name, version in protocol.desired_versions(node.annotations).items():
        node.packages[name] = version
    if operation is Operation.PACKAGES:
        node.kubelet = f"v{node.packages['kubelet']}"
        node.ready = True
    else:
        node.api_server = f"v{node.packages['kubeadm']}"


def _answer(world: World, node: Machine, token: str, result: Result) -> None:
    path = "/var/lib/etcd.db" if Token.parsed(token).operation is Operation.SNAPSHOT else ""
    said = "" if result is Result.DONE else "no space left on the disk"
    _tell(world, node)
    node.annotations[READY] = Readiness(True, token).written()
    node.annotations[OUTCOME] = Outcome(token, result, said, path).written()
    world.touched(node)


def nature(world: World) -> None:
    """A second goes by: pods leave and come back elsewhere, Jobs end, kubelets renew their Leases."""
    world.pass_time()
    for node in world.nodes.values():
        node.lease += node.ready and node.renews
    world.controllers += world.led
    _taint(world)
    for pod in world.pods.values():
        if pod.leaving and world.nodes[pod.node].ready:  # where no kubelet is, nobody ends a pod
            pod.leaving -= 1
            if not pod.leaving:
                pod.node = ""
            world.changes += 1
        if not pod.node:
            _schedule(world, pod)
    for key, job in world.jobs.items():
        if job.state is HookState.RUNNING:
            failed = any(key[1].startswith(name) for name in world.failing_hooks)
            state = HookState.FAILED if failed else HookState.SUCCEEDED
            world.jobs[key] = msgspec.structs.replace(job, state=state, version=job.version + 1)
            world.changes += 1


def _taint(world: World) -> None:
    """What controllers make of cordons, where somebody leads them."""
    for node in world.nodes.values():
        if world.led and node.tainted != node.unschedulable:
            node.tainted = node.unschedulable
            world.touched(node)


def _schedule(world: World, pod: object) -> None:
    open_ = [one for one in world.nodes.values() if one.ready and not one.unschedulable]
    workers = [one for one in open_ if not one.control_plane]
    if workers:
        load = {one.name: sum(p.node == one.name for p in world.pods.values()) for one in workers}
        pod.node = min(load, key=lambda name: (load[name], name))  # pyright: ignore[reportAttributeAccessIssue]
        world.changes += 1


class Fate(Enum):
    """What becomes of a step of an operator that is interrupted."""

    DONE = "done"
    LOST = "lost"
    UNANSWERED = "done, and its answer is lost"


class Operator:
    """One life of an operator; what it has learnt is lost with it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._memory = Memory()
        self.decision: Rolling | None = None

    def round(self, fate: Callable[[Step], Fate] = lambda _: Fate.DONE, *, publishes: bool = True) -> bool:
        """Look, decide, act, tell; whether anything was done."""
        before = self._world.changes
        decision = self.decision = decide(self._world.view(self._memory), self._world.now)
        done = [self._take(step, fate(step)) for step in decision.steps]
        self._memory.outcomes = self._memory.outcomes.remember(done, self._world.now)
        if publishes:
            for told in decision.told:
                self._world.publish(told.rollout, told.status)
        return self._world.changes != before

    def _take(self, step: Step, fate: Fate) -> Answered:
        if fate is Fate.LOST:
            return Answered.unknown(step, "no answer")
        try:
            self._world.apply(step, self._memory)
        except Refused as refused:
            return Answered.refused(step, str(refused))
        self._note(step)
        return Answered.done(step) if fate is Fate.DONE else Answered.unknown(step, "no answer")

    def _note(self, step: Step) -> None:
        changes = self._memory.changes
        if step.takes_back:
            changes.pop(step.takes_back, None)
        if step.change:
            times = changes[step.change].times + 1 if step.change in changes else 1
            changes[step.change] = Made(times, self._world.now)


def tick(world: World, look: Callable[[], None] = lambda: None) -> None:
    """Agents and nature, once; `look` sees each moment."""
    agents(world)
    look()
    nature(world)
    look()


def _pause(operator: Operator, quiet: int) -> float:
    """Until the operator would look again, and at last for so long that every time-out is over."""
    after = operator.decision.look_again_after if operator.decision else None
    soon = after.total_seconds() if after is not None else LONG
    return soon if quiet < QUIET // 2 else LONG


def finish(
    world: World, look: Callable[[], None] = lambda: None, operator: Operator | None = None
) -> Rolling:
    """Until nothing changes any more, whatever time goes by."""
    operator = operator or Operator(world)
    quiet = 0
    for _ in range(MOST_ROUNDS):
        before = world.changes
        operator.round()
        look()
        tick(world, look)
        quiet = 0 if world.changes != before else quiet + 1
        if quiet:
            world.pass_time(_pause(operator, quiet))
        if quiet >= QUIET and operator.decision is not None:
            return operator.decision
    raise AssertionError(f"no end in sight: {operator.decision.describe() if operator.decision else ''}")
