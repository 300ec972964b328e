"""`shiplift explain node/x`: waits for what, since when, what is next, what would unblock it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from benchmarks.rows import make
from shiplift.agent.protocol import AGENT, CHANGES_ALLOWED, READY, Agent, current_key
from shiplift.api.marks import CORDONED_BY, QUARANTINED_BY, SKIP_ROLLOUT
from shiplift.api.nodes import Blocker, Hooks, NodeRollout, NodeState, RolloutPhase
from shiplift.api.values import Hook, LabelSelector, Software
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.face import explanation_layout
from shiplift.nodes.face.explanation import NEXT, Explanation, explanation
from shiplift.nodes.model import Member
from shiplift.nodes.names import FINALIZER
from shiplift.nodes.observe.members import member
from tests.nodes.face.rollouts import NOW, UNHEARD, a_record, a_rollout

HOOK = Hook(name="one", namespace="ops", service_account_name="hook", job={})
HOOKS = Hooks(before=(HOOK,), after=(HOOK,))


def a_member(annotations: dict[str, str] | None = None, **given: Any) -> Member:
    known: dict[str, Any] = {"ready": True, "kubelet_version": "v1.35.4", "uid": "uid-a"}
    return member(make(Node, "a", annotations=Labels(annotations or {}), **known | given))


def told(*rollouts: NodeRollout, of: Member | None = None) -> Explanation:
    return explanation(of or a_member(), rollouts, NOW)


def shown(one: Explanation) -> str:
    out = io.StringIO()
    Console(file=out, width=110, no_color=True).print(explanation_layout.explanation(one))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_every_state_says_what_is_next() -> None:
    assert set(NEXT) == set(NodeState)


@pytest.mark.parametrize(
    ("rollouts", "of", "waits_for"),
    [
        ((), a_member(), "nothing: no NodeRollout matches it"),
        (
            (a_rollout(message="2 of 5 nodes done"),),
            a_member(),
            "its turn; NodeRollout r: 2 of 5 nodes done",
        ),
        ((a_rollout(stalled="b failed"),), a_member(), "somebody: NodeRollout r does not go on: b failed"),
        ((a_rollout(),), a_member({SKIP_ROLLOUT: "true"}), "nothing: it has opted out of rollouts"),
        (
            (a_rollout(a_record("a", NodeState.SKIPPED, message=f"{SKIP_ROLLOUT} leaves it out")),),
            a_member({SKIP_ROLLOUT: "true"}),
            "nothing: node.shiplift.dev/skip-rollout leaves it out",
        ),
        ((a_rollout(),), a_member(kubelet_version="v1.36.3"), "nothing: it runs what it should"),
        ((a_rollout(phase=RolloutPhase.ABORTED),), a_member(), "nothing: NodeRollout r is over"),
        ((a_rollout(a_record("a", NodeState.CHANGING, message="works")),), a_member(), "works"),
    ],
)
def test_a_node_waits_for_something(rollouts: Any, of: Member, waits_for: str) -> None:
    assert told(*rollouts, of=of).waits_for == waits_for


def test_a_record_of_another_node_of_that_name_does_not_count() -> None:
    assert told(a_rollout(a_record("a", NodeState.FAILED)), of=a_member(uid="another")).line is None


def test_selectors_and_pools_say_whose_a_node_is() -> None:
    picky = a_rollout(name="picky", spec={"node_selector": LabelSelector(match_labels={"gpu": "yes"})})
    pooled = a_rollout(name="pooled", spec={"pools": ("workers",)})
    assert told(picky, pooled).rollout == ""
    assert told(picky, pooled, of=a_member(labels=Labels(gpu="yes"))).rollout == "picky"


def test_a_node_that_a_rollout_has_left_which_is_gone_waits_for_its_agent_or_for_an_operator() -> None:
    at_work = a_member({CORDONED_BY: "gone", READY: "false t"}, unschedulable=True)
    assert told(of=at_work).waits_for == (
        "its agent, which has begun an order of NodeRollout gone, which is gone: see whether it runs"
    )
    waits = told(a_rollout(name="other"), of=a_member({CORDONED_BY: "gone"}, unschedulable=True)).waits_for
    assert waits == "an operator: NodeRollout gone, which has cordoned it, is gone, and it is given back"


def test_a_rollout_that_an_operator_has_seen_and_cannot_tell_of_asks_for_no_other_operator() -> None:
    found = told(a_rollout(about={"finalizers": (FINALIZER,)}, observed_generation=0))
    assert "cannot write its status: may it patch noderollouts/status?" in found.waits_for
    assert "`shiplift operator` runs one" not in found.unblocked_by


def test_a_rollout_that_runs_counts_before_one_that_is_over() -> None:
    assert told(a_rollout(name="old", phase=RolloutPhase.COMPLETE), a_rollout(name="z")).rollout == "z"


@pytest.mark.parametrize(
    ("of", "cordon"),
    [
        (a_member(), ""),
        (a_member(unschedulable=True), "somebody else"),
        (a_member({CORDONED_BY: "r"}, unschedulable=True), "NodeRollout r"),
        (a_member({CORDONED_BY: "r"}), ""),
        (
            a_member({QUARANTINED_BY: "r"}, unschedulable=True),
            "NodeRollout r, which has quarantined it and ended",
        ),
    ],
)
def test_who_cordoned_it_is_named(of: Member, cordon: str) -> None:
    assert told(of=of).cordon == cordon


@pytest.mark.parametrize(
    ("notes", "agent"),
    [
        ({}, "has not been heard of"),
        ({AGENT: Agent("0.2.0", 3).written()}, "version 0.2.0"),
        ({AGENT: Agent("0.2.0", 3).written(), READY: "false t"}, "version 0.2.0, at work"),
        ({AGENT: Agent("0.2.0", 3, says="it waits").written()}, "version 0.2.0; it says: it waits"),
        ({AGENT: Agent("0.2.0", 3).written(), READY: "true t"}, "version 0.2.0, through with its last order"),
        ({READY: "?"}, "cannot be understood: annotation node.shiplift.dev/ready"),
    ],
)
def test_what_is_known_of_its_agent_is_said(notes: dict[str, str], agent: str) -> None:
    assert told(of=a_member(notes)).agent.startswith(agent)


def test_what_it_has_stands_beside_what_it_should_have() -> None:
    rollout = a_rollout(spec={"software": (Software(name="containerd", version="2.1"),)})
    notes = {current_key("containerd"): "2.1-1", current_key("kubeadm"): "1.35.4"}
    found = {
        one.name: (one.current, one.wanted, one.fits) for one in told(rollout, of=a_member(notes)).software
    }
    assert found == {
        "containerd": ("2.1-1", "2.1", True),
        "kubeadm": ("1.35.4", "1.36.3", False),
        "kubelet": ("1.35.4", "1.36.3", False),
    }


def test_the_picture_is_a_chain_from_what_it_waits_for_to_what_would_unblock_it() -> None:
    blocker = Blocker(pod="shop/web-1", budget="shop/web", message="needs 2 healthy pods and has 2")
    record = a_record("a", NodeState.DRAINING, 45, message="1 pod left", blockers=(blocker,))
    node = a_member({CORDONED_BY: "r", AGENT: Agent("0.2.0", 3).written()}, unschedulable=True)
    assert (
        shown(told(a_rollout(record), of=node))
        == """\
