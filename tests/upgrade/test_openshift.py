"""An upgrade that the cluster-version operator makes: what it is told, and what is made of what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import Policy, UpgradePhase
from shiplift.upgrade.model import ClusterVersion, ConfigPool
from shiplift.upgrade.observe.cluster_versions import seen
from shiplift.upgrade.observe.config_pools import seen as seen_pool
from shiplift.upgrade.steps import SetChannel, SetUpdate
from tests.upgrade.players import Judge, Operator, finish, until
from tests.upgrade.world import World

OLD, NEW = "4.19.3", "4.20.1"
UPDATED = {"type": "Updated", "status": "True"}
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
    world.now += timedelta(minutes=6)
    finish(world)
    assert world.config.status.reason == "StepStalled"
    assert "does not offer 4.20.1 in channel stable-4.20; it offers 4.19.9" in world.config.status.message
    change(world, offered=frozenset({NEW}))
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)


def test_what_the_channel_from_before_offers_stalls_nothing_while_the_next_one_is_looked_at() -> None:
    found = msgspec.structs.replace(FOUND, offered=frozenset({"4.19.9"}))
    world = openshift(found, channel="stable-4.20")
    operator = Operator(world)
    until(world, lambda: world.cluster_version and world.cluster_version.channel == "stable-4.20", operator)
    for _ in range(200):
        operator.round()
        world.turn()
        assert not any(one.type == "Stalled" for one in world.config.status.conditions)
    assert "looks what channel stable-4.20 offers" in world.config.status.message
    world.now += timedelta(minutes=5)
    operator.round()
    assert world.config.status.reason == "StepStalled"


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


def test_machines_of_every_pool_are_waited_for_and_paused_ones_are_passed_over() -> None:
    world = openshift(msgspec.structs.replace(FOUND, wanted=NEW))
    late = ConfigPool("late", 4, 0, paused=True)
    world.config_pools = (ConfigPool("infra", 2, 1), late, ConfigPool("worker", 3, 3, settled=True))
    until(world, lambda: world.config.status.target_version)
    assert [(one.code, one.severity) for one in world.config.status.findings] == [("POOLS", "Warning")]
    change(world, reached=NEW)
    finish(world)
    status = world.config.status
    assert (status.phase, status.reason) == (UpgradePhase.UPGRADING, "Nodes")
    assert status.message == "MachineConfigPool infra: 1 of 2 machines are updated"
    assert status.nodes.summary == "4/9"
    world.config_pools = (ConfigPool("infra", 2, 1, degraded="node n is reporting: disk full"), late)
    assert told(world) == (
        "StepStalled",
        "MachineConfigPool infra: 1 of 2 machines are updated: node n is reporting: disk full",
        True,
    )
    world.config_pools = (ConfigPool("infra", 2, 2, settled=True), late)
    finish(world)
    assert world.config.status.phase is UpgradePhase.UPGRADED
    assert world.config.status.nodes.summary == "2/6"


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"machineCount": 3, "updatedMachineCount": 3, "observedGeneration": 2}, ConfigPool("w", 3, 3)),
        (
            {"machineCount": 3, "updatedMachineCount": 3, "observedGeneration": 2, "conditions": [UPDATED]},
            ConfigPool("w", 3, 3, settled=True),
        ),
        (
            {"machineCount": 3, "updatedMachineCount": 3, "observedGeneration": 1, "conditions": [UPDATED]},
            ConfigPool("w", 3, 3),
        ),
        ({"observedGeneration": 2}, ConfigPool("w", settled=True)),
        (
            {"machineCount": 1, "conditions": [{"type": "Degraded", "status": "True", "message": "bad"}]},
            ConfigPool("w", 1, degraded="bad"),
        ),
        ({}, ConfigPool("w")),
    ],
)
def test_what_a_pool_says_is_read_as_it_is_meant(status: dict[str, Any], found: ConfigPool) -> None:
    assert seen_pool({"metadata": {"name": "w", "generation": 2}, "status": status}) == found


def test_steps_say_themselves() -> None:
    assert SetChannel("u", "fast").describe() == "set the channel of ClusterVersion version to fast"
    assert SetUpdate("u", NEW, "c", 1).describe().endswith(NEW)


def test_an_update_of_somebody_else_is_finished_first() -> None:
    world = openshift(msgspec.structs.replace(FOUND, wanted="4.19.9"))
    judge = Judge(world)
    finish(world)
    assert (world.config.status.reason, world.config.status.target_version) == ("Busy", None)
    assert "goes to 4.19.9, as somebody else has told it" in world.config.status.message
    assert judge.taken == []
    change(world, reached="4.19.9")
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)


def test_an_update_that_somebody_else_begins_while_it_rests_is_finished_first_as_well() -> None:
    world = openshift()
    until(world, lambda: world.config.status.target_version)
    world.change(paused=True)
    finish(world)
    change(world, wanted="4.19.9")
    world.change(paused=False)
    assert told(world)[0] == "Busy"
    assert world.cluster_version is not None
    assert world.cluster_version.wanted == "4.19.9"


def test_a_policy_that_is_lost_is_not_called_a_pause() -> None:
    world = openshift(onPolicyLost="Pause")
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == NEW)
    status = msgspec.structs.replace(world.config.status, policy=Policy(provider="OCM", lost=True))
    world.publish(world.config.metadata.uid, status)
    reason, message, _ = told(world)
    assert (reason, "paused" in message) == ("PolicyLost", False)
    assert "goes on by itself" in message


@pytest.mark.parametrize(("newest", "blocks"), [("1.35.99", True), ("1.36.99", False)])
def test_a_release_is_no_kubernetes_and_each_minor_brings_the_next_one(newest: str, blocks: bool) -> None:
    world = openshift()
    strategy = {"deployments": [{"name": "boats", "spec": {}}]}
    spec = {"appType": "boats", "package": "boats", "version": "1.0.0", "installStrategy": strategy}
    spec["maxKubernetesVersion"] = newest
    about = {"name": "boats.v1.0.0", "namespace": "ops"}
    world.operators = (msgspec.convert({"metadata": about, "spec": spec}, OperatorVersion),)
    told(world)
    found = [(one.code, one.message) for one in world.config.status.findings]
    assert [code for code, _ in found] == (["OPERATORS"] if blocks else [])
    assert not blocks or "do not run on v1.36.0" in found[0][1]


def test_what_it_does_not_heed_is_told() -> None:
    world = openshift(strategy={"nodes": {"maxUnavailable": 3}, "workloads": {"mode": "Template"}})
    told(world)
    (found,) = world.config.status.findings
    assert (found.code, found.severity) == ("NOEFFECT", "Warning")
    assert "spec.strategy.nodes, spec.strategy.workloads" in found.message


@pytest.mark.parametrize("labels", [{}, {PROVIDER_LABEL: "OCM"}])
def test_nobody_is_to_take_out_what_a_provider_would_put_back(labels: dict[str, str]) -> None:
    world = openshift(PDBForceDrainTimeout=60)
    world.mark(labels)
    told(world)
    (found,) = world.config.status.findings
    assert (found.code, found.severity) == ("NOEFFECT", "Warning")
    assert ("comes from provider OCM, and may stay" in found.hint) is bool(labels)


def test_another_leader_gives_the_next_channel_as_much_time() -> None:
    """Or whoever supervises the upgrade would be told that it is delayed, each time that a leader changes."""
    found = msgspec.structs.replace(FOUND, offered=frozenset({"4.19.9"}))
    world = openshift(found, channel="stable-4.20")
    until(world, lambda: world.cluster_version and world.cluster_version.channel == "stable-4.20")
    for minute in range(8):
        reason, _, stalled = told(world)
        assert (reason, stalled) == (("StepStalled", True) if minute >= 5 else ("ControlPlane", False))
        world.now += timedelta(minutes=1)


def managed(*entries: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    fields = [{"manager": "m", "time": at, "fieldsV1": owned} for at, owned in entries]
    return {"metadata": {"uid": "x", "managedFields": fields}, "spec": {"channel": "fast"}}


CHANNEL, UPDATE = {"f:spec": {"f:channel": {}}}, {"f:spec": {"f:desiredUpdate": {}}}


@pytest.mark.parametrize(
    ("live", "since"),
    [
        (managed(("2026-05-04T09:00:00Z", CHANNEL), ("2026-05-04T10:00:00Z", UPDATE)), 9),
        (managed(("2026-05-04T09:00:00Z", CHANNEL), ("2026-05-04T10:00:00Z", {**CHANNEL})), 10),
        (managed(("2026-05-04T10:00:00Z", UPDATE)), None),
        (managed(("soon", CHANNEL)), None),
        (managed(("2026-05-04T09:00:00Z", {"f:spec": None})), None),
        ({"metadata": {"uid": "x"}}, None),
    ],
)
def test_since_when_a_channel_is_set_is_what_its_manager_says(
    live: dict[str, Any], since: int | None
) -> None:
    found = seen(live).channel_since
    assert (found.hour if found else None) == since
