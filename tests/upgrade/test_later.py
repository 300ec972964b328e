"""Quorum services and operators: held until their turn, each waited for, and never longer than that."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import MANAGED_BY, UPGRADE_HOLD
from shiplift.api.operators import AppType
from shiplift.api.quorum import QuorumService
from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION, POD_DISRUPTION_BUDGET, QUORUM_SERVICE, Kind
from shiplift.upgrade.model import Unreadable
from shiplift.upgrade.observe.later import app, service
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, World

STORE, BEACON = "QuorumService shop/store", "AppType shop/beacon"
COMES_FIRST = f"the upgrade to {NEW} comes first"


def wanting() -> World:
    world = World.of(1, 2)
    world.later(QUORUM_SERVICE, "store")
    world.later(APP_TYPE, "beacon")
    return world


def test_they_are_held_from_the_beginning_and_have_their_turn_one_after_the_other() -> None:
    world = wanting()
    judge = Judge(world)
    finish(world)
    well(world, judge)
    order = [judge.taken.index(f"hold {one}: {COMES_FIRST}") for one in (STORE, BEACON)]
    rollout = next(n for n, one in enumerate(judge.taken) if "make WorkloadMigration" in one)
    free = [judge.taken.index(f"let {one} go on") for one in (STORE, BEACON)]
    assert max(order) < rollout < free[0] < free[1]
    assert world.services["store"].ready
    assert world.apps["beacon"].ready


def test_each_is_waited_for_in_its_own_words() -> None:
    world = wanting()
    world.later(QUORUM_SERVICE, "store", stalled=True, message="the image is not signed")
    finish(world)
    status = world.config.status
    assert (status.phase, status.reason) == ("Upgrading", "StepStalled")
    assert status.message.startswith(f"{STORE}: the image is not signed; ")
    assert world.apps["beacon"].held == COMES_FIRST
    world.services["store"] = msgspec.structs.replace(world.services["store"], stalled=False)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_what_a_user_paused_is_passed_over_and_that_is_said() -> None:
    world = wanting()
    world.later(QUORUM_SERVICE, "store", paused=True)
    judge = Judge(world)
    finish(world)
    well(world, judge)
    said = {one.type: one for one in world.config.status.conditions}
    assert (said["ServicesUpgraded"].reason, said["OperatorsUpgraded"].reason) == ("NothingToDo", "Done")
    assert said["ServicesUpgraded"].message == f"paused by its user: {STORE}"


def test_where_there_is_none_that_is_said_and_stays_said() -> None:
    world = World.of(1, 1)
    finish(world)
    before = world.config.status
    said = {one.type: one.message for one in before.conditions}
    assert said["ServicesUpgraded"] == "there is no quorum service of ours"
    world.later(QUORUM_SERVICE, "store")
    finish(world)
    assert world.config.status.conditions == before.conditions


def test_a_swap_that_is_half_way_keeps_the_upgrade_from_starting_and_is_not_held() -> None:
    world = wanting()
    world.later(QUORUM_SERVICE, "store", under_way=True)
    Operator(world).round()
    assert world.config.status.reason == "PreflightFailed"
    assert [one.code for one in world.config.status.findings] == ["QUORUM"]
    until(world, lambda: world.config.status.target_version)
    world.later(QUORUM_SERVICE, "store", under_way=True)
    Operator(world).round()
    assert not world.services["store"].held


def test_a_pause_holds_them_in_the_middle_of_their_turn() -> None:
    world = wanting()
    world.later(APP_TYPE, "beacon", stalled=True, message="no catalog")
    until(world, lambda: "OperatorsUpgraded" in {one.type for one in world.config.status.conditions})
    finish(world)
    world.change(paused=True)
    finish(world)
    assert world.apps["beacon"].held == "paused"
    assert not world.services["store"].held
    world.apps["beacon"] = msgspec.structs.replace(world.apps["beacon"], stalled=False)
    world.change(paused=False)
    judge = Judge(world)
    finish(world)
    well(world, judge)


@pytest.mark.parametrize("abort", [True, False], ids=["aborted", "deleted"])
def test_an_end_before_their_turn_lets_them_go(abort: bool) -> None:
    world = wanting()
    judge = Judge(world)
    until(world, lambda: world.services["store"].held and world.apps["beacon"].held)
    if abort:
        world.change(abort=True)
    else:
        world.delete()
    finish(world)
    assert judge.residue() == []


def test_what_was_held_for_an_upgrade_that_is_gone_is_let_go() -> None:
    world = wanting()
    world.later(QUORUM_SERVICE, "store", held=COMES_FIRST)
    world.upgrade = None
    finish(world)
    assert not world.services["store"].held


def test_the_plan_names_what_they_become_and_another_image_is_another_plan() -> None:
    world = World.of(1, 1, approval="Manual")
    world.later(QUORUM_SERVICE, "store", "registry.example/store:2")
    world.later(APP_TYPE, "beacon", "beacon, the newest")
    Operator(world).round()
    plan = world.config.status.plan
    assert plan is not None
    assert f"then {STORE} to registry.example/store:2; then {BEACON} to beacon, the newest" in plan.summary
    world.approve()
    world.later(QUORUM_SERVICE, "store", "registry.example/store:3")
    Operator(world).round()
    assert world.config.status.reason == "NeedsApproval"


def made(kind: Kind, spec: dict[str, Any], about: dict[str, Any] | None = None, **status: Any) -> Any:
    body = {"metadata": {"name": "one", "namespace": "shop", "uid": "u", "generation": 2, **(about or {})}}
    types = {QUORUM_SERVICE: QuorumService, APP_TYPE: AppType}
    return msgspec.convert({**body, "spec": spec, "status": status}, types[kind])


def condition(name: str, status: str, reason: str) -> dict[str, str]:
    return {
        "type": name,
        "status": status,
        "reason": reason,
        "lastTransitionTime": "2026-05-04T09:00:00Z",
    }


READY = condition("Ready", "True", "AtTarget")
SERVICE = {"statefulSets": ["store"], "image": "registry.example/store:2", "credentialsSecret": "admin"}
APP = {"package": "beacon", "serviceAccountName": "installer"}


@pytest.mark.parametrize(
    ("status", "ready", "under_way"),
    [
        ({"observedGeneration": 2, "conditions": [READY]}, True, False),
        ({"observedGeneration": 1, "conditions": [READY]}, False, False),
        ({"observedGeneration": 2, "conditions": [condition("Ready", "False", "Paused")]}, False, False),
        ({"observedGeneration": 2, "step": "Validate"}, False, False),
        ({"observedGeneration": 2, "step": "Stage"}, False, True),
    ],
)
def test_a_quorum_service_is_read_as_its_layer_means_it(
    status: dict[str, Any], ready: bool, under_way: bool
) -> None:
    one = service(made(QUORUM_SERVICE, SERVICE, {"annotations": {UPGRADE_HOLD: "why"}}, **status))
    assert (one.ready, one.under_way, one.held, one.wants) == (ready, under_way, "why", SERVICE["image"])


@pytest.mark.parametrize(
    ("behind", "ready"),
    [
        (condition("UpToDate", "True", "UpToDate"), True),
        (condition("UpToDate", "False", "Paused"), False),
        (condition("UpToDate", "False", "Making"), False),
        (condition("UpToDate", "Unknown", "Upgrading"), False),
        (condition("UpToDate", "False", "NeedsApproval"), True),
        (condition("UpToDate", "False", "Vetoed"), True),
    ],
)
def test_an_operator_that_waits_for_its_user_is_not_waited_for(behind: dict[str, str], ready: bool) -> None:
    one = app(made(APP_TYPE, APP, observedGeneration=2, conditions=[READY, behind]))
    assert (one.ready, one.wants) == (ready, "beacon, the newest")
    assert one.under_way is (behind["reason"] == "Upgrading"), "held in the middle, neither version would run"


def test_what_only_a_layer_asks_for_is_in_no_plan() -> None:
    assert app(made(APP_TYPE, APP, {"labels": {MANAGED_BY: "shiplift"}})).wants == ""
    pinned = app(made(APP_TYPE, APP | {"version": "1.2.0", "channel": "stable"}))
    assert pinned.wants == "beacon, 1.2.0"


def test_one_that_says_nothing_names_the_layer_that_has_to_run() -> None:
    world = wanting()
    until(world, lambda: world.services["store"].held)
    world.later(APP_TYPE, "beacon", paused=True)
    operator = Operator(world)
    until(world, lambda: not world.services["store"].held, operator)
    for minutes, reason in ((0, "Services"), (5, "StepStalled")):
        world.services["store"] = msgspec.structs.replace(world.services["store"], ready=False)
        world.now += timedelta(minutes=minutes)
        operator.round()
        operator.round()
        assert world.config.status.reason == reason
    assert "an operator with the layer quorum has to run" in world.config.status.message


@pytest.mark.parametrize("kind", [QUORUM_SERVICE, APP_TYPE, OPERATOR_VERSION, POD_DISRUPTION_BUDGET])
def test_what_cannot_be_read_is_never_none_before_the_start(kind: Kind) -> None:
    world = World.of(1, 1)
    world.unreadable = (Unreadable(kind, "shop/store", "no number"),)
    finish(world)
    status = world.config.status
    assert (status.reason, status.target_version) == ("Unreadable", None)
    assert f"{kind} shop/store cannot be read: no number" in status.message


@pytest.mark.parametrize("kind", [QUORUM_SERVICE, APP_TYPE])
def test_what_cannot_be_read_by_then_stalls_its_own_step(kind: Kind) -> None:
    world = World.of(1, 1)
    until(world, lambda: world.rollouts)
    world.unreadable = (Unreadable(kind, "shop/store", "no number"),)
    finish(world)
    status = world.config.status
    assert (status.phase, status.reason) == ("Upgrading", "Unreadable")
    assert "shop/store cannot be read: no number; mend it, or delete it" in status.message
    world.unreadable = ()
    judge = Judge(world)
    finish(world)
    well(world, judge)