Node       a, v1.35.4, Ready, cordoned by NodeRollout r
Agent      version 0.2.0
Rollout    r: Kubernetes v1.36.3
State      Draining for 45 min
Waits for  1 pod left
Next       when it is empty its agent is told to change it

SOFTWARE  HAS     SHOULD HAVE
kubelet   1.35.4  1.36.3

Blocked by  pod shop/web-1 is kept by PodDisruptionBudget shop/web: needs 2 healthy pods and has 2"""
    )


def test_the_versions_of_a_control_plane_are_compared_as_they_are_written() -> None:
    notes = {current_key("kube-apiserver"): "v1.36.3", current_key("kube-scheduler"): "v1.35.4"}
    found = {one.name: (one.wanted, one.fits) for one in told(a_rollout(), of=a_member(notes)).software}
    assert found["kube-apiserver"] == ("v1.36.3", True)
    assert found["kube-scheduler"] == ("v1.36.3", False)


def test_what_blocks_it_is_apart_from_what_would_help() -> None:
    blocker = Blocker(pod="shop/web-1", budget="shop/web", message="needs 2 healthy pods and has 2")
    record = a_record("a", NodeState.DRAINING, message="1 pod left", blockers=(blocker, blocker))
    paused = told(a_rollout(record, spec={"paused": True}))
    assert len(paused.blocked_by) == 2
    assert paused.unblocked_by == ("`shiplift resume rollout/r`",)
    assert shown(paused).endswith(
        """\
