"""Nodes in the protocol's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.agent import protocol
from shiplift.agent.protocol import Agent, Operation, Order, Outcome, Readiness, Result, Token
from shiplift.api.machines import Machine, MachineSpec, MachineStatus, Provider, Role
from shiplift.api.marks import CORDONED_BY, SKIP_ROLLOUT
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Condition, Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.observe.members import Members, has_ours, member, only_beats

ORDER = Order(Token("r1", "n1", Operation.PACKAGES, 2))
TOKEN = str(ORDER.token)


def a_node(annotations: dict[str, str] | None = None, **given: Any) -> Node:
    return make(Node, "a", annotations=Labels(annotations or {}), ready=True, **given)


def a_machine(node: str, deleting: int = 0) -> Custom:
    spec = MachineSpec(pool="workers", role=Role.WORKER, provider=Provider.STATIC)
    made = Machine(spec=spec, status=MachineStatus(node=node))
    return make(Custom, f"machine-{node}", object=made, deleting=deleting)


def test_what_controller_and_agent_wrote_is_read() -> None:
    seen = member(
        a_node(
            {
                protocol.desired_key("kubelet"): "1.36.3",
                protocol.current_key("kubelet"): "1.35.4",
                protocol.CHANGES_ALLOWED: ORDER.written(),
                protocol.READY: f"false {TOKEN}",
                protocol.OUTCOME: Outcome(TOKEN, Result.FAILED, "disk full").written(),
                protocol.AGENT: Agent("0.2.0", 7).written(),
                CORDONED_BY: "r",
                SKIP_ROLLOUT: "true",
            }
        )
    )
    assert (seen.desired, seen.current) == ({"kubelet": "1.36.3"}, {"kubelet": "1.35.4"})
    assert (seen.order, seen.readiness) == (ORDER, Readiness(False, TOKEN))
    assert (seen.answer, seen.agent) == (Outcome(TOKEN, Result.FAILED, "disk full"), Agent("0.2.0", 7))
    assert (seen.cordoned_by, seen.opted_out, seen.problem) == ("r", True, "")


@pytest.mark.parametrize("key", [protocol.CHANGES_ALLOWED, protocol.READY, protocol.OUTCOME, protocol.AGENT])
def test_an_annotation_that_cannot_be_read_is_named_and_nothing_of_the_agent_is_believed(key: str) -> None:
    notes = {key: "?", protocol.current_key("kubelet"): "1.35.4", CORDONED_BY: "r"}
    seen = member(a_node(notes))
    assert key in seen.problem
    assert seen.current == {}
    assert (seen.order, seen.readiness, seen.answer, seen.agent) == (None, None, None, None)
    assert seen.cordoned_by == "r"


@pytest.mark.parametrize("role", ["control-plane", "master"])
def test_a_control_plane_is_known_by_its_label(role: str) -> None:
    assert member(a_node(labels=Labels({f"node-role.kubernetes.io/{role}": ""}))).control_plane
    assert not member(a_node()).control_plane


def test_a_member_is_the_same_while_its_row_is() -> None:
    members, row = Members(), a_node()
    first = members.look([row], [])["a"]
    assert members.look([row], [])["a"] is first
    newer = msgspec.structs.replace(row, unschedulable=True)
    assert members.look([newer], [])["a"].row is newer


def test_the_machine_of_a_node_says_its_pool_and_that_it_leaves() -> None:
    members, row = Members(), a_node()
    assert not members.look([row], [])["a"].down
    with_machine = members.look([row], [a_machine("a")])["a"]
    assert (with_machine.pool, with_machine.leaving) == ("workers", False)
    leaving = members.look([row], [a_machine("a", deleting=5)])["a"]
    assert leaving.leaving
    assert leaving.down


def test_a_node_that_is_gone_is_no_member() -> None:
    members = Members()
    members.look([a_node()], [])
    assert members.look([], []) == {}


def test_what_a_rollout_left_on_a_node_is_ours() -> None:
    assert has_ours(a_node({CORDONED_BY: "r"}))
    assert has_ours(a_node({protocol.CHANGES_ALLOWED: ORDER.written()}))
    assert not has_ours(a_node({protocol.current_key("kubelet"): "1.35.4", SKIP_ROLLOUT: "true"}))
    assert not has_ours(None)


def beating(count: int, **given: Any) -> Node:
    return a_node({protocol.AGENT: Agent("0.2.0", count).written()}, resource_version=count, **given)


def test_a_heartbeat_alone_decides_nothing() -> None:
    assert only_beats(beating(1), beating(2))
    assert only_beats(beating(1), a_node())
    assert not only_beats(beating(1), beating(2, unschedulable=True))
    assert not only_beats(a_node(), a_node({protocol.READY: f"false {TOKEN}"}))
    assert not only_beats(a_node(), a_node(conditions=(Condition("Ready", "False"),)))
