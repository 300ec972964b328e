"""The conductor under the crash harness, with all layers in the operator and simulated agents beside it."""

from __future__ import annotations

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from shiplift.upgrade.controller import PART
from tests.crash.facts import owner
from tests.crash.mutants import Mutant
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite
from tests.crash.upgrade import building, facts, invariants, mutants, normal, scenarios
from tests.crash.upgrade.scenarios import MAKE_ROLLOUT, Scenario
from tests.crash.upgrade.world import World


class Upgrade:
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
            kinds.POD_DISRUPTION_BUDGET,
            kinds.CONFIG_MAP,
            kinds.NODE_ROLLOUT,
            kinds.WORKLOAD_MIGRATION,
            kinds.WORKLOAD_PLACEMENT,
            kinds.UPGRADE_CONFIG,
        )

    def build(self, stage: Stage, scenario: Scenario) -> None:
        building.build(stage, scenario)

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        return invariants.broken(scenario, trace)

    def residue(self, state: State) -> list[str]:
        return facts.residue(state)

    def end(self, scenario: Scenario, state: State) -> Flat:
        return normal.end(scenario, state)

    def counted_as(self, change: Change) -> str:
        return f"pods of {owner(change.object)}" if change.key.kind == "Pod" else str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        """A pod moves once for each version; a hold or a placement may come and go."""
        upgrades = 2 if scenario.half_way is scenarios.HalfWay.ANOTHER else 1
        pods = sum(upgrades * one.replicas for one in scenario.workloads if name == f"pods of {one.id}")
        return pods or 2 * upgrades

    def told(self, state: State) -> str:
        return facts.told(state)

    def is_work(self, step: str) -> bool:
        return step == MAKE_ROLLOUT

    def alike(self, scenario: Scenario, about: str) -> str:
        """Nodes of a pool are alike: what is done to them is judged in the layer of nodes."""
        name, _, number = about.rpartition("-")
        return name if number.isdecimal() else about


SUITE: Suite[Scenario] = Upgrade()
