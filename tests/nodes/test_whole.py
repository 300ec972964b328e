"""The whole layer in memory: what is seen, decided, done and told fits together, agents included."""

from __future__ import annotations

import pytest

from shiplift.agent.protocol import CHANGES_ALLOWED, desired_versions
from shiplift.api.marks import CORDONED_BY
from shiplift.facts.kinds import NODE
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.local.agents import FAILS
from tests.model.world import NEW, OLD
from tests.nodes.whole import Whole

PLANE = Labels({"node-role.kubernetes.io/control-plane": ""})
FAKE = Labels({"kwok.x-k8s.io/node": "fake"})


@pytest.fixture
def whole() -> Whole:
    return Whole()


def versions(whole: Whole) -> list[str]:
    return [row.kubelet_version for row in sorted(whole.cluster.all(Node), key=lambda row: row.name)]


def residue(whole: Whole) -> list[str]:
    return [
        f"{row.name}: {key}"
        for row in whole.cluster.all(Node)
        for key in (*row.annotations, *(["cordon"] if row.unschedulable else []))
        if key in (CHANGES_ALLOWED, CORDONED_BY, "cordon") or desired_versions({key: ""})
    ]


def add(whole: Whole, *names: str, **given: object) -> None:
    for name in names:
        whole.cluster.node(name, annotations=FAKE, container_runtime="containerd://2.1.4", **given)


def test_workers_are_changed_one_after_the_other_and_given_back(whole: Whole) -> None:
    add(whole, "a", "b", "c")
    for name in "abc":
        whole.cluster.pod(f"web-{name}", name, uid=f"u-{name}")
    whole.roll()
    whole.until("Complete")
    assert versions(whole) == [NEW] * 3
    assert residue(whole) == []
    assert whole.away == 1
    assert whole.cluster.all_pods() == []
    told = [reason for name, reason in whole.events if name == "a"]
    assert told == ["RolloutBegun", "Drained", "Changed", "RolledOut"]


def test_a_control_plane_goes_first_under_a_claim_that_is_closed_in_the_end(whole: Whole) -> None:
    add(whole, "plane", labels=PLANE)
    add(whole, "worker")
    whole.roll()
    whole.until("Complete")
    assert versions(whole) == [NEW] * 2
    assert residue(whole) == []
    assert whole.cluster.read_claims() == ()
    assert whole.rollout().status.snapshot is not None


def test_a_budget_holds_a_drain_up_until_it_does_not(whole: Whole) -> None:
    add(whole, "a")
    whole.cluster.pod("web", "a", uid="u")
    whole.api.kept_back.add("u")
    whole.roll()
    for _ in range(40):
        whole.round()
    assert versions(whole) == [OLD]
    whole.api.kept_back.clear()
    whole.until("Complete")
    assert residue(whole) == []


@pytest.mark.parametrize(("version", "state"), [("2.1.5", "Failed"), ("2.2.0", "Quarantined")])
def test_a_node_that_fails_is_put_back_or_kept_and_the_rollout_stops(
    whole: Whole, version: str, state: str
) -> None:
    add(whole, "a", "b")
    whole.roll(software=[{"name": "containerd", "version": version}], version=None)
    whole.until_recorded("a")
    fails = {"metadata": {"annotations": {FAILS: "Fails"}}}
    whole.api.patch(NODE, "a", fails, uid=whole.cluster.named_node("a").uid)
    whole.until("Stopped")
    for _ in range(60):
        whole.round()
    (record,) = whole.rollout().status.nodes
    assert (record.name, record.state.value) == ("a", state)
    of_a = [one for one in residue(whole) if one.startswith("a: ")]
    assert of_a == ([] if state == "Failed" else [f"a: {CORDONED_BY}", "a: cordon"])


def test_what_is_aborted_is_given_back(whole: Whole) -> None:
    add(whole, "a")
    whole.cluster.pod("web", "a", uid="u")
    whole.api.kept_back.add("u")
    whole.roll()
    for _ in range(10):
        whole.round()
    assert residue(whole)
    whole.change({"spec": {"abort": True}})
    whole.until("Aborted")
    assert residue(whole) == []


def test_at_rest_a_rollout_that_is_complete_decides_nothing_again(whole: Whole) -> None:
    add(whole, "a")
    whole.roll()
    whole.until("Complete")
    for _ in range(3):
        whole.round()
    view = whole.cluster.observer.observe(whole.outcomes)
    whole.round()
    assert whole.cluster.observer.observe(whole.outcomes) is view


def a_hook(name: str) -> dict[str, object]:
    job = {"template": {"spec": {"containers": [{"name": "main", "image": "none"}]}}}
    return {"name": name, "namespace": "ops", "serviceAccountName": "runner", "job": job}


def test_hooks_run_before_a_node_is_cordoned_and_before_it_takes_pods_again(whole: Whole) -> None:
    add(whole, "a")
    whole.roll(hooks={"before": [a_hook("pre")], "after": [a_hook("post")]})
    whole.until_recorded("a")
    for _ in range(20):
        whole.round()
    (before,) = whole.jobs()
    assert before["metadata"]["name"].startswith("pre-")
    assert whole.away == 0
    whole.end_jobs()
    for _ in range(60):
        whole.round()
    (after,) = [one for one in whole.jobs() if one["metadata"]["name"].startswith("post-")]
    assert after["spec"]["template"]["spec"]["serviceAccountName"] == "runner"
    assert versions(whole) == [NEW]
    assert whole.cluster.named_node("a").unschedulable
    whole.end_jobs()
    whole.until("Complete")
    assert residue(whole) == []
    assert whole.jobs() == []


def test_a_hook_that_fails_leaves_its_node_alone(whole: Whole) -> None:
    add(whole, "a")
    whole.roll(hooks={"before": [a_hook("pre")]})
    whole.until_recorded("a")
    for _ in range(3):
        whole.round()
    whole.end_jobs("Failed")
    whole.until("Stopped")
    whole.round()
    assert versions(whole) == [OLD]
    assert residue(whole) == []
    assert "hook pre: as asked" in whole.rollout().status.nodes[0].message


def test_a_node_that_is_replaced_under_its_name_is_changed_as_well(whole: Whole) -> None:
    add(whole, "a")
    whole.cluster.pod("web", "a", uid="u")
    whole.api.kept_back.add("u")
    whole.roll()
    whole.until_recorded("a")
    whole.cluster.remove(whole.cluster.named_node("a"))
    for pod in whole.cluster.all_pods():
        whole.cluster.remove(pod)
    add(whole, "a")
    whole.until("Complete")
    assert versions(whole) == [NEW]
    assert residue(whole) == []
