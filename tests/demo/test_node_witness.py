"""The witness counts nodes that are away and workloads below their budget, whatever the operator says."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.demo.node_witness import NodeWitness, Verdict
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import PodDisruptionBudget
from tests.view.rows import make, node
from tests.view.rows import pod as row

OLD, NEW = "v1.35.4", "v1.36.3"
PLANE = Labels({"node-role.kubernetes.io/control-plane": ""})
WEB = Labels(app="web")
BUDGET = make(PodDisruptionBudget, "web", selector=Selector(WEB), desired_healthy=1)


class Story:
    """What a witness hears: two workers, a control plane, two pods of a workload that needs one."""

    def __init__(self) -> None:
        self.witness = NodeWitness(OLD, NEW, 1)
        self.nodes = {one.name: one for one in (node("a", OLD), node("b", OLD), node("c", OLD, labels=PLANE))}
        self.pods = {name: row(name, "a", labels=WEB, ready=True) for name in ("web-0", "web-1")}
        for one in self.nodes.values():
            self.witness.heard(kinds.NODE, None, one)
        for pod in self.pods.values():
            self.witness.heard(kinds.POD, None, pod)
        self.witness.heard(kinds.POD_DISRUPTION_BUDGET, None, BUDGET)
        self.witness.begin()

    def node(self, name: str, **change: Any) -> None:
        before = self.nodes[name]
        self.nodes[name] = msgspec.structs.replace(before, **change)
        self.witness.heard(kinds.NODE, before, self.nodes[name])

    def change(self, *names: str) -> None:
        """Each is cordoned, gets its version, and takes pods again."""
        for name in names:
            self.node(name, unschedulable=True)
            self.node(name, kubelet_version=NEW)
            self.node(name, unschedulable=False)

    def pod(self, name: str, **change: Any) -> None:
        before = self.pods[name]
        self.pods[name] = msgspec.structs.replace(before, **change)
        self.witness.heard(kinds.POD, before, self.pods[name])

    def comes(self, name: str, on: str) -> None:
        self.pods[name] = row(name, "", labels=WEB)
        self.witness.heard(kinds.POD, None, self.pods[name])
        self.pod(name, node=on)
        self.pod(name, ready=True)


def told(verdict: Verdict) -> dict[str, str]:
    return dict(verdict.told)


def test_one_after_the_other_and_within_the_budget() -> None:
    story = Story()
    story.pod("web-0", deleting=1)
    story.comes("web-2", "b")
    story.change("c", "a", "b")
    verdict = story.witness.verdict()
    assert not verdict.broken
    assert told(verdict) == {
        "nodes": "3 changed in place from v1.35.4 to v1.36.3: each once",
        "away": "at most 1 of 2 workers and 1 of 1 control planes at once",
        "budgets": "kept: no workload was ever below its own",
        "moves": "1 times a pod was given another node",
        "left": "nothing: no cordon, order or desired version of ours",
    }


def test_more_workers_away_at_once_than_allowed_are_noticed_though_it_was_for_a_moment() -> None:
    story = Story()
    story.change("c", "a", "b")
    story.node("a", unschedulable=True)
    story.node("b", ready=False)
    story.node("a", unschedulable=False)
    story.node("b", ready=True)
    verdict = story.witness.verdict()
    assert (verdict.away, verdict.broken) == (2, True)


def test_a_budget_that_was_not_kept_for_a_moment_is_named() -> None:
    story = Story()
    story.change("c", "a", "b")
    story.pod("web-0", deleting=1)
    story.pod("web-1", ready=False)
    story.pod("web-1", ready=True)
    verdict = story.witness.verdict()
    assert (verdict.below, verdict.broken) == (("web",), True)
    assert told(verdict)["budgets"] == "not kept: web"


def test_a_node_that_was_not_changed_or_was_changed_twice_is_noticed() -> None:
    story = Story()
    story.change("c", "a")
    assert story.witness.verdict().broken
    story = Story()
    story.change("c", "a", "b")
    story.node("a", kubelet_version=OLD)
    verdict = story.witness.verdict()
    assert (verdict.changed["a"], verdict.broken) == (2, True)


def test_what_was_before_the_beginning_and_after_the_verdict_does_not_count() -> None:
    witness = NodeWitness(OLD, NEW, 1)
    one: Node = node("a", OLD, unschedulable=True)
    witness.heard(kinds.NODE, None, one)
    witness.heard(kinds.POD, None, row("web-0", "a", labels=WEB))
    witness.begin()
    before = witness.verdict()
    assert (before.away, before.moves) == (0, 0)
    witness.heard(kinds.NODE, one, msgspec.structs.replace(one, kubelet_version=NEW))
    assert witness.verdict() == before


def test_pods_of_other_namespaces_do_not_count_for_a_budget() -> None:
    story = Story()
    story.pod("web-0", deleting=1)
    elsewhere: Pod = row("web-9", "b", labels=WEB, ready=True, namespace="other")
    story.witness.heard(kinds.POD, None, elsewhere)
    story.pod("web-1", ready=False)
    assert story.witness.verdict().below == ("web",)
