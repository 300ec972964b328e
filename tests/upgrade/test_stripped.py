"""Somebody takes our marks off what was made for the upgrade, or sends a NodeRollout of ours elsewhere: it is
put right, told, and nothing is left in the end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.marks import UPGRADE_UID
from shiplift.api.values import LabelSelector
from shiplift.upgrade.names import FINALIZER
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.test_contested import unmark
from tests.upgrade.world import NEW, World

WORKERS = "upgrade-v1.36.3-workers"
MINUTE = 60


def under_way(workers: int = 4) -> tuple[World, Operator]:
    world = World.of(1, workers)
    operator = Operator(world)
    until(world, lambda: WORKERS in world.rollouts, operator)
    return world, operator


def unlabel(one: Any) -> Any:
    labels = {key: value for key, value in one.metadata.labels.items() if key != UPGRADE_UID}
    return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, labels=labels))


def strip(world: World, how: str) -> None:
    """As somebody who applies labels, or annotations, anew."""
    off = unlabel if how == "labels" else lambda one: unmark(one, UPGRADE_UID)
    world.rollouts = {name: off(one) for name, one in world.rollouts.items()}
    world.migration = off(world.migration)


def left(world: World) -> list[object]:
    return [*world.rollouts, *([world.migration] if world.migration else [])]


@pytest.mark.parametrize("how", ["labels", "annotations"])
@pytest.mark.parametrize("abort", [False, True], ids=["it goes on", "it is aborted"])
def test_what_is_ours_is_known_by_the_other_mark_and_goes_in_the_end(how: str, abort: bool) -> None:
    world, _ = under_way()
    strip(world, how)
    judge = Judge(world)
    if abort:
        world.change(abort=True)
    finish(world)
    assert left(world) == []
    if not abort:
        well(world, judge)


@pytest.mark.parametrize("how", ["labels", "annotations"])
def test_the_mark_is_put_back_and_who_takes_it_off_again_is_told(how: str) -> None:
    world, operator = under_way()
    strip(world, how)
    operator.round()
    for one in (*world.rollouts.values(), world.migration):
        assert one is not None
        assert UPGRADE_UID in one.metadata.labels
        assert UPGRADE_UID in one.metadata.annotations
    judge, told = Judge(world), False
    for _ in range(5 * MINUTE):
        strip(world, how)
        operator.round()
        told = told or f"takes our mark {UPGRADE_UID} off" in world.config.status.message
        for host in world.hosts.values():
            host.kubelet = host.kubelet if host.api_server else "v1.35.4"
        world.turn()
    assert told
    assert len(judge.taken) < 60, judge.taken


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"version": "v1.36.9"}, "version"),
        ({"node_selector": LabelSelector(match_labels={"pool": "a"})}, "nodeSelector"),
        ({"pools": ("a",)}, "pools"),
    ],
    ids=["another version", "another selector", "one pool"],
)
def test_a_rollout_that_somebody_sends_elsewhere_is_sent_back(field: dict[str, Any], name: str) -> None:
    world, operator = under_way()
    before = world.rollouts[WORKERS].spec

    def edit() -> None:
        one = world.rollouts[WORKERS]
        world.rollouts[WORKERS] = msgspec.structs.replace(
            one, spec=msgspec.structs.replace(one.spec, **field)
        )

    edit()
    operator.round()
    assert world.rollouts[WORKERS].spec == before
    judge, told = Judge(world), False
    for _ in range(5 * MINUTE):
        edit()
        operator.round()
        told = told or f"sends NodeRollout {WORKERS} elsewhere (spec.{name});" in world.config.status.message
        for host in world.hosts.values():
            host.kubelet = host.kubelet if host.api_server else "v1.35.4"
        world.turn()
    assert told
    assert len(judge.taken) < 60, judge.taken
    finish(world)
    assert {one.kubelet for one in world.hosts.values()} == {NEW}


def test_our_finalizer_that_somebody_takes_off_half_way_is_put_back() -> None:
    """Without it, deleting the UpgradeConfig would leave a control plane that is half way."""
    world, operator = under_way()

    def off() -> None:
        about = msgspec.structs.replace(world.config.metadata, finalizers=("backup.example/keep",))
        world.upgrade = msgspec.structs.replace(world.config, metadata=about)

    off()
    operator.round()
    assert FINALIZER in world.config.metadata.finalizers
    judge, told = Judge(world), False
    for _ in range(5 * MINUTE):
        off()
        operator.round()
        told = told or "takes our finalizer off" in world.config.status.message
        for host in world.hosts.values():
            host.kubelet = host.kubelet if host.api_server else "v1.35.4"
        world.turn()
    assert told
    assert len(judge.taken) < 60, judge.taken
    finish(world)
    assert world.config.status.phase == "Upgraded"
