"""The layer `workloads` under the crash harness."""

from __future__ import annotations

from shiplift.api.marks import HOLD_PREFIX
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from shiplift.workloads.controller import PART
from tests.crash.facts import owner
from tests.crash.mutants import Mutant
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite
from tests.crash.workloads import building, facts, invariants, mutants, normal, scenarios
from tests.crash.workloads.scenarios import Bystander, HalfWay, Scenario
from tests.crash.workloads.world import World

_HOLD = f"{kinds.POD_DISRUPTION_BUDGET} shop/{HOLD_PREFIX}"
_WORK = ("create pods/eviction", "delete pods", "patch deployments", "patch statefulsets")
_ROUNDS = {HalfWay.NOTHING: 0, HalfWay.ABORT: 1, HalfWay.ROLL_BACK: 2}


class Workloads:
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
            kinds.WORKLOAD_MIGRATION,
            kinds.WORKLOAD_ORDER,
            kinds.WORKLOAD_PLACEMENT,
        )

    def build(self, stage: Stage, scenario: Scenario) -> None:
        building.build(stage, scenario)

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        found = invariants.under_budget(trace, scenario)
        found += invariants.two_budgets(trace)
        found += invariants.begun_anew(trace)
        return found + invariants.out_of_order(trace, scenario)

    def residue(self, state: State) -> list[str]:
        return facts.residue(state)

    def end(self, scenario: Scenario, state: State) -> Flat:
        return normal.end(scenario, state)

    def counted_as(self, change: Change) -> str:
        return f"pods of {owner(change.object)}" if change.key.kind == "Pod" else str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        """Where the user steps in half-way, how far it had come is open: once for each way is the limit.

        Whose turn comes just when somebody begins to drain may be held for a moment, or not at all.
        """
        if scenario.bystander is Bystander.DRAINS and name.startswith(_HOLD):
            return 1
        rounds = 2 if scenario.unsteered else _ROUNDS[scenario.half_way]
        replicas = [one.replicas for one in scenario.workloads if name == f"pods of {one.id}"]
        return rounds * (replicas[0] if replicas else 1)

    def told(self, state: State) -> str:
        return facts.told(state)

    def is_work(self, step: str) -> bool:
        return step.startswith(_WORK)

    def alike(self, scenario: Scenario, about: str) -> str:
        """Nodes of a pool are alike, and so are pods of a StatefulSet."""
        name, _, number = about.rpartition("-")
        return name if number.isdecimal() else about


SUITE: Suite[Scenario] = Workloads()