Blocked by  pod shop/web-1 is kept by PodDisruptionBudget shop/web: needs 2 healthy pods and has 2
            pod shop/web-1 is kept by PodDisruptionBudget shop/web: needs 2 healthy pods and has 2
Would help  `shiplift resume rollout/r`"""
    )


@pytest.mark.parametrize("state", [NodeState.FAILED, NodeState.QUARANTINED])
def test_a_node_that_failed_says_how_to_try_again(state: NodeState) -> None:
    """A cordon of ours need not be taken off for that."""
    (helps,) = told(a_rollout(a_record("a", state))).unblocked_by
    assert helps == "mend what failed, then `shiplift resume rollout/r` tries it again"


def test_a_rollout_that_no_operator_has_seen_says_that_and_what_would_help() -> None:
    unseen = told(a_rollout(observed_generation=0))
    assert unseen.waits_for == "an operator: none has looked at NodeRollout r yet"
    assert unseen.unblocked_by == ("`shiplift operator` runs one",)


def test_a_rollout_that_is_refused_is_waited_for_by_nobody_in_turn() -> None:
    (helps,) = told(a_rollout(stalled="v1.34.0 is below v1.35.4")).unblocked_by
    assert helps == "`shiplift explain rollout/r` tells what the rollout needs"


def test_an_agent_that_is_not_heard_of_is_not_told_as_at_work() -> None:
    record = a_record("a", NodeState.CHANGING, reason="AgentUnheard", message="nothing was heard of it")
    node = a_member({AGENT: Agent("0.2.0", 3).written(), READY: "false t"})
    found = told(a_rollout(record), of=node)
    assert found.agent == "version 0.2.0, has begun its order and is not heard of"
    assert found.waits_for == "nothing was heard of it"
    assert found.unblocked_by[0].startswith("see whether the agent of node a runs")


TOKEN = "Prepare.1.4f6f3a52-8f0e-4f0e-9d1c-0a6f5f1f7c11.b1d9c2de-52c1-4f57-9c55-3f9e6f0f3f6a"


def test_a_node_that_is_to_be_prepared_waits_for_its_agent_where_that_is_not_heard_of() -> None:
    rollout = a_rollout(conditions=(UNHEARD,), message=UNHEARD.message)
    asked = a_member({CHANGES_ALLOWED: f'{{"protocol":1,"token":"{TOKEN}"}}'})
    assert told(rollout, of=asked).waits_for == (
        "its agent, which has not answered; NodeRollout r: nothing was heard"
    )
    assert told(rollout, of=asked).unblocked_by
    assert told(rollout).waits_for == "its turn; NodeRollout r: nothing was heard"


@pytest.mark.parametrize(
    ("spec", "of", "state", "next_"),
    [
        ({}, a_member(), NodeState.WAITING, "it is cordoned"),
        ({"hooks": HOOKS}, a_member(), NodeState.WAITING, "hooks before it run, and it is cordoned"),
        ({}, a_member(unschedulable=True), NodeState.WAITING, "its pods are evicted, within their budgets"),
        (
            {"paused": True},
            a_member(unschedulable=True),
            NodeState.WAITING,
            "nothing until somebody resumes NodeRollout r",
        ),
        ({}, a_member(), NodeState.VERIFYING, "it takes pods again"),
        ({"hooks": HOOKS}, a_member(), NodeState.VERIFYING, "hooks after it run, and it takes pods again"),
    ],
)
def test_hooks_come_next_only_where_there_are_any(
    spec: dict[str, Any], of: Member, state: NodeState, next_: str
) -> None:
    assert told(a_rollout(a_record("a", state), spec=spec), of=of).next == next_
