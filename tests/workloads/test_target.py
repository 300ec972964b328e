"""Which nodes take part, which version is the target, in which mode, and which marks nodes carry."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from benchmarks.decide import make
from shiplift.api.values import LabelSelector, selector_of
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
)
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcomes
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.view.section import Arrival
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.face.arrival import arrival
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.status import given_up
from shiplift.workloads.model import Reason, Role, Target
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.target import counted, in_scope, marks, refused, role, target_of
from tests.workloads.players import Operator
from tests.workloads.world import a_world

OLD, NEW = "v1.35.4", "v1.36.3"
EVERYWHERE = selector_of(LabelSelector())
CONTROL = "node-role.kubernetes.io/control-plane"
TARGET, OFF = "shiplift.dev/target-version", "shiplift.dev/off-target"


def a_migration(
    target: str | None = None,
    mode: Mode = Mode.INJECT,
    *,
    latched: str | None = None,
    in_mode: Mode | None = None,
    **spec: Any,
) -> WorkloadMigration:
    state = MigrationState.UPGRADE if latched else MigrationState.NO_UPGRADE
    status = WorkloadMigrationStatus(state=state, target=latched, mode=in_mode)
    return WorkloadMigration(spec=WorkloadMigrationSpec(target=target, mode=mode, **spec), status=status)


def version_of(migration: WorkloadMigration | None, *seen: str, inject: bool | None = True) -> str:
    return target_of(migration, dict.fromkeys(seen, 1), inject=inject).version


def a_node(version: str = OLD, **given: Any) -> Node:
    return make(Node, "n", kubelet_version=version, **given)


# --- the target ---


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((), ""),
        ((OLD,), ""),
        ((OLD, NEW), NEW),
        (("v1.34.9", OLD, NEW), NEW),
        (("v1.36.3", "v1.36.10"), "v1.36.10"),
        (("v1.36.3-gke.12", "v1.36.3-gke.9"), "v1.36.3-gke.12"),
        (("v1.35.4+k3s1", "v1.36.3+k3s1"), "v1.36.3+k3s1"),
    ],
)
def test_without_a_wish_the_highest_version_is_the_target_once_there_are_two(
    seen: tuple[str, ...], expected: str
) -> None:
    assert version_of(a_migration(), *seen) == expected


@pytest.mark.parametrize(
    ("wanted", "seen", "expected"),
    [
        (NEW, (NEW,), ""),
        (NEW, (OLD,), NEW),
        (OLD, (OLD, NEW), OLD),
        ("1.36.3", (OLD, NEW), NEW),
        ("v1.35.9", (OLD, NEW), "v1.35.9"),
        (NEW, (), ""),
        ("v1.36.3-gke.9", ("v1.36.3-gke.12", "v1.36.3-gke.9"), "v1.36.3-gke.9"),
    ],
)
def test_a_named_target_is_taken_as_long_as_a_node_runs_something_else(
    wanted: str, seen: tuple[str, ...], expected: str
) -> None:
    assert version_of(a_migration(wanted), *seen) == expected


@pytest.mark.parametrize("wanted", [None, NEW])
def test_where_no_node_is_in_scope_nothing_is_said_to_be_done(wanted: str | None) -> None:
    typo = LabelSelector(match_labels=Labels({"pool": "typo"}))
    found = target_of(a_migration(wanted, node_selector=typo), {}, inject=True)
    assert (found.reason, found.stalled) == (Reason.NO_NODES, True)
    assert found.message == (
        "no node is in scope: spec.nodeSelector of WorkloadMigration cluster selects none;"
        " correct it, or add nodes that it selects"
    )
    assert "control planes" in target_of(a_migration(wanted), {}, inject=True).message


def test_a_selector_that_selects_no_node_is_no_end_that_anybody_may_go_on_after() -> None:
    world = a_world(target=NEW, node_selector=LabelSelector(match_labels=Labels({"pool": "typo"})))
    operator = Operator(world)
    for _ in range(5):
        operator.round()
    migration = world.migration
    assert migration is not None
    said = {one.type: (one.status.value, one.reason) for one in migration.status.conditions}
    assert said["Stalled"] == ("True", "NoNodes")
    assert said["Ready"][0] == "False"
    assert arrival(migration) is Arrival.GIVEN_UP
    view = migration_view(migration, int(world.now.timestamp()))
    assert view.title == f"cannot begin the move to {NEW}"
    assert given_up(view).message == migration.status.message


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (("v1.35.4-eks-a",), "v1.36"),
        (("v1.35.4-eks-a", "v1.36.2-eks-b"), "v1.36"),
        (("v1.36.1-eks-a", "v1.36.2-eks-b"), ""),
        (("v1.37.0",), ""),
    ],
)
def test_a_minor_is_a_target_until_every_node_has_reached_it(seen: tuple[str, ...], expected: str) -> None:
    assert version_of(a_migration("1.36"), *seen) == expected
    assert version_of(a_migration("v1.36", latched="v1.36", in_mode=Mode.INJECT), *seen) == "v1.36"


def test_once_begun_a_still_higher_version_does_not_change_the_target() -> None:
    assert version_of(a_migration(latched=NEW), OLD, NEW, "v1.37.0") == NEW


def test_once_begun_it_stays_begun_when_the_last_old_node_is_gone() -> None:
    assert version_of(a_migration(latched=NEW), NEW) == NEW
    assert version_of(a_migration(NEW, latched=NEW), NEW) == NEW


def test_the_user_changes_the_target_of_one_that_has_begun() -> None:
    assert version_of(a_migration(OLD, latched=NEW), OLD, NEW) == OLD


@pytest.mark.parametrize("migration", [None, a_migration(abort=True), a_migration(abort=True, latched=NEW)])
def test_nothing_is_to_be_moved_without_a_migration_or_after_an_abort(
    migration: WorkloadMigration | None,
) -> None:
    assert version_of(migration, OLD, NEW) == ""


def test_an_abort_says_so() -> None:
    assert target_of(a_migration(abort=True), {OLD: 1, NEW: 1}, inject=True).reason is Reason.ABORTED


def test_versions_that_cannot_be_compared_stall_and_say_the_way_out() -> None:
    found = target_of(a_migration(), {"built-by-hand": 3, NEW: 1}, inject=True)
    assert (found.version, found.reason, found.stalled) == ("", Reason.NO_VERSION_ORDER, True)
    assert "3 on 'built-by-hand'" in found.message
    assert "spec.target" in found.message


LONG = "v1.37.0-alpha.1.123+0123456789abcdef0123456789abcdef01234567"


def test_a_version_that_is_too_long_for_a_target_stalls_and_says_the_way_out() -> None:
    found = target_of(a_migration(), {LONG: 1, OLD: 3}, inject=True)
    assert (found.version, found.reason, found.stalled) == ("", Reason.NO_VERSION_ORDER, True)
    assert f"'{LONG}' is too long for a target" in found.message
    assert "set spec.target of WorkloadMigration cluster" in found.message


def test_nodes_of_a_version_that_is_too_long_are_moved_off_to_another() -> None:
    assert version_of(a_migration(NEW), LONG, NEW) == NEW


def test_versions_that_cannot_be_compared_are_fine_with_a_named_target() -> None:
    assert version_of(a_migration("v1.36.3"), "built-by-hand", NEW) == NEW


# --- the mode ---


@pytest.mark.parametrize(
    ("wanted", "inject", "expected"),
    [
        (Mode.TEMPLATE, False, Mode.TEMPLATE),
        (Mode.TEMPLATE, None, Mode.TEMPLATE),
        (Mode.INJECT, True, Mode.INJECT),
        (Mode.AUTO, True, Mode.INJECT),
        (Mode.AUTO, False, Mode.TEMPLATE),
        (Mode.AUTO, None, None),
        (Mode.INJECT, None, None),
        (Mode.INJECT, False, None),
    ],
)
def test_the_mode_is_what_was_asked_for_and_can_be(
    wanted: Mode, inject: bool | None, expected: Mode | None
) -> None:
    found = target_of(a_migration(mode=wanted), {OLD: 1, NEW: 1}, inject=inject)
    assert (found.mode, found.version) == (expected, NEW if expected else "")


def test_inject_that_is_not_installed_stalls_and_says_what_to_do() -> None:
    found = target_of(a_migration(), {OLD: 1, NEW: 1}, inject=False)
    assert found.reason is Reason.INJECT_UNAVAILABLE
    assert found.stalled
    assert "apply again what installed shiplift" in found.message


REFUSED = '403: mutatingadmissionpolicies "shiplift-pods" is forbidden'


@pytest.mark.parametrize("wanted", [Mode.INJECT, Mode.AUTO])
def test_policies_that_may_not_be_looked_at_stall_and_the_right_is_named(wanted: Mode) -> None:
    found = target_of(a_migration(mode=wanted), {OLD: 1, NEW: 1}, inject=REFUSED)
    assert (found.version, found.reason, found.stalled) == ("", Reason.MISSING_RIGHT, True)
    assert REFUSED in found.message
    assert "what installed shiplift grants it when it is applied again" in found.message
    assert target_of(a_migration(mode=Mode.TEMPLATE), {OLD: 1, NEW: 1}, inject=REFUSED).mode is Mode.TEMPLATE


def test_a_right_that_was_granted_is_noticed_though_no_event_tells_it() -> None:
    world = a_world(Mode.INJECT)
    world.node("new-1", NEW)
    said: list[bool | str] = [REFUSED]
    observer = Observer(world, lambda: said[-1])
    first = decide(observer.observe(Outcomes()), world.now)
    assert (first.reason, first.stalled, first.moving) == (Reason.MISSING_RIGHT, True, False)
    assert first.look_again == Requeue(timedelta(seconds=2))
    assert not first.steps
    said.append(True)
    assert decide(observer.observe(Outcomes()), world.now).moving


def test_the_mode_that_was_begun_with_is_kept() -> None:
    begun = a_migration(mode=Mode.TEMPLATE, latched=NEW, in_mode=Mode.INJECT)
    assert target_of(begun, {OLD: 1, NEW: 1}, inject=False).mode is Mode.INJECT


# --- nodes ---


@pytest.mark.parametrize(
    ("labels", "taints", "selector", "expected"),
    [
        ({}, (), LabelSelector(), True),
        ({CONTROL: ""}, (), LabelSelector(), True),
        ({CONTROL: ""}, (Taint(CONTROL, "", "NoSchedule"),), LabelSelector(), False),
        ({CONTROL: ""}, (Taint(CONTROL, "", "PreferNoSchedule"),), LabelSelector(), True),
        ({}, (Taint(CONTROL, "", "NoSchedule"),), LabelSelector(), True),
        ({CONTROL: ""}, (Taint(CONTROL, "", "NoSchedule"),), LabelSelector(match_labels={CONTROL: ""}), True),
        ({"pool": "a"}, (), LabelSelector(match_labels={"pool": "a"}), True),
        ({"pool": "b"}, (), LabelSelector(match_labels={"pool": "a"}), False),
    ],
)
def test_control_planes_that_take_no_pods_are_in_scope_only_when_asked_for(
    labels: dict[str, str], taints: tuple[Taint, ...], selector: LabelSelector, expected: bool
) -> None:
    node = a_node(labels=Labels(labels), taints=taints)
    assert in_scope(node, selector_of(selector)) is expected


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        (OLD, "", Role.OUTSIDE),
        (NEW, NEW, Role.TARGET),
        (OLD, NEW, Role.OFF),
        ("v1.37.0", NEW, Role.OFF),
        ("1.36.3", NEW, Role.TARGET),
        ("v1.36.3-gke.12", NEW, Role.OFF),
        ("v1.36.3+k3s1", NEW, Role.OFF),
        ("v1.36.3+k3s1", "v1.36.3+k3s1", Role.TARGET),
        ("v1.36.3", "v1.36", Role.TARGET),
        ("v1.36.2-eks-1a2b3c4", "v1.36", Role.TARGET),
        ("v1.36.1-gke.1234000", "v1.36", Role.TARGET),
        ("v1.37.0", "v1.36", Role.TARGET),
        ("v1.35.9-eks-1a2b3c4", "v1.36", Role.OFF),
        ("v2.36.0", "v1.36", Role.OFF),
        ("nonsense", "v1.36", Role.OFF),
    ],
)
def test_versions_are_compared_whole_unless_a_minor_is_asked_for(
    version: str, target: str, expected: Role
) -> None:
    assert role(a_node(version), EVERYWHERE, target) is expected


def test_only_nodes_in_scope_are_counted_by_version() -> None:
    closed = a_node(labels=Labels({CONTROL: ""}), taints=(Taint(CONTROL, "", "NoSchedule"),))
    nodes = [a_node(NEW), a_node("1.35.4"), a_node(OLD), closed]
    assert counted(nodes, EVERYWHERE) == {OLD: 2, NEW: 1}


# --- marks ---


def marked(node: Node, own: Role, mode: Mode, **given: Any) -> tuple[dict[str, str], list[str]] | None:
    options = {"emptying": False, "tainted": True} | given
    step = marks(node, own, Target("v1.36.3+k3s1", mode), **options)
    return None if step is None else (dict(step.labels), [f"{one.key}:{one.effect}" for one in step.taints])


@pytest.mark.parametrize(
    ("own", "mode", "labels", "taints"),
    [
        (Role.TARGET, Mode.INJECT, {TARGET: "v1.36.3_k3s1"}, []),
        (Role.OFF, Mode.INJECT, {OFF: "v1.36.3_k3s1"}, []),
        (Role.TARGET, Mode.TEMPLATE, {TARGET: "v1.36.3_k3s1"}, ["shiplift.dev/upgrade:NoSchedule"]),
        (Role.OFF, Mode.TEMPLATE, {OFF: "v1.36.3_k3s1"}, ["shiplift.dev/off-target:PreferNoSchedule"]),
    ],
)
def test_each_role_has_its_marks_with_the_target_as_their_value(
    own: Role, mode: Mode, labels: dict[str, str], taints: list[str]
) -> None:
    assert marked(a_node(), own, mode) == (labels, taints)


def test_a_node_with_the_right_marks_is_left_alone() -> None:
    node = a_node(labels=Labels({OFF: "v1.36.3_k3s1", "pool": "a"}))
    assert marked(node, Role.OFF, Mode.INJECT) is None


def test_marks_of_an_earlier_migration_are_replaced_and_those_of_an_outsider_taken_off() -> None:
    taint = Taint("shiplift.dev/upgrade", OLD, "NoSchedule")
    node = a_node(labels=Labels({TARGET: OLD}), taints=(taint,))
    assert marked(node, Role.OFF, Mode.INJECT) == ({OFF: "v1.36.3_k3s1"}, [])
    assert marked(node, Role.OUTSIDE, Mode.INJECT) == ({}, [])


def test_before_taints_are_due_right_ones_stay_and_wrong_ones_go() -> None:
    right = Taint("shiplift.dev/upgrade", "v1.36.3_k3s1", "NoSchedule")
    wrong = Taint("shiplift.dev/upgrade", OLD, "NoSchedule")
    node = a_node(taints=(right, wrong))
    expected = ({TARGET: "v1.36.3_k3s1"}, ["shiplift.dev/upgrade:NoSchedule"])
    assert marked(node, Role.TARGET, Mode.TEMPLATE, tainted=False) == expected
    assert marked(a_node(), Role.TARGET, Mode.TEMPLATE, tainted=False) == ({TARGET: "v1.36.3_k3s1"}, [])


def test_a_node_that_is_emptied_is_neither_old_nor_new() -> None:
    found = marked(a_node(), Role.OFF, Mode.INJECT, emptying=True)
    assert found == ({TARGET: "v1.36.3_k3s1", OFF: "v1.36.3_k3s1"}, [])


@pytest.mark.parametrize(("mode", "advised"), [(Mode.TEMPLATE, True), (Mode.AUTO, False)])
def test_mode_inject_is_advised_only_to_whoever_has_chosen_the_other_one(mode: Mode, advised: bool) -> None:
    found = WorkloadMigration(spec=WorkloadMigrationSpec(mode=mode))
    one = refused(Target("v1.36.3", Mode.TEMPLATE), found, ("kube-system/agent",))
    assert (one.reason, "Inject" in one.message) == (Reason.DAEMON_SETS, advised)
