"""What is told besides the status: Events, metrics; what wakes the conductor, and what it may write."""

from __future__ import annotations

import itertools
from typing import Any, cast

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.agent.protocol import current_key
from shiplift.api.marks import SKIP_ROLLOUT
from shiplift.api.upgrade import UpgradeConfigStatus
from shiplift.api.values import Condition, ConditionStatus
from shiplift.engine.api_servers import API_SERVER, ASKED, api_servers
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.kube.store import Store
from shiplift.notify.milestones import milestones
from shiplift.upgrade.controller import PART, wakes
from shiplift.upgrade.observe.observer import machine, told_version
from shiplift.upgrade.tell.happenings import happenings
from shiplift.upgrade.tell.metrics import UpgradeCollector
from shiplift.upgrade.tell.report import WEIGHT
from tests.upgrade.players import Operator, finish, holds
from tests.upgrade.world import NEW, OLD, START, World


def told(world: World, rounds: int = 80) -> list[str]:
    """The reasons of all Events of an upgrade, those that warn with a mark."""
    operator, found = Operator(world), list[str]()
    for _ in range(rounds):
        before = world.config.status
        operator.round()
        found += [
            f"{one.reason}{'!' * one.warning}" for one in happenings(before, world.config.status) if one.note
        ]
        world.turn()
    return found


def test_each_step_of_an_upgrade_is_an_event() -> None:
    assert told(World.of(1, 2)) == [
        "Started",
        "ControlPlane",
        "Workloads",
        "Nodes",
        "CleaningUp",
        "Upgraded",
    ]


def test_what_needs_somebody_warns_and_that_it_goes_on_is_told() -> None:
    world = World.of(1, 2)
    world.hosts["w-0"].fails = True
    assert told(world)[-1] == "StepFailed!"
    world.hosts["w-0"].fails = False
    world.change(retry=1)
    assert told(world)[-1] == "Upgraded"


def test_an_abort_is_told_with_a_warning() -> None:
    world = World.of(1, 2)
    told(world, 6)
    world.change(abort=True)
    assert told(world)[-1] == "Aborted!"


def test_where_it_goes_is_pressing_and_progress_is_not() -> None:
    world = World.of(1, 2)
    before = world.config.status
    finish(world)
    after = world.config.status
    assert WEIGHT.pressing(before, after)
    later = msgspec.structs.replace(after, message="another")
    assert not WEIGHT.pressing(after, later)
    assert WEIGHT.only_progress(after, later)


def test_an_approval_that_is_taken_back_half_way_is_a_condition_and_a_notice() -> None:
    world = World.of(1, 3, approval="Manual")
    operator, last, notices = Operator(world), "", list[str]()

    def rounds(many: int) -> None:
        nonlocal last
        for _ in range(many):
            operator.round()
            for one in milestones(world.config, last):
                notices.append(one.kind)
                last = one.id
            world.turn()

    rounds(2)
    world.approve()
    rounds(3)
    assert holds(world, "Approved")
    world.change(approved=None)
    rounds(30)
    assert not holds(world, "Approved")
    world.change(paused=True)
    rounds(3)
    world.change(paused=False)
    rounds(3)
    assert not holds(world, "Approved")
    world.approve()
    rounds(30)
    assert holds(world, "Approved")
    assert notices == [
        "approval-needed",
        "started",
        "step-controlplaneupgraded",
        "step-nodesupgraded",
        "approval-needed",
        "upgraded",
    ]


class Rows:
    """A store with one UpgradeConfig, or none."""

    def __init__(self, *found: Any) -> None:
        self._found = found

    def snapshot(self, *_: Any) -> Rows:
        return self

    def customs(self, _kind: Any) -> list[Custom]:
        return [make(Custom, "cluster", object=one) for one in self._found]


def measured(*found: Any) -> dict[str, float]:
    families = UpgradeCollector(cast("Store", Rows(*found))).collect()
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_are_read_from_the_status() -> None:
    none = measured()
    assert set(none.values()) == {0.0}
    world = World.of(1, 2)
    world.hosts["w-0"].fails = True
    finish(world)
    found = measured(world.config)
    assert found.keys() == none.keys()
    assert found["shiplift_upgrade_phase Failed"] == 1
    assert found["shiplift_upgrade_stalled"] == 1
    assert (found["shiplift_upgrade_nodes"], found["shiplift_upgrade_nodes_done"]) == (3, 1)
    assert found["shiplift_upgrade_start_timestamp_seconds"] > 0
    world.hosts["w-0"].fails = False
    world.change(retry=1)
    finish(world)
    assert measured(world.config)["shiplift_upgrade_start_timestamp_seconds"] == 0


