"""The layer `nodes` under the crash harness, with simulated agents beside the operator."""

from __future__ import annotations

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from shiplift.nodes.controller import PART
from tests.crash.facts import owner
from tests.crash.mutants import Mutant
from tests.crash.nodes import building, facts, invariants, mutants, normal, scenarios
from tests.crash.nodes.scenarios import CORDON, Scenario
from tests.crash.nodes.world import World
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite
from tests.crash.workloads import scenarios as beside
from tests.crash.workloads.invariants import out_of_order


class Nodes:
    """What the harness asks of it."""

    @property
    def part(self) -> LayerPart:
        return PART

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return scenarios.ALL

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return mutants.ALL

    @property
    def watched(self) -> tuple[Kind, ...]:
        return (
            kinds.NODE,
            kinds.POD,
            kinds.DEPLOYMENT,
            kinds.STATEFUL_SET,
            kinds.POD_DISRUPTION_BUDGET,
            kinds.CONFIG_MAP,
            kinds.NODE_ROLLOUT,
        )

    def build(self, stage: Stage, scenario: Scenario) -> None:
        building.build(stage, scenario)

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        found = invariants.broken(scenario, trace)
        if scenario.migration:
            moving = beside.Scenario(scenario.name, scenario.workloads, {})
            found += out_of_order(trace, moving)
        return found

    def residue(self, state: State) -> list[str]:
        return facts.residue(state)

    def end(self, scenario: Scenario, state: State) -> Flat:
        return normal.end(scenario, state)

    def counted_as(self, change: Change) -> str:
        return f"pods of {owner(change.object)}" if change.key.kind == "Pod" else str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        """A pod goes each time that its node is drained, and each node is drained once. Beside a migration
        pods move once."""
        rounds = 1 if scenario.migration else len(scenario.names)
        return sum(rounds * one.replicas for one in scenario.workloads if name == f"pods of {one.id}")

    def told(self, state: State) -> str:
        return facts.told(state)

    def is_work(self, step: str) -> bool:
        return step == CORDON

    def alike(self, scenario: Scenario, about: str) -> str:
        """Nodes are worked on one by one; pods of a StatefulSet are alike."""
        name, _, number = about.rpartition("-")
        return name if number.isdecimal() and "/" in name else about


SUITE: Suite[Scenario] = Nodes()
