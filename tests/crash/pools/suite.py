"""The layer `machines` under the crash harness, beside a real kwok and the garbage collector."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import POOL_LABEL
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.part import LayerPart
from shiplift.machines.controller import PART
from tests.crash import normal
from tests.crash.facts import labels
from tests.crash.mutants import Mutant
from tests.crash.pools import facts, invariants, mutants, scenarios
from tests.crash.pools.scenarios import POOL, Scenario
from tests.crash.pools.world import World
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite

Json = dict[str, Any]
_FREE_STATUS = frozenset({"message", "observedGeneration", "creationTime"})


class Machines:
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
        return (kinds.MACHINE_POOL, kinds.MACHINE, kinds.NODE)

    def build(self, stage: Stage, scenario: Scenario) -> None:
        kind = kinds.MACHINE_POOL
        spec = {"role": "Worker", "provider": "Kwok", "replicas": scenario.replicas, "version": "1.36.3"}
        about = {"name": POOL}
        stage.create([{"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about, "spec": spec}])

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        return invariants.broken(scenario, trace)

    def residue(self, state: State) -> list[str]:
        """A machine without its node, or a node without its machine."""
        machines = {key.name for key in state if key.kind == "Machine"}
        nodes = set(facts.ours(state))
        return [f"{name} is there by half" for name in sorted(machines ^ nodes)]

    def end(self, scenario: Scenario, state: State) -> Flat:
        flat: Flat = {}
        for key, one in state.items():
            if key.kind in ("MachinePool", "Machine"):
                flat |= dict(normal.flatten(str(key), _told(one)))
            elif POOL_LABEL in labels(one):
                flat |= dict(normal.flatten(str(key), _given(one)))
        return flat

    def counted_as(self, change: Change) -> str:
        return str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        return 0

    def told(self, state: State) -> str:
        return facts.told(state)

    def is_work(self, step: str) -> bool:
        return "create machines" in step or "create nodes" in step

    def alike(self, scenario: Scenario, about: str) -> str:
        return about.rpartition("-")[0] or about


def _given(node: Json) -> Json:
    """The labels that it was made with: controllers add others in their own time, and taints too."""
    return {name: value for name, value in labels(node).items() if not name.startswith("beta.")}


def _told(one: Json) -> Json:
    """Of an owner its name: uids differ."""
    about = normal.thing(one)
    owners = about["metadata"].pop("ownerReferences", ())
    status = normal.status(facts.status(one), _FREE_STATUS)
    return {**about, "owners": [each["name"] for each in owners], "status": status}


SUITE: Suite[Scenario] = Machines()
