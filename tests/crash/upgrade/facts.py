"""What is asked of the objects of a scenario, answered from the objects themselves and nothing else."""

from __future__ import annotations

import json

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL, UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.upgrade.names import FINALIZER
from tests.crash.facts import Json, healthy, kind, labels, notes
from tests.crash.nodes import facts as nodes
from tests.crash.nodes.facts import version
from tests.crash.recorder import Key, State
from tests.crash.upgrade.scenarios import MIGRATION, UPGRADE, WORKERS, Scenario
from tests.crash.workloads import facts as workloads

ENDED = ("Upgraded", "Failed")


def upgrade(state: State) -> Json:
    return state.get(Key("UpgradeConfig", "", UPGRADE), {})


def status(state: State) -> Json:
    return upgrade(state).get("status") or {}


def migration(state: State) -> Json:
    return state.get(Key("WorkloadMigration", "", MIGRATION), {})


def rollout(state: State, name: str = WORKERS) -> Json:
    return state.get(Key("NodeRollout", "", name), {})


def records(state: State) -> list[Json]:
    return [one for each in kind(state, "NodeRollout") for one in (each.get("status") or {}).get("nodes", [])]


def all_well(state: State, scenario: Scenario) -> bool:
    """Whether every workload has all its pods, healthy."""
    return all(
        len(pods := nodes.pods_of(state, one)) == one.replicas and all(map(healthy, pods))
        for one in scenario.workloads
    )


def versions(state: State) -> set[str]:
    return {version(one) for one in kind(state, "Node")}


def residue(state: State) -> list[str]:
    """What of an upgrade is left: its NodeRollouts, its marks on a migration, what layers put on nodes."""
    found = [f"NodeRollout {one['metadata']['name']} is left" for one in kind(state, "NodeRollout")]
    one = migration(state)
    if one:
        marks = {**notes(one), **labels(one)}
        left = [key for key in (UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID) if key in marks]
        found += [f"WorkloadMigration {MIGRATION} keeps {key}" for key in left]
    if FINALIZER in (upgrade(state).get("metadata") or {}).get("finalizers", []):
        found.append(f"UpgradeConfig {UPGRADE} keeps {FINALIZER}")
    marks = [*nodes.residue(state), *workloads.residue(state)]
    return sorted([*found, *(one for one in marks if not (moves_by_itself(state) and _is_of_a_move(one)))])


def moves_by_itself(state: State) -> bool:
    """Whether a migration of the user's own goes on after the upgrade was given up: without a target it goes
    to the highest version that there is, and an abort leaves two."""
    one = migration(state)
    ours = {**notes(one), **labels(one)}.keys() & {UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID} if one else ()
    return bool(one) and not ours and (one.get("status") or {}).get("state") == "Upgrade"


def _is_of_a_move(line: str) -> bool:
    return line.endswith((TARGET_LABEL, OFF_TARGET_LABEL)) or line.startswith("WorkloadPlacement ")


def told(state: State) -> str:
    """One line about where a run stands."""
    said = status(state)
    rollouts = {
        one["metadata"]["name"]: (one.get("status") or {}).get("message")
        for one in kind(state, "NodeRollout")
    }
    moves = (migration(state).get("status") or {}).get("message")
    where = f"phase {said.get('phase')}, {said.get('reason')}: {said.get('message')}"
    return f"{where}; {json.dumps(rollouts)}; {moves}; {residue(state)}"
