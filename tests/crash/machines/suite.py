"""`shiplift bootstrap` under the crash harness: what the harness asks of it.

No operator runs, and what is judged is on machines: so a lane of its own runs the plans, and the questions
that only make sense for operators have no answer here.
"""

from __future__ import annotations

from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from tests.crash.machines import events, facts, invariants, mutants, normal, scenarios
from tests.crash.machines.lane import MachineLane
from tests.crash.machines.scenarios import Scenario
from tests.crash.mutants import Mutant
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite

_ANY_NUMBER = 99


class Bootstrapping:
    """What the harness asks of it."""

    @property
    def part(self) -> LayerPart:
        raise LookupError("no operator runs this layer")

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return scenarios.ALL

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return mutants.ALL

    @property
    def watched(self) -> tuple[Kind, ...]:
        return ()

    def build(self, stage: Stage, scenario: Scenario) -> None:
        raise LookupError("its machines are not built on a stage")

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        raise LookupError("nobody plays beside bootstrap")

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        return invariants.broken(scenario, events.of(trace))

    def residue(self, state: State) -> list[str]:
        return normal.residue(state)

    def end(self, scenario: Scenario, state: State) -> Flat:
        return normal.end(scenario, state)

    def counted_as(self, change: Change) -> str:
        return change.object["metadata"]["name"]

    def most(self, scenario: Scenario, name: str) -> int:
        """A control plane may be asked again for a token; what a power cut has cut off is told elsewhere."""
        free = not name or name == events.CUT_OFF or "kubeadm token" in name or name.endswith("kubeadm reset")
        return _ANY_NUMBER if free else 0

    def told(self, state: State) -> str:
        return ", ".join(one["metadata"]["name"] for one in facts.of_kind(state, facts.NODE))

    def is_work(self, step: str) -> bool:
        return step.startswith("begin ")

    def alike(self, scenario: Scenario, about: str) -> str:
        return about.rpartition("-")[0]


SUITE: Suite[Scenario] = Bootstrapping()
LANE = MachineLane
