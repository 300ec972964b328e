"""When a new view is made, and what it costs: nothing while there is nothing to roll out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from shiplift.agent.protocol import (
    AGENT,
    CHANGES_ALLOWED,
    READY,
    Agent,
    Operation,
    Order,
    Token,
    current_key,
    desired_key,
)
from shiplift.api.base import ObjectMeta
from shiplift.api.marks import CORDONED_BY, TARGET_LABEL
from shiplift.api.nodes import Hooks, NodeState, RolloutPass
from shiplift.api.placements import Turn
from shiplift.api.values import Condition, ConditionStatus, Hook
from shiplift.api.workloads import (
    MigrationState,
    WorkloadKind,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine.barrier import Gone
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels
from shiplift.kube.errors import Unreachable
from shiplift.kube.store import Snapshot
from shiplift.nodes.decide.hooks import jobs as hook_jobs
from shiplift.nodes.model import Hooked, HookState, LeaseSeen, View
from shiplift.nodes.observe.rollouts import in_flight, rollouts_of
from tests.drain.pods import a_budget
from tests.model.world import NEW
from tests.nodes.seen import AT, Seen, record

NO_OUTCOMES = Outcomes()
"""As a loop has them that has done nothing."""
PLANE = Labels({"node-role.kubernetes.io/control-plane": ""})


def look(seen: Seen, outcomes: Outcomes | None = None) -> View:
    return seen.observer.observe(outcomes or NO_OUTCOMES)


# --- at rest ---


def at_rest() -> Seen:
    seen = Seen()
    seen.node("a"), seen.node("b")
    return seen


def test_without_a_rollout_nothing_is_asked_and_nothing_is_looked_at_again() -> None:
    seen = at_rest()
    first = look(seen)
    seen.pod("web-1", "a")
    seen.put(a_budget())
    seen.annotate(
        seen.named_node("a"), {AGENT: Agent("0.2.0", 1).written(), current_key("kubelet"): "1.35.4"}
    )
    seen.time += 1000
    assert look(seen, Outcomes({"x": Outcome(step="x", answer=Answer.OK)})) is first
    assert seen.asked == []


@pytest.mark.parametrize("key", [CORDONED_BY, CHANGES_ALLOWED])
def test_what_is_left_of_a_rollout_on_a_node_is_seen_though_there_is_none(key: str) -> None:
    seen = at_rest()
    first = look(seen)
    node = seen.annotate(seen.named_node("a"), {key: "r"})
    second = look(seen)
    assert second is not first
    assert second.members["a"].row is node
    seen.annotate(node, {})
    assert look(seen) is not second


def test_a_rollout_begins_a_new_view() -> None:
    seen = at_rest()
    first = look(seen)
    seen.roll()
    second = look(seen)
    assert second is not first
    assert [one.metadata.name for one in second.rollouts] == ["r"]


def test_rollouts_come_in_the_order_in_which_they_were_made() -> None:
    seen = Seen()
    for name, created in (("a-younger", 20), ("twin", 10), ("older", 10)):
        seen.roll(name=name)
        row = next(one for one in seen.customs(kinds.NODE_ROLLOUT) if one.name == name)
        seen.put(msgspec.structs.replace(row, created=created), kinds.NODE_ROLLOUT)
    assert [one.metadata.name for one in look(seen).rollouts] == ["older", "twin", "a-younger"]


# --- while a rollout is under way ---


def rolling(**spec: object) -> Seen:
    """Node `a` is being drained, node `b` waits."""
    seen = at_rest()
    seen.roll(record(seen.named_node("a")), **spec)
    seen.pod("web-1", "a", uid="web-1")
    look(seen)
    return seen


def test_pods_matter_on_nodes_that_are_being_changed() -> None:
    seen = rolling()
    first = look(seen)
    seen.pod("web-2", "b", uid="web-2")
    assert look(seen) is first
    gone = seen.pod("web-3", "a", uid="web-3")
    second = look(seen)
    assert second.drains[seen.named_node("a").uid].left == first.drains[seen.named_node("a").uid].left + 1
    seen.remove(gone)
    assert look(seen) is not second


def test_a_pod_that_leaves_between_the_record_and_its_first_view_is_missed_by_nobody() -> None:
    seen = at_rest()
    pod = seen.pod("web-1", "a", uid="web-1")
    seen.roll()
    look(seen)
    snapshot, uid = seen.snapshot, seen.named_node("a").uid
    seen.roll(record(seen.named_node("a")))

    def late(*of: Kind) -> Snapshot:
        found = snapshot(*of)
        if kinds.POD in of:
            seen.snapshot = snapshot
            seen.remove(pod)
        return found

    seen.snapshot = late
    assert look(seen).drains[uid].left == 1
    assert look(seen).drains[uid].left == 0


def test_a_heartbeat_matters_on_nodes_that_are_being_changed_only() -> None:
    seen = rolling()
    first = look(seen)
    seen.annotate(seen.named_node("b"), {AGENT: Agent("0.2.0", 1).written()})
    assert look(seen) is first
    seen.annotate(seen.named_node("a"), {AGENT: Agent("0.2.0", 1).written()})
    assert look(seen) is not first


def test_whatever_else_a_node_says_matters() -> None:
    seen = rolling()
    first = look(seen)
    seen.put(msgspec.structs.replace(seen.named_node("b"), ready=False))
    second = look(seen)
    assert second is not first
    assert second.members["b"].down
    assert second.members["a"] is first.members["a"]


@pytest.mark.parametrize(
    "change",
    [
        lambda seen: seen.put(a_budget()),
        lambda seen: seen.roll(paused=True),
        lambda seen: seen.migrate({}),
        lambda seen: seen.spoil(kinds.NODE, "c", "no such field", ""),
    ],
)
def test_what_drains_and_decisions_depend_on_matters(change: Callable[[Seen], object]) -> None:
    seen = rolling()
    first = look(seen)
    change(seen)
    assert look(seen) is not first


def test_outcomes_steps_under_way_and_doubts_make_a_new_view() -> None:
    seen = rolling()
    outcomes = NO_OUTCOMES
    first = look(seen, outcomes)
    assert look(seen, outcomes.with_unsettled(())) is first
    assert look(seen, msgspec.structs.replace(outcomes, running=frozenset({"evict web-1"}))) is not first
    second = look(seen, outcomes)
    assert look(seen, outcomes.with_unsettled([Gone(kinds.POD, "web-1")])) is not second
    third = look(seen, outcomes)
    assert look(seen, outcomes.remember([Outcome(step="x", answer=Answer.OK)], seen.now)) is not third


def test_a_drain_is_looked_at_again_though_nothing_happens() -> None:
    seen = rolling()
    first = look(seen)
    seen.time += 0.9
    assert look(seen) is first
    seen.time += 0.1
    assert look(seen) is not first


def test_rows_that_become_old_are_told() -> None:
    seen = rolling()
    first = look(seen)
    seen.old = (kinds.POD,)
    second = look(seen)
    assert second is not first


def test_what_cannot_be_read_is_named() -> None:
    seen = rolling()
    seen.spoil(kinds.NODE, "c", "no such field", "")
    (unreadable,) = look(seen).unreadable
    assert str(unreadable) == "Node c cannot be read: no such field"


# --- drains ---


def test_only_nodes_with_a_record_are_drained_and_only_that_very_node() -> None:
    seen = rolling()
    a, b = seen.named_node("a"), seen.named_node("b")
    assert set(look(seen).drains) == {a.uid}
    seen.roll(record(a), record(b, uid="another"))
    assert set(look(seen).drains) == {a.uid}


@pytest.mark.parametrize("state", [NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED])
def test_pods_of_nodes_that_nobody_changes_any_more_do_not_matter(state: NodeState) -> None:
    seen = at_rest()
    seen.roll(record(seen.named_node("a"), state))
    first = look(seen)
    assert first.drains == {}
    seen.pod("web-1", "a", uid="web-1")
    seen.time += 1000
    assert look(seen) is first


# --- what is asked of the API server itself ---


def test_the_server_is_asked_for_its_version_once_in_a_while_where_no_agent_says_it() -> None:
    seen = rolling()
    assert look(seen).api_servers == {"kubernetes": NEW}
    seen.roll(paused=True)
    look(seen)
    assert seen.asked.count("version") == 1
    seen.time += 30
    seen.roll()
    look(seen)
    assert seen.asked.count("version") == 2


def test_agents_of_control_planes_say_the_versions_of_their_api_servers() -> None:
    seen = rolling()
    plane = seen.node("plane", labels=PLANE)
    seen.annotate(plane, {current_key("kube-apiserver"): "1.35.4"})
    assert look(seen).api_servers == {"plane": "1.35.4"}
    seen.node("silent", labels=PLANE)
    assert look(seen).api_servers == {"plane": "1.35.4", "silent": "", "kubernetes": NEW}


def test_claims_are_read_only_while_the_control_plane_may_be_touched() -> None:
    seen = rolling()
    assert "claims" not in seen.asked
    plane = seen.node("plane", labels=PLANE)
    look(seen)
    assert "claims" not in seen.asked
    seen.roll(status={"running_pass": RolloutPass.CONTROL_PLANE})
    look(seen)
    seen.time += 2
    seen.roll(record(seen.named_node("a")), status={"running_pass": RolloutPass.WORKERS})
    look(seen)
    assert seen.asked.count("claims") == 1
    seen.roll(record(plane), status={"running_pass": RolloutPass.WORKERS})
    look(seen)
    assert seen.asked.count("claims") == 2


def test_claims_are_read_again_after_we_wrote_one_and_unknown_where_they_cannot_be_read() -> None:
    seen = at_rest()
    touched = {"running_pass": RolloutPass.CONTROL_PLANE_KUBELETS}
    seen.roll(status=touched)
    assert look(seen).claims == ()
    seen.claims = None
    seen.roll(paused=True, status=touched)
    assert look(seen).claims == ()
    seen.observer.claims_changed()
    seen.roll(status=touched)
    assert look(seen).claims is None


def test_whether_nodes_are_kept_to_their_own_is_asked_while_there_is_a_rollout_and_until_they_are() -> None:
    seen = at_rest()
    seen.distrust = "gone"
    assert look(seen).distrust == ""
    seen.roll()
    assert look(seen).distrust == "gone"
    seen.time += 9
    seen.distrust = ""
    assert look(seen).distrust == "gone"
    seen.time += 1
    assert look(seen).distrust == ""


JOB = ("ops", "pre-a-1")


def test_jobs_are_read_while_they_run_and_once_more_when_they_have_ended() -> None:
    seen = rolling()
    assert look(seen).hooks == {}
    seen.jobs[JOB] = Hooked(*JOB, "u", 1, HookState.RUNNING)
    seen.observer.memory.jobs.note(JOB)
    assert look(seen).hooks == {JOB: seen.jobs[JOB]}
    look(seen)
    assert seen.asked.count("job pre-a-1") == 1
    seen.jobs[JOB] = Hooked(*JOB, "u", 2, HookState.SUCCEEDED)
    seen.time += 2
    assert look(seen).hooks[JOB].state is HookState.SUCCEEDED
    seen.time += 20
    look(seen)
    assert seen.asked.count("job pre-a-1") == 2
    seen.observer.memory.jobs.forget(JOB)
    seen.time += 20
    assert look(seen).hooks == {}


def test_jobs_that_an_operator_before_has_made_are_known_from_the_first_look_on() -> None:
    seen = at_rest()
    node = seen.named_node("a")
    hook = Hook(name="tell", namespace="ops", service_account_name="hooks", job={})
    seen.roll(record(node), hooks=Hooks(before=(hook,)))
    (begun,) = in_flight(rollouts_of(seen.snapshot(kinds.NODE_ROLLOUT)))
    (name,) = hook_jobs(*begun)
    seen.jobs[name] = Hooked(*name, "u", 1, HookState.SUCCEEDED)
    assert look(seen).hooks == {name: seen.jobs[name]}


def test_a_job_that_somebody_deleted_is_gone() -> None:
    seen = rolling()
    seen.observer.memory.jobs.note(JOB)
    assert look(seen).hooks == {}
    assert not seen.observer.memory.jobs.due


# --- Leases, orders ---


def test_readings_of_a_lease_count_for_the_order_that_the_agent_is_through_with() -> None:
    seen = rolling()
    node = seen.named_node("a")
    token = Token("uid-r", node.uid, Operation.PACKAGES, 1)
    done = {CHANGES_ALLOWED: Order(token).written(), READY: f"true {token}"}
    seen.annotate(node, done)
    look(seen)
    leases = seen.observer.memory.leases
    leases.note(node.uid, 0, "12:00")
    seen.time += 1
    assert look(seen).leases == {node.uid: LeaseSeen(1, False)}
    leases.note(node.uid, 1, "12:01")
    seen.time += 1
    assert look(seen).leases == {node.uid: LeaseSeen(2, True)}
    again = Token("uid-r", node.uid, Operation.PACKAGES, 2)
    seen.annotate(node, done | {CHANGES_ALLOWED: Order(again).written()})
    assert look(seen).leases == {}


def test_the_versions_that_stand_on_a_node_are_known_to_who_acts() -> None:
    seen = rolling()
    seen.annotate(seen.named_node("a"), {desired_key("containerd"): "2.0"})
    look(seen)
    assert list(seen.observer.desired("a")) == ["containerd"]
    assert list(seen.observer.desired("nobody")) == []


# --- workloads that are moved ---


def moved_pod(seen: Seen, name: str, on: str) -> None:
    seen.pod(name, on, uid=name, labels={"app": "web", "pod-template-hash": "5d8f"})


def test_nodes_with_pods_that_are_held_or_moved_are_named() -> None:
    seen = rolling()
    for name, node in (("web-1", "a"), ("web-2", "b")):
        moved_pod(seen, name, node)
    assert look(seen).migration.holding == {}
    seen.migrate({"Deployment.web": Turn.HELD}, emptying="b")
    migration = look(seen).migration
    assert (migration.target, migration.emptying) == (NEW, "b")
    assert migration.holding == {
        "a": "pod shop/web-1 waits for its turn to be moved",
        "b": "pod shop/web-2 waits for its turn to be moved",
    }
    seen.migrate({"Deployment.web": Turn.RELEASED})
    assert look(seen).migration.holding["b"] == "pod shop/web-2 is being moved"


def test_where_somebody_deletes_a_placement_the_status_of_the_migration_tells_who_is_held() -> None:
    seen = rolling()
    moved_pod(seen, "web-1", "a")
    waits = WorkloadStatus(
        kind=WorkloadKind.DEPLOYMENT, namespace="shop", name="web", uid="u", state=WorkloadState.HELD
    )
    seen.migrate({"Deployment.web": Turn.HELD}, workloads=(waits,))
    held = look(seen).migration.holding
    for row in seen.customs(kinds.WORKLOAD_PLACEMENT):
        seen.remove(row, kinds.WORKLOAD_PLACEMENT)
    assert look(seen).migration.holding == held != {}


def made(seen: Seen, status: WorkloadMigrationStatus | None = None, **spec: Any) -> None:
    """A WorkloadMigration of generation 1, of which this is told."""
    about = ObjectMeta(name="cluster", generation=1)
    body = WorkloadMigration(
        metadata=about, spec=WorkloadMigrationSpec(**spec), status=status or WorkloadMigrationStatus()
    )
    seen.put_custom(kinds.WORKLOAD_MIGRATION, "cluster", "", body)


def told(reason: str, state: MigrationState) -> WorkloadMigrationStatus:
    ready = Condition(type="Ready", status=ConditionStatus.FALSE, reason=reason, last_transition_time=AT)
    return WorkloadMigrationStatus(observed_generation=1, state=state, target=NEW, conditions=(ready,))


def test_until_a_migration_has_told_whose_turn_it_is_every_workload_is_held() -> None:
    seen = rolling()
    moved_pod(seen, "web-2", "b")
    made(seen)
    why = "pod shop/web-2 waits until WorkloadMigration cluster has told whose turn it is"
    assert look(seen).migration.holding == {"b": why}
    made(seen, told("Starting", MigrationState.UPGRADE))
    assert look(seen).migration.holding == {"b": why}
    made(seen, told("Moving", MigrationState.UPGRADE))
    assert look(seen).migration.holding == {}


def test_a_migration_that_has_nothing_to_do_or_is_aborted_holds_nobody() -> None:
    seen = rolling()
    moved_pod(seen, "web-2", "b")
    made(seen, told("NoUpgrade", MigrationState.NO_UPGRADE))
    assert look(seen).migration.holding == {}
    made(seen, abort=True)
    assert look(seen).migration.holding == {}


def test_only_a_change_of_what_a_node_holds_makes_a_new_view() -> None:
    seen = rolling(drain_timeout="1h")
    moved_pod(seen, "web-2", "b")
    seen.migrate({"Deployment.web": Turn.HELD})
    first = look(seen)
    moved_pod(seen, "web-3", "b")
    assert look(seen) is first
    for pod in [one for one in seen.all_pods() if one.node == "b"]:
        seen.remove(pod)
    assert "b" not in look(seen).migration.holding


def test_pods_on_target_nodes_are_held_by_nobody() -> None:
    seen = rolling()
    seen.put(msgspec.structs.replace(seen.named_node("b"), labels=Labels({TARGET_LABEL: NEW})))
    moved_pod(seen, "web-2", "b")
    seen.migrate({"Deployment.web": Turn.HELD})
    assert "b" not in look(seen).migration.holding


def test_the_end_of_the_move_ends_the_hold() -> None:
    seen = rolling()
    moved_pod(seen, "web-2", "b")
    seen.migrate({"Deployment.web": Turn.HELD})
    assert look(seen).migration.holding
    for row in seen.customs(kinds.WORKLOAD_MIGRATION):
        seen.remove(row, kinds.WORKLOAD_MIGRATION)
    assert not look(seen).migration.target


def test_states_after_the_drain_keep_the_view_for_longer() -> None:
    seen = at_rest()
    seen.roll(record(seen.named_node("a"), NodeState.CHANGING))
    first = look(seen)
    seen.time += 9
    assert look(seen) is first
    seen.time += 1
    assert look(seen) is not first


def test_what_was_heard_before_a_look_that_failed_is_not_lost() -> None:
    seen = rolling()
    moved_pod(seen, "web-2", "b")
    seen.migrate({"Deployment.web": Turn.HELD})
    look(seen)
    seen.remove(next(one for one in seen.all_pods() if one.node == "b"))
    seen.roll(paused=True)
    seen.time += 30
    seen.answers = False
    with pytest.raises(Unreachable):
        look(seen)
    seen.answers = True
    assert "b" not in look(seen).migration.holding
