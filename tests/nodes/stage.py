"""A cluster with a rollout over it, played by the moments of a script, and who watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st

from shiplift.api.nodes import NodeRolloutStatus, NodeStatus, RolloutPhase
from shiplift.engine.step import Step
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.model import Reason, Rolling
from tests.nodes.judge import Judge
from tests.nodes.players import Fate, Operator, agents, finish, tick
from tests.nodes.world import NEW, OLD, Machine, Memory, World

ABOVE = "v1.37.1"
fates = st.lists(st.sampled_from((Fate.DONE, Fate.DONE, Fate.LOST, Fate.UNANSWERED)), min_size=1, max_size=4)
moments = st.tuples(fates, st.booleans(), st.booleans(), st.integers(0, 3))
"""The fate of each step, whether the status is told, whether the operator dies, seconds that go by."""
scripts = st.lists(moments, max_size=45)
Moment = tuple[list[Fate], bool, bool, int]
Script = list[Moment]


class Stage:
    """A cluster with a rollout over it, and who watches."""

    def __init__(
        self,
        workers: int = 3,
        control_planes: int = 0,
        *,
        budget: int | str = 1,
        minor: bool = False,
        **spec: Any,
    ) -> None:
        self.world = World()
        self.target = ABOVE if minor else NEW
        for number in range(control_planes):
            self.world.add_node(f"cp-{number}", api_server=OLD)
        for number in range(workers):
            self.world.add_node(f"w-{number}")
            self.world.add_pod(f"w-{number}", "cart")
            self.world.add_pod(f"w-{number}")
        self.world.budgets["cart"] = 1
        self.world.roll_out(max_unavailable=budget, version=self.target, **spec)
        agents(self.world)
        self.judge = Judge(self.world)
        self.operator = Operator(self.world)

    def play(self, script: Script) -> None:
        for fates_, publishes, dies, seconds in script:
            self.operator.round(_in_turn(fates_), publishes=publishes)
            self.judge.look()
            if dies:
                self.operator = Operator(self.world)
            for _ in range(seconds):
                tick(self.world, self.judge.look)

    def finish(self) -> None:
        finish(self.world, self.judge.look)

    def finish_without_rollout(self) -> None:
        """Until nothing of a rollout that is gone is left."""
        for _ in range(30):
            self.operator.round()
            tick(self.world)

    def versions(self) -> dict[str, tuple[str, str]]:
        return {name: (one.kubelet, one.api_server) for name, one in self.world.nodes.items()}

    @property
    def told(self) -> NodeRolloutStatus:
        return self.world.rollouts["next"].status

    def phase(self) -> RolloutPhase | None:
        return self.told.phase

    def record(self, name: str) -> NodeStatus:
        return next(one for one in self.told.nodes if one.name == name)

    def node(self, name: str) -> Machine:
        return self.world.nodes[name]

    def until(self, holds: Callable[[], object], rounds: int = 60) -> None:
        """Round by round, a second each, until something is so."""
        for _ in range(rounds):
            if holds():
                return
            self.operator.round()
            self.judge.look()
            tick(self.world, self.judge.look)
        raise AssertionError(f"not so after {rounds} rounds: {self.told.message}")

    def well(self) -> None:
        """The end of a rollout that nothing is wrong with."""
        told = self.told
        assert told.phase is RolloutPhase.COMPLETE, told.message
        assert {kubelet for kubelet, _ in self.versions().values()} == {self.target}
        assert {server for _, server in self.versions().values() if server} <= {self.target}
        assert (self.judge.residue(), self.judge.records(), self.judge.closed()) == ([], [], [])


def decided(stage: Stage, **seen: Any) -> Rolling:
    """What is decided if the cluster is seen so."""
    view = msgspec.structs.replace(stage.world.view(Memory()), **seen)
    return decide(view, stage.world.now)


def told(decision: Rolling) -> tuple[Reason, str, bool]:
    """Of the one rollout that there is."""
    (one,) = decision.told
    return one.reason, one.message, one.stalled


def _in_turn(fates_: list[Fate]) -> Callable[[Step], Fate]:
    count = iter(range(10_000))
    return lambda _: fates_[next(count) % len(fates_)]
