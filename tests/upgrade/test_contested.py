"""A controller that undoes what the conductor does: it is told, and fought ever more slowly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.base import Resource
from shiplift.api.marks import PROVIDER_LABEL, REFRESH_ASKED, TURN_TOLD, UPGRADE_HOLD, UPGRADE_LEDGER
from shiplift.api.values import Window
from shiplift.facts.kinds import APP_TYPE
from shiplift.upgrade.model import ClusterVersion
from shiplift.upgrade.names import FINALIZER
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, World

HOOK: dict[str, Any] = {
    "name": "tell",
    "namespace": "ops",
    "serviceAccountName": "teller",
    "job": {"template": {}},
}
MINUTE = 60
OPEN = Window(schedule="0 9 * * *", duration="8h")


def unmark(one: Any, mark: str) -> Any:
    assert isinstance(one, Resource)
    notes = {key: value for key, value in one.metadata.annotations.items() if key != mark}
    return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, annotations=notes))


def held_rollout() -> World:
    world = World.of(1, 3)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts))
    world.change(paused=True)
    return world


def unhold_rollout(world: World) -> None:
    world.rollouts = {name: unmark(one, UPGRADE_HOLD) for name, one in world.rollouts.items()}
    for one in world.hosts.values():
        one.kubelet = one.kubelet if one.api_server else "v1.35.4"


def held_app() -> World:
    world = World.of(1, 2)
    world.later(APP_TYPE, "shop")
    world.hosts["cp-0"].fails = True
    until(world, lambda: world.apps["shop"].held)
    return world


def unhold_app(world: World) -> None:
    world.apps["shop"] = msgspec.structs.replace(world.apps["shop"], held="", ready=False)


def made_rollout() -> World:
    world = World.of(1, 2)
    until(world, lambda: world.rollouts)
    return world


def delete_rollouts(world: World) -> None:
    world.rollouts = {}
    for one in world.hosts.values():
        one.kubelet = "v1.35.4"


def set_rollout() -> World:
    world = World.of(1, 2)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts))
    world.change(windows=(OPEN,))
    return world


def unset_rollouts(world: World) -> None:
    """As a controller that keeps windows of its own."""
    for name, one in world.rollouts.items():
        spec = msgspec.structs.replace(one.spec, windows=(OPEN, OPEN))
        world.rollouts[name] = msgspec.structs.replace(one, spec=spec)
    for one in world.hosts.values():
        one.kubelet = one.kubelet if one.api_server else "v1.35.4"


def told_turn() -> World:
    world = World.of(0, 2, version="1.36", type="External", turnHook=HOOK)
    until(world, lambda: TURN_TOLD in world.config.metadata.annotations)
    return world


def untell(world: World) -> None:
    world.upgrade = unmark(world.config, TURN_TOLD)


def told_openshift() -> World:
    world = World.of(
        0, 2, version="4.20.3", type="OpenShift", desired={"version": "4.20.3", "channel": "fast"}
    )
    offered = frozenset({"4.20.3"})
    world.cluster_version = ClusterVersion("cv", reached="4.20.1", channel="stable", offered=offered)
    until(world, lambda: world.cluster_version is not None and world.cluster_version.wanted)
    return world


def untell_openshift(world: World) -> None:
    assert world.cluster_version is not None
    world.cluster_version = msgspec.structs.replace(world.cluster_version, wanted="", channel="stable")


def own_migration() -> World:
    world = World.of(1, 2)
    world.migrate()
    until(world, lambda: world.migration is not None and world.migration.spec.target)
    return world


def retarget(world: World) -> None:
    """As a GitOps tool that applies the whole object, annotations included."""
    assert world.migration is not None
    bare = unmark(world.migration, UPGRADE_LEDGER)
    world.migration = msgspec.structs.replace(bare, spec=msgspec.structs.replace(bare.spec, target=None))
    for one in world.hosts.values():
        one.kubelet = one.kubelet if one.api_server else "v1.35.4"


KEPT: dict[str, tuple[dict[str, Any], Any]] = {}
"""What was there half-way, as somebody has noted it."""


def aborted() -> World:
    """Of the rollout that somebody has noted."""
    world = World.of(1, 3)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts))
    KEPT[world.config.metadata.uid] = (dict(world.rollouts), world.migration)
    world.change(abort=True)
    finish(world)
    return world


def restore_rollouts(world: World) -> None:
    noted, _ = KEPT[world.config.metadata.uid]
    if not world.rollouts:
        world.rollouts = {name: renewed(world, one) for name, one in noted.items()}


def restore_migration(world: World) -> None:
    _, noted = KEPT[world.config.metadata.uid]
    if world.migration is None:
        world.migration = renewed(world, noted)


def renewed(world: World, one: Any) -> Any:
    about = msgspec.structs.replace(one.metadata, uid=f"again-{world.number()}")
    return msgspec.structs.replace(one, metadata=about)


def put_finalizer_on(world: World) -> None:
    about = msgspec.structs.replace(world.config.metadata, finalizers=(FINALIZER,))
    world.upgrade = msgspec.structs.replace(world.config, metadata=about)


def aborted_with_turn() -> World:
    world = told_turn()
    world.change(abort=True)
    finish(world)
    return world


def tell_turn_again(world: World) -> None:
    world.mark(**{TURN_TOLD: "tell-1"})


def aborted_own_migration() -> World:
    world = own_migration()
    KEPT[world.config.metadata.uid] = ({}, world.migration)
    world.change(abort=True)
    finish(world)
    return world


def apply_ledger(world: World) -> None:
    _, noted = KEPT[world.config.metadata.uid]
    world.migration = noted


def asked() -> World:
    world = World.of(1, 2)
    world.mark({PROVIDER_LABEL: "HTTP"})
    until(world, lambda: REFRESH_ASKED in world.config.metadata.annotations)
    return world


def unask(world: World) -> None:
    world.upgrade = unmark(world.config, REFRESH_ASKED)


@pytest.mark.parametrize(
    ("made", "undo", "says"),
    [
        (aborted, restore_rollouts, "makes NodeRollout"),
        (aborted, restore_migration, "makes WorkloadMigration cluster again"),
        (aborted, put_finalizer_on, "puts our finalizer on the UpgradeConfig"),
        (aborted_with_turn, tell_turn_again, f"puts the annotation {TURN_TOLD} on"),
        (aborted_own_migration, apply_ledger, "puts our target, and the record of it, back"),
        (asked, unask, f"takes the annotation {REFRESH_ASKED} off"),
        (held_rollout, unhold_rollout, "takes our mark off NodeRollout"),
        (held_app, unhold_app, "takes our mark off AppType"),
        (set_rollout, unset_rollouts, "somebody else changes windows or strategy of NodeRollout"),
        (made_rollout, delete_rollouts, "somebody else deletes NodeRollout"),
        (told_turn, untell, f"takes the annotation {TURN_TOLD} off"),
        (told_openshift, untell_openshift, "sets another channel of ClusterVersion"),
        (own_migration, retarget, "sets the target of WorkloadMigration cluster back"),
    ],
)
def test_a_controller_that_undoes_it_at_once_is_told_and_not_fought_at_full_speed(
    made: Callable[[], World], undo: Callable[[World], None], says: str
) -> None:
    world = made()
    operator, judge, told = Operator(world), Judge(world), False
    for _ in range(10 * MINUTE):
        operator.round()
        told = told or says in world.config.status.message
        undo(world)
        world.turn()
    assert told
    assert len(judge.taken) < 60, judge.taken


def test_a_user_who_pauses_and_resumes_is_nobody_who_undoes() -> None:
    world = World.of(1, 12)
    operator, judge = Operator(world), Judge(world)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts), operator)
    for paused in (True, False) * 4:
        world.change(paused=paused)
        operator.round()
        assert "somebody" not in world.config.status.message
        for rollout in world.rollouts.values():
            held = UPGRADE_HOLD in rollout.metadata.annotations
            assert held is paused or rollout.metadata.name.endswith("control-plane")
    finish(world)
    well(world, judge, NEW)


def test_what_is_left_alone_for_a_while_is_not_told_any_more() -> None:
    world = made_rollout()
    operator = Operator(world)
    for _ in range(3):
        delete_rollouts(world)
        until(world, lambda: world.rollouts, operator)
    world.now += timedelta(minutes=11)
    delete_rollouts(world)
    until(world, lambda: world.rollouts, operator)
    operator.round()
    assert "somebody" not in world.config.status.message


def test_one_who_comes_by_every_few_minutes_is_told_in_between() -> None:
    """As GitOps that looks every three minutes: what it undoes is done again at once."""
    world = made_rollout()
    world.stuck = "a pod cannot be evicted"
    operator, told = Operator(world), 0
    for second in range(20 * MINUTE):
        if second % (3 * MINUTE) == 0:
            delete_rollouts(world)
        operator.round()
        told += "somebody else deletes NodeRollout" in world.config.status.message
        world.turn()
    assert told > 16 * MINUTE
    for _ in range(11 * MINUTE):
        operator.round()
        world.turn()
    assert "somebody else" not in world.config.status.message
