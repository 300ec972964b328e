"""Who else is in a scenario does what is due when it is due, and once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from shiplift.agent.protocol import Operation, Order, Result
from shiplift.kube.errors import Forbidden
from shiplift.local.agents import FAILS
from tests.crash.nodes import world as worlds
from tests.crash.nodes.scenarios import HalfWay
from tests.crash.nodes.test_judging import (
    GOOD,
    ORDERED,
    SCENARIO,
    Json,
    marked,
    node,
    rollout,
    says,
    start,
    token,
)
from tests.crash.nodes.world import World
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.crash.workloads.shape import NEW


class Admin:
    """Notes what is written; as somebody else, what a policy forbids is refused."""

    def __init__(self, *, forbids: bool = True) -> None:
        self.written: list[tuple[str, Json]] = []
        self.forbids = forbids

    def patch(self, kind: object, name: str, change: Json, namespace: str = "", *, uid: str = "") -> None:
        said = change.get("metadata", {}).get("annotations", {})
        if self.forbids and ("unschedulable" in change.get("spec", {}) or "true" in said.values()):
            raise Forbidden("no", status=403)
        self.written.append((name, change))

    def acting_as(self, who: object) -> Admin:
        return self


def world(half_way: HalfWay, admin: Admin) -> World:
    scenario = msgspec.structs.replace(SCENARIO, half_way=half_way, victim="n-0")
    return World(cast("Stage", SimpleNamespace(admin=admin)), scenario)


def played(half_way: HalfWay, too_early: State, due: State) -> list[tuple[str, Json]]:
    """What is written when it is due, which is looked at twice; before that nothing is."""
    admin = Admin()
    one = world(half_way, admin)
    for state in (too_early, due, due):
        one.play(with_uid(state))
        assert bool(admin.written) == (state is due)
    return admin.written


def with_uid(state: State) -> State:
    for thing in state.values():
        thing["metadata"].setdefault("uid", "u")
    return state


def test_a_budget_is_lifted_when_a_drain_says_that_it_blocks() -> None:
    blocked = [{"name": "n-0", "state": "Draining", "blockers": [{"pod": "shop/web-0"}]}]
    due = start(("NodeRollout", rollout(nodes=blocked)))
    assert played(HalfWay.LIFT, start(), due) == [("web", {"spec": {"maxUnavailable": 1}})]


CLAIMED, CHANGED = ("Node", marked(order=ORDERED, said=says(token()))), ("Node", node("n-1", NEW))


@pytest.mark.parametrize("too_early", [[CLAIMED], [CHANGED], [CHANGED, ("Node", marked(order=ORDERED))]])
def test_a_rollout_is_aborted_when_one_node_is_changed_and_another_is_being_changed(
    too_early: list[tuple[str, Json]],
) -> None:
    assert len(played(HalfWay.ABORT, start(*too_early), start(CLAIMED, CHANGED))) == 1


def test_a_node_is_broken_when_it_is_prepared() -> None:
    prepared = node(notes=says(token(Operation.PREPARE), Result.DONE))
    written = played(HalfWay.FAIL, start(("Node", GOOD[1])), start(("Node", prepared)))
    assert written == [("n-0", {"metadata": {"annotations": {FAILS: "Fails"}}})]


def robbed(*, forbids: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[tuple[str, Json]]]:
    monkeypatch.setattr(worlds, "PACE", SimpleNamespace(change=0.0))
    admin = Admin(forbids=forbids)
    one = world(HalfWay.LIE, admin)
    dead: dict[str, Any] = {FAILS: "Dies"}
    prepare = Order(token(Operation.PREPARE), NEW)
    for state in (
        marked(order=prepare, said=dead | says(token(Operation.PREPARE))),
        marked(order=ORDERED, said=dead),
    ):
        one.play(start(("Node", state)))
        assert admin.written == []
    one.play(start(("Node", marked(order=ORDERED, said=dead | says(token())))))
    return one.complaints(), admin.written


def test_a_thief_that_is_kept_from_everything_else_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints, written = robbed(forbids=True, monkeypatch=monkeypatch)
    assert complaints == []
    ((name, lie),) = written
    assert (name, lie["metadata"]["annotations"]["kubelet.shiplift.dev/current-version"]) == ("n-0", "1.36.3")


def test_what_a_thief_could_do_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints, _ = robbed(forbids=False, monkeypatch=monkeypatch)
    assert [one.rpartition("could ")[2] for one in complaints] == [
        "uncordon it",
        "write node.shiplift.dev/skip-rollout",
        "write node.shiplift.dev/cordoned-by",
    ]


def test_a_run_is_over_when_the_rollout_has_ended_and_somebody_has_done_what_was_due() -> None:
    ended = with_uid(start(("NodeRollout", rollout("Complete"))))
    assert world(HalfWay.NOTHING, Admin()).over(ended)
    assert not world(HalfWay.LIFT, Admin()).over(ended)
    assert not world(HalfWay.NOTHING, Admin()).over(start())
    assert not world(HalfWay.NOTHING, Admin()).over(ended | start(("Node", marked())))
    under_way = [{"name": "n-0", "state": "Reverting", "token": "t"}]
    busy = start(("NodeRollout", rollout("Complete", under_way)))
    assert not world(HalfWay.NOTHING, Admin()).over(busy)
