"""The cluster in memory with a layer of a few lines, which empties cordoned nodes: any layer plays on it."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest

from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, StatefulSet
from tests.model import nature, players, server
from tests.model.world import World

READS = (
    kinds.NAMESPACE,
    kinds.NODE,
    kinds.POD,
    kinds.DEPLOYMENT,
    kinds.REPLICA_SET,
    kinds.STATEFUL_SET,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.HORIZONTAL_POD_AUTOSCALER,
)


class Leave(Step, frozen=True):
    """A pod goes from a node that is cordoned."""

    aside: ClassVar[bool] = True
    uid: str

    @property
    def key(self) -> str:
        return f"leave {self.uid}"

    def describe(self) -> str:
        return self.key


class Emptier(players.Operator[Decision]):
    """All its state is in the cluster: a new life goes on where the last one ended."""

    def _decide(self, known: Outcomes) -> Decision:
        now = self._news.snapshot(kinds.NODE, kinds.POD)
        closed = {node.name for node in now.all(Node) if node.unschedulable}
        leaving = [pod for pod in now.all(Pod) if pod.node in closed and not pod.deleting]
        return Decision(tuple(Leave(pod.uid) for pod in leaving))

    def _send(self, step: Step) -> Outcome:
        assert isinstance(step, Leave)
        pod = self._world.get(Pod, step.uid)
        try:
            if pod is not None:
                server.evict(self._world, pod)
        except server.RefusedError as refused:
            return Outcome.refused(step, str(refused))
        return Outcome.done(step)

    def _publish(self, decision: Decision) -> bool:
        return False

    def _shows_in_pods(self, step: Step) -> bool:
        return True


class Judge:
    """Two of three pods are Ready at every moment."""

    def __init__(self, world: World) -> None:
        self._world, self.evicted = world, 0

    def before(self, step: Step) -> None:
        pass

    def after(self, step: Step, *, done: bool) -> None:
        self.evicted += done
        self.look()

    def look(self) -> None:
        (budget,) = self._world.all(PodDisruptionBudget)
        assert sum(pod.ready for pod in self._world.covered(budget)) >= 2


@pytest.fixture
def world() -> World:
    """Three pods with a budget on one node, which is then cordoned; another is empty."""
    world = World(READS)
    old = world.node("old")
    world.owner(Deployment, "web", 3)
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    world.node("new")
    world.put(msgspec.structs.replace(old, unschedulable=True))
    return world


@pytest.mark.parametrize("pace", [{}, {"slow": True}, {"late": True}], ids=["at once", "slow", "late"])
def test_a_node_is_emptied_within_the_budget(world: World, pace: dict[str, bool]) -> None:
    judge = Judge(world)
    players.run(world, Emptier(world, judge, **pace), judge)
    assert {pod.node for pod in world.all(Pod)} == {"new"}
    assert judge.evicted == 3


def test_an_operator_that_dies_after_every_step_comes_to_the_same_end(world: World) -> None:
    judge = Judge(world)
    for _ in range(20):
        operator = Emptier(world, judge)
        operator.round(cut=1)
        operator.die()
        nature.tick(world)
    assert {pod.node for pod in world.all(Pod)} == {"new"}
    assert judge.evicted == 3


def test_pods_of_a_stateful_set_come_back_one_by_one_under_their_names() -> None:
    world = World(READS)
    world.node("only")
    world.owner(StatefulSet, "db", 2)
    nature.settle(world)
    first = world.named(Pod, "db-0")
    assert first is not None
    server.evict(world, first)
    nature.settle(world)
    assert sorted(pod.name for pod in world.all(Pod)) == ["db-0", "db-1"]
    assert world.get(Pod, first.uid) is None
