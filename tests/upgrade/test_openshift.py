"""An upgrade that the cluster-version operator makes: what it is told, and what is made of what it says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.upgrade import UpgradePhase
from shiplift.upgrade.model import ClusterVersion
from shiplift.upgrade.observe.cluster_versions import seen
from shiplift.upgrade.steps import SetChannel, SetUpdate
from tests.upgrade.players import Judge, Operator, finish, until
from tests.upgrade.world import World

OLD, NEW = "4.19.3", "4.20.1"
FOUND = ClusterVersion("cv", OLD, OLD, "stable-4.19", frozenset({"4.19.9", NEW}))


def openshift(found: ClusterVersion | None = FOUND, version: str = NEW, **spec: Any) -> World:
    channel = spec.pop("channel", None)
    desired = {"version": version} | ({"channel": channel} if channel else {})
    world = World.of(0, 2, type="OpenShift", desired=desired, **spec)
    world.cluster_version = found
    return world


def change(world: World, **values: Any) -> None:
    assert world.cluster_version is not None
    world.cluster_version = msgspec.structs.replace(world.cluster_version, **values)


def told(world: World) -> tuple[str, str, bool]:
    Operator(world).round()
    status = world.config.status
    stalled = any(one.type == "Stalled" and one.status == "True" for one in status.conditions)
    return status.reason or "", status.message, stalled


def test_it_is_told_the_version_and_waited_for() -> None:
    world = openshift()
    judge = Judge(world)
    finish(world)
    assert judge.taken[1:] == [f"set the desired update of ClusterVersion version to {NEW}"]
    assert world.cluster_version is not None
    assert world.cluster_version.wanted == NEW
    change(world, message="Working towards 4.20.1: 106 of 841 done (12% complete)")
    assert "106 of 841 done" in told(world)[1]
    change(world, reached=NEW, message="")
    finish(world)
    status = world.config.status
    assert (status.phase, status.history[0].preceding_version) == (UpgradePhase.UPGRADED, "v4.19.3")
    assert (world.migration, world.rollouts) == (None, {})


def test_another_channel_comes_first_and_what_it_offers_is_waited_for() -> None:
    found = msgspec.structs.replace(FOUND, offered=frozenset({"4.19.9"}))
    world = openshift(found, channel="stable-4.20")
    until(world, lambda: world.cluster_version and world.cluster_version.channel == "stable-4.20")
    finish(world)
    assert world.config.status.reason == "StepStalled"
    assert "does not offer 4.20.1 in channel stable-4.20; it offers 4.19.9" in world.config.status.message
    change(world, offered=frozenset({NEW}))
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)


def test_what_it_fails_with_is_passed_on_as_it_says_it() -> None:
    world = openshift()
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)
    change(world, failing="Cluster operator etcd is degraded")
    reason, message, stalled = told(world)
    assert (reason, stalled) == ("StepStalled", True)
    assert message.endswith("Cluster operator etcd is degraded")


@pytest.mark.parametrize(
    ("version", "reason", "words"),
    [
        ("4.18.9", "VersionRefused", "below"),
        ("4.22.0", "VersionRefused", "more than one minor above"),
        (OLD, "Upgraded", "already"),
    ],
)
def test_where_it_cannot_go_or_is(version: str, reason: str, words: str) -> None:
    found, message, _ = told(openshift(version=version))
    assert found == reason
    assert words in message


def test_what_its_operators_say_against_another_minor_keeps_it_from_starting() -> None:
    against = msgspec.structs.replace(FOUND, not_upgradeable="Kubelet versions are too old")
    reason, message, _ = told(openshift(against))
    assert reason == "PreflightFailed"
    assert "UPGRADEABLE" in message
    assert "Kubelet versions are too old" in message
    assert told(openshift(against, version="4.19.9"))[0] == "Starting"


def test_without_a_cluster_version_or_a_version_nothing_is_begun() -> None:
    reason, message, stalled = told(openshift(None))
    assert (reason, stalled) == ("UnknownVersion", True)
    assert "ClusterVersion version cannot be read" in message
    world = World.of(0, 2, type="OpenShift", desired={"channel": "stable-4.20"})
    world.cluster_version = FOUND
    assert told(world)[0] == "VersionRefused"


def test_a_pause_before_it_is_told_keeps_it_and_after_that_it_goes_on_by_itself() -> None:
    world = openshift(paused=True)
    finish(world)
    assert world.cluster_version == FOUND
    world.change(paused=False)
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)
    world.change(paused=True)
    assert told(world)[0] == "Paused"
    change(world, reached=NEW)
    finish(world)
    assert world.config.status.phase is UpgradePhase.UPGRADED


def test_one_that_has_begun_without_us_is_taken_up_where_it_is() -> None:
    world = openshift(msgspec.structs.replace(FOUND, wanted=NEW, message="Working towards 4.20.1"))
    judge = Judge(world)
    finish(world)
    assert not [one for one in judge.taken if "ClusterVersion" in one]
    assert "Working towards 4.20.1" in world.config.status.message


def test_what_a_cluster_version_says_is_read_as_it_is_meant() -> None:
    live = {
        "metadata": {"uid": "x"},
        "spec": {"channel": "stable-4.20", "desiredUpdate": {"version": NEW}},
        "status": {
            "history": [{"state": "Partial", "version": NEW}, {"state": "Completed", "version": OLD}],
            "availableUpdates": [{"version": "4.20.2"}],
            "conditionalUpdates": [{"release": {"version": "4.20.3"}}],
            "conditions": [
                {"type": "Progressing", "status": "True", "message": "Working"},
                {"type": "Failing", "status": "False", "message": "fine"},
                {"type": "Upgradeable", "status": "False", "message": "not now"},
            ],
        },
    }
    assert seen(live) == ClusterVersion(
        "x", OLD, NEW, "stable-4.20", frozenset({"4.20.2", "4.20.3"}), "Working", "", "not now"
    )
    assert seen({"metadata": {"uid": "x"}, "status": {"availableUpdates": None}}) == ClusterVersion("x")


def test_steps_say_themselves() -> None:
    assert SetChannel("u", "fast").describe() == "set the channel of ClusterVersion version to fast"
    assert SetUpdate("u", NEW).describe().endswith(NEW)