NODE = make(Node, "n", kubelet_version=OLD, ready=True)


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({"kubelet_version": "v1.36.3"}, True),
        ({"ready": False}, True),
        ({"labels": Labels({"node-role.kubernetes.io/control-plane": ""})}, True),
        ({"annotations": Labels({SKIP_ROLLOUT: "true"})}, True),
        ({"annotations": Labels({current_key(API_SERVER): OLD})}, True),
        ({"annotations": Labels({"another": "one"})}, False),
        ({"boot_id": "other"}, False),
    ],
)
def test_of_nodes_only_what_an_upgrade_goes_by_wakes(change: dict[str, Any], matters: bool) -> None:
    assert bool(list(wakes(kinds.NODE, NODE, msgspec.structs.replace(NODE, **change)))) is matters


def test_objects_of_layers_wake_and_budgets_do_not() -> None:
    assert list(wakes(kinds.NODE_ROLLOUT, None, NODE)) == ["cluster"]
    assert list(wakes(kinds.POD_DISRUPTION_BUDGET, None, NODE)) == []
    assert list(wakes(kinds.NODE, None, NODE)) == ["cluster"]


def test_a_node_is_read_in_the_words_of_its_agent() -> None:
    notes = Labels({SKIP_ROLLOUT: "true", current_key(API_SERVER): OLD})
    labels = Labels({"node-role.kubernetes.io/control-plane": ""})
    row = msgspec.structs.replace(NODE, annotations=notes, labels=labels)
    one = machine(row)
    assert (one.name, one.kubelet, one.control_plane, one.left_out) == ("n", OLD, True, True)
    assert told_version(row) == OLD


def test_the_server_that_answers_counts_where_an_agent_does_not_say_it() -> None:
    assert api_servers({"a": OLD}, lambda: "asked") == {"a": OLD}
    assert api_servers({"a": OLD, "b": ""}, lambda: "asked") == {"a": OLD, "b": "", ASKED: "asked"}
    assert api_servers({}, lambda: "asked") == {ASKED: "asked"}


def test_no_right_of_the_layer_is_wider_than_what_it_writes() -> None:
    verbs = {
        (resource, verb) for rule in PART.rules for resource in rule["resources"] for verb in rule["verbs"]
    }
    assert not {verb for _, verb in verbs} & {"*", "deletecollection", "update", "approve"}
    assert {resource for resource, _ in verbs} == {
        "upgradeconfigs",
        "upgradeconfigs/status",
        "noderollouts",
        "workloadmigrations",
        "clusterversions",
        "endpointslices",
        "machineconfigpools",
        "quorumservices",
        "apptypes",
    }
    (named,) = [rule for rule in PART.rules if "clusterversions" in rule["resources"]]
    assert (named["resourceNames"], named["verbs"]) == (["version"], ["get", "patch"])
    assert ("upgradeconfigs", "delete") not in verbs


@pytest.mark.parametrize("again", [False, True], ids=["at first", "after it was well"])
def test_what_is_stuck_for_the_same_reason_is_warned_of_each_time(again: bool) -> None:
    """A reason says what is waited for; whether somebody has to help may change while it stays."""

    def said(*, stalled: bool) -> UpgradeConfigStatus:
        holds = ConditionStatus.TRUE if stalled else ConditionStatus.FALSE
        one = Condition(type="Stalled", status=holds, reason="Aborting", last_transition_time=START)
        return UpgradeConfigStatus(
            reason="Aborting", message="is taken away", target_version=NEW, conditions=(one,)
        )

    steps = [said(stalled=False), said(stalled=True)]
    steps += [said(stalled=True), said(stalled=False), said(stalled=True)] if again else []
    found = [
        f"{one.reason}{'!' * one.warning}"
        for before, after in itertools.pairwise(steps)
        for one in happenings(before, after)
    ]
    assert found == (["Aborting!", "GoesOn", "Aborting!"] if again else ["Aborting!"])
