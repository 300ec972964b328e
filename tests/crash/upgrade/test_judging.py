"""The judge of upgrades finds what is wrong in traces made up for it, and nothing in a good one."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.upgrade.names import FINALIZER
from tests.crash.recorder import Change, Key, State, Trace
from tests.crash.upgrade import facts, invariants
from tests.crash.upgrade.scenarios import LATER, PATIENT, PLANE, WORKERS, HalfWay, Scenario
from tests.crash.workloads.shape import NEW, OLD

Json = dict[str, Any]
SPEC = {"desired": {"version": NEW}}
SCENARIO = Scenario(name="made up", spec=SPEC)
OWN = Scenario(name="made up", spec=SPEC, migration={"soak": "1s"})
CONFIG, MIGRATION = Key("UpgradeConfig", "", "cluster"), Key("WorkloadMigration", "", "cluster")
PLANE_LABEL = {"node-role.kubernetes.io/control-plane": ""}


def node(name: str, version: str, **labels: str) -> tuple[Key, Json]:
    about = {"name": name, "uid": name, "labels": labels}
    return Key("Node", "", name), {
        "metadata": about,
        "spec": {},
        "status": {"nodeInfo": {"kubeletVersion": version}},
    }


def config(started: str = "1", *, finalizer: bool = True, **status: Any) -> Json:
    about = {"name": "cluster", "uid": "u", "finalizers": [FINALIZER] if finalizer else []}
    told = {"startTime": started} if started else {}
    return {"metadata": about, "spec": SPEC, "status": told | status}


def rollout(name: str = WORKERS, version: str = NEW, *, paused: bool = False) -> tuple[Key, Json]:
    about = {"name": name, "uid": name, "labels": {UPGRADE_UID: "u"}}
    spec: Json = {"version": version} | ({"paused": True} if paused else {})
    return Key("NodeRollout", "", name), {"metadata": about, "spec": spec, "status": {}}


def migration(notes: Json | None = None, **spec: Any) -> tuple[Key, Json]:
    about = {"name": "cluster", "uid": "m", "annotations": notes or {}, "labels": {}}
    return MIGRATION, {"metadata": about, "spec": {"soak": "1s"} | spec}


def trace(start: State, *changes: tuple[Key, Json]) -> Trace:
    plane = dict([node("p-0", NEW, **PLANE_LABEL)])
    made = [Change(number, key, thing) for number, (key, thing) in enumerate(changes, 10)]
    return Trace(plane | start, tuple(made))


def found(scenario: Scenario, *changes: tuple[Key, Json], **start: Json) -> list[str]:
    begun = {CONFIG: start.get("config", config(targetVersion=NEW))}
    return [line.partition(", at version")[0] for line in invariants.broken(scenario, trace(begun, *changes))]


def test_a_good_run_has_nothing_wrong() -> None:
    assert found(SCENARIO, rollout(PLANE), rollout(WORKERS)) == []
    assert found(OWN, migration({UPGRADE_LEDGER: "1"}, target=NEW), migration()) == []


@pytest.mark.parametrize(
    ("start", "line"),
    [
        (config("", targetVersion=NEW), "NodeRollout was there before the start was stored"),
        (
            config(finalizer=False),
            "NodeRollout was there without a finalizer on the UpgradeConfig",
        ),
    ],
)
def test_nothing_is_made_before_the_start_is_stored(start: Json, line: str) -> None:
    assert found(SCENARIO, rollout(), config=start) == [line]


def test_workers_wait_for_the_control_plane() -> None:
    begun: State = {CONFIG: config(), **dict([node("p-1", OLD, **PLANE_LABEL)])}
    lines = invariants.broken(SCENARIO, trace(begun, rollout()))
    assert any("workers were begun before the control plane was upgraded" in one for one in lines)
    assert any("the control plane is left half way" in one for one in lines)


def test_what_is_a_users_own_is_not_written() -> None:
    assert found(SCENARIO, rollout(paused=True)) == [f"paused of NodeRollout {WORKERS} was written"]
    assert found(OWN, migration(soak="9s")) == [
        "a field of the user's migration was changed besides its target"
    ]
    assert found(OWN, migration(target=NEW)) == [
        "the user's migration had our target, and nothing said what it had before"
    ]


def test_a_target_stays_frozen() -> None:
    assert found(SCENARIO, rollout(version=LATER)) == [
        "workers were begun before the control plane was upgraded",
        f"a NodeRollout went to {LATER} in an upgrade to {NEW}",
    ]


def test_an_upgrade_starts_once_and_ends_where_it_should() -> None:
    again = (CONFIG, config("2", targetVersion=NEW))
    assert "the upgrade started 2 times" in found(SCENARIO, (CONFIG, config("1")), again)
    another = Scenario(name="made up", spec=SPEC, half_way=HalfWay.ANOTHER)
    assert found(another, (CONFIG, config("1")), again) == []
    old = {CONFIG: config(), **dict([node("n-0", OLD)])}
    assert invariants.broken(SCENARIO, trace(old)) == [f"nodes run {[OLD, NEW]} at the end"]


def test_a_strategy_that_is_changed_half_way_reaches_the_rollout() -> None:
    scenario = Scenario(name="made up", spec=SPEC, half_way=HalfWay.STRATEGY)
    key, thing = rollout()
    kept = "the strategy was changed half-way, and the NodeRollout of the workers kept the one from before"
    assert found(scenario, (key, thing)) == [kept]
    assert found(scenario, (key, thing | {"spec": thing["spec"] | PATIENT["nodes"]})) == []


def test_what_is_left_is_named() -> None:
    state: State = dict([rollout(), migration({UPGRADE_HOLD: "paused"})])
    state[CONFIG] = config()
    assert facts.residue(state) == [
        f"NodeRollout {WORKERS} is left",
        f"UpgradeConfig cluster keeps {FINALIZER}",
        f"WorkloadMigration cluster keeps {UPGRADE_HOLD}",
    ]
    assert facts.residue({}) == []
