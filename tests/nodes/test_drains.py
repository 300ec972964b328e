"""What is left to do before a node is empty, as the view says it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from benchmarks.rows import make
from shiplift.api.marks import MANAGED_BY, MANAGER, QUORUM_HOLD, TARGET_LABEL
from shiplift.api.nodes import NodeRolloutSpec, NodeState
from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode, WorkloadKind, WorkloadState, WorkloadStatus
from shiplift.drain.model import Settings
from shiplift.engine.barrier import Gone
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Toleration
from shiplift.facts.storage import VolumeAttachment
from shiplift.facts.workloads import DaemonSet, StatefulSet
from shiplift.nodes.model import Drain
from shiplift.nodes.observe.drains import IN_FLIGHT, settings_of
from shiplift.nodes.steps import Cordon
from tests.drain.pods import DAEMON_SET, STATEFUL_SET, a_budget
from tests.model.world import NEW
from tests.nodes.seen import AT, Seen, record

HASHED = {"app": "web", "pod-template-hash": "5d8f"}


def drained(seen: Seen, outcomes: Outcomes | None = None, node: str = "a") -> Drain:
    view = seen.observer.observe(outcomes or Outcomes())
    return view.drains[seen.named_node(node).uid]


@pytest.fixture
def seen() -> Seen:
    made = Seen()
    node = made.node("a")
    made.roll(record(node))
    return made


def names(drain: Drain) -> list[str]:
    return [one.name for one in drain.now]


def test_a_node_without_pods_is_drained(seen: Seen) -> None:
    assert drained(seen).over


def test_pods_without_a_budget_may_all_go(seen: Seen) -> None:
    pods = [seen.pod(f"web-{number}", "a", uid=f"u{number}") for number in range(3)]
    found = drained(seen)
    assert (found.left, names(found)) == (3, ["web-0", "web-1", "web-2"])
    assert [(one.uid, one.version) for one in found.now] == [(one.uid, one.resource_version) for one in pods]
    assert not found.over


def test_a_budget_gives_what_it_has_and_its_pods_share_a_lane(seen: Seen) -> None:
    for number in range(3):
        seen.pod(f"web-{number}", "a", uid=f"u{number}")
    budget = seen.put(a_budget(allowed=1))
    found = drained(seen)
    assert [(one.name, one.budget) for one in found.now] == [("web-0", budget.uid)]
    assert found.blocked == (), "others go first: nothing has to be forced"


def test_what_blocks_names_pod_and_budget(seen: Seen) -> None:
    seen.pod("web-1", "a", uid="u1")
    seen.put(a_budget())
    (blocker,) = drained(seen).blockers
    assert (blocker.pod, blocker.budget) == ("shop/web-1", "shop/web")
    assert "needs 2 healthy pods and has just 2" in blocker.message
    assert not drained(seen).never


def test_a_budget_that_never_lets_go_is_said_to(seen: Seen) -> None:
    seen.pod("web-1", "a", uid="u1")
    never = {"min_available": None, "max_unavailable": 0, "desired_healthy": 3, "current_healthy": 3}
    seen.put(a_budget(**never))
    found = drained(seen)
    assert found.never.startswith("pod shop/web-1: PodDisruptionBudget shop/web needs 3 of 3 pods healthy")
    assert [one.name for one in found.blocked] == ["web-1"]


def test_nodes_that_are_drained_together_share_what_a_budget_has_to_give(seen: Seen) -> None:
    other = seen.node("b")
    seen.put(a_budget(allowed=1))
    for node in "ab":
        seen.pod(f"web-{node}", node, uid=f"u{node}")
    seen.roll(record(seen.named_node("a")), record(other))
    assert names(drained(seen)) == ["web-a"]
    assert names(drained(seen, node="b")) == []
    seen.roll(record(seen.named_node("a"), NodeState.WAITING), record(other))
    assert names(drained(seen, node="b")) == ["web-b"], "a node that is not drained yet takes nothing"


def test_what_is_under_way_on_another_node_counts(seen: Seen) -> None:
    other = seen.node("b")
    seen.put(a_budget(allowed=1))
    for node in "ab":
        seen.pod(f"web-{node}", node, uid=f"u{node}")
    seen.roll(record(seen.named_node("a")), record(other))
    assert names(drained(seen, Outcomes(running=frozenset({"evict ub"})))) == []


@pytest.mark.parametrize(
    "outcomes",
    [
        Outcomes(running=frozenset({"evict u1"})),
        Outcomes(running=frozenset({"force u1"})),
        Outcomes(unsettled=(Gone(kinds.POD, "u1"),)),
    ],
)
def test_a_pod_whose_end_is_under_way_is_not_asked_again_and_still_there(
    seen: Seen, outcomes: Outcomes
) -> None:
    seen.pod("web-1", "a", uid="u1")
    found = drained(seen, outcomes)
    assert (found.left, found.now, found.over) == (1, (), False)


def test_a_refusal_that_still_counts_is_told(seen: Seen) -> None:
    seen.pod("web-1", "a", uid="u1")
    said = Outcome(
        step="evict u1",
        answer=Answer.REFUSED,
        message="webhook says no",
        retry_after=timedelta(seconds=5),
        at=AT,
    )
    found = drained(seen, Outcomes({"evict u1": said}))
    assert found.now == ()
    assert "webhook says no" in found.blockers[0].message
    assert found.blocked == (), "no budget keeps it"


def test_pods_that_are_held_or_moved_stay_and_are_not_forced(seen: Seen) -> None:
    seen.pod("web-1", "a", uid="u1", labels=HASHED)
    seen.migrate({"Deployment.web": Turn.HELD})
    found = drained(seen)
    assert (found.left, found.now, found.blocked) == (1, (), ())
    assert found.blockers[0].message.startswith("held by WorkloadMigration cluster: its turn has not come")
    seen.migrate({"Deployment.web": Turn.RELEASED})
    assert "it is being moved" in drained(seen).blockers[0].message


def test_a_target_node_may_be_drained_while_workloads_are_moved(seen: Seen) -> None:
    node = seen.named_node("a")
    seen.put(structs.replace(node, labels=Labels({TARGET_LABEL: NEW})))
    seen.pod("web-1", "a", uid="u1", labels=HASHED)
    seen.migrate({"Deployment.web": Turn.HELD})
    assert names(drained(seen)) == ["web-1"]


def test_in_mode_template_the_status_says_who_is_held_and_who_tolerates_may_go(seen: Seen) -> None:
    line = WorkloadStatus(
        kind=WorkloadKind.DEPLOYMENT, namespace="shop", name="web", uid="w", state=WorkloadState.HELD
    )
    seen.pod("web-1", "a", uid="u1", labels=HASHED)
    seen.migrate({}, Mode.TEMPLATE, workloads=(line,))
    assert names(drained(seen)) == []
    ours = Toleration(key="shiplift.dev/upgrade", operator="Exists")
    seen.pod("web-1", "a", uid="u1", labels=HASHED, tolerations=(ours,))
    assert names(drained(seen)) == ["web-1"]


def test_a_hold_of_workloads_is_no_budget_that_force_overrides(seen: Seen) -> None:
    seen.pod("web-1", "a", uid="u1")
    seen.put(a_budget("shiplift-hold-deployment-web", labels=Labels({MANAGED_BY: MANAGER})))
    found = drained(seen)
    assert (found.now, found.blocked) == ((), ())
    assert "held by" in found.blockers[0].message


def test_pods_whose_binary_a_quorum_service_swaps_stay_until_it_is_done(seen: Seen) -> None:
    swapped = make(StatefulSet, "db", namespace="shop", uid="sts", annotations=Labels({QUORUM_HOLD: "store"}))
    seen.put(swapped)
    seen.pod("db-0", "a", uid="p1", owner=STATEFUL_SET)
    seen.pod("web-1", "a", uid="p2")
    found = drained(seen)
    assert (names(found), found.left) == (["web-1"], 2)
    assert "held by QuorumService shop/store" in found.blockers[0].message
    seen.put(structs.replace(swapped, annotations=Labels({})))
    assert names(drained(seen)) == ["db-0", "web-1"]


def test_pods_of_daemon_sets_stay_and_of_those_that_are_gone_do_not(seen: Seen) -> None:
    seen.put(make(DaemonSet, "proxy", namespace="shop", uid="ds"))
    seen.pod("proxy-1", "a", uid="p1", owner=DAEMON_SET)
    assert drained(seen).over
    for row in seen.all(DaemonSet):
        seen.remove(row)
    found = drained(seen)
    assert (found.left, found.blocked) == (1, ())
    assert "its DaemonSet is gone" in found.never


def test_volumes_that_are_attached_keep_a_drain_from_being_over(seen: Seen) -> None:
    seen.put(make(VolumeAttachment, "v", node="a", volume="pv-1", attached=True))
    found = drained(seen)
    assert (found.left, found.detaching, found.over) == (0, 1, False)


def test_the_operators_own_pod_goes_last(seen: Seen) -> None:
    seen.node("b")
    seen.pod("shiplift-1", "a", uid="own")
    seen.pod("web-1", "a", uid="u1")
    assert names(drained(seen)) == ["web-1"]
    for pod in seen.all_pods():
        if pod.uid == "u1":
            seen.remove(pod)
    assert names(drained(seen)) == ["shiplift-1"]


def test_what_the_rollout_says_about_pods_counts() -> None:
    spec = NodeRolloutSpec(
        version=NEW, pod_grace_period="90s", delete_empty_dir_data=False, evict_unmanaged=True
    )
    assert settings_of(spec) == Settings(False, True, 90)
    assert settings_of(NodeRolloutSpec(version=NEW)) == Settings(True, False, None)


LONG_AGO = int((AT - timedelta(minutes=10)).timestamp())


def test_pods_that_nobody_ends_keep_a_dead_node_no_longer(seen: Seen) -> None:
    seen.pod("web-0", "a", uid="u0", deleting=LONG_AGO)
    late = drained(seen)
    assert (late.left, late.only_late) == (1, True)
    assert "its node does not end it" in late.blockers[0].message
    seen.pod("web-1", "a", uid="u1")
    seen.put(a_budget())
    assert not drained(seen).only_late, "a budget keeps one"


ANYWHERE = Toleration(operator="Exists")
SECONDS = int(AT.timestamp())


@pytest.mark.parametrize("state", IN_FLIGHT)
@pytest.mark.parametrize(("after", "goes"), [(-1, ["late"]), (0, []), (5, [])])
def test_pods_that_came_after_our_cordon_are_evicted_in_no_state(
    state: NodeState, after: int, goes: list[str]
) -> None:
    seen = Seen()
    seen.roll(record(seen.node("a"), state, drain_start_time=AT))
    seen.pod("late", "a", created=SECONDS + after, tolerations=(ANYWHERE,))
    assert (names(drained(seen)), drained(seen).over) == (goes, not goes)


def test_that_counts_before_it_is_written_down_when_the_cordon_was_seen() -> None:
    seen = Seen()
    node = seen.node("a")
    seen.roll(record(node, NodeState.CORDONED))
    seen.pod("late", "a", created=SECONDS + 5, tolerations=(ANYWHERE,))
    assert names(drained(seen)) == ["late"]
    seen.observer.memory.changes.note(Cordon("a", node.uid, 1, "r"), AT + timedelta(seconds=5.9))
    seen.pod("other", "a", uid="o", created=SECONDS + 4)
    assert names(drained(seen)) == ["other"]
