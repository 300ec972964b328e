"""What is worth telling: each thing once, in its order, whoever leads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.notify.milestones import event, milestones
from tests.notify.configs import Json, at, condition, config, over, running

STEP = condition("NodesUpgraded", 10, holds=False)
STALLED = condition("Stalled", 20, reason="StepStalled")
GOES_ON = condition("Reconciling", 30)


def kinds(status: Json, last: str = "") -> list[str]:
    return [one.kind for one in milestones(config(status), last)]


def told(status: Json, last: str = "") -> str:
    """The id of the last one, where all that is new is told."""
    found = milestones(config(status), last)
    return found[-1].id if found else last


def test_before_anybody_has_begun_there_is_nothing_to_tell_but_that_somebody_has_to_approve() -> None:
    assert kinds({"phase": "Pending", "reason": "NotDue"}) == []
    plan = {"digest": "sha256:" + "a" * 64, "version": "v1.36.3", "creationTime": at()}
    assert kinds({"reason": "NeedsApproval", "plan": plan}) == ["approval-needed"]


def test_an_upgrade_is_told_from_its_start_to_its_end() -> None:
    last, seen = "", list[str]()
    for status in (
        running(),
        running(STEP),
        running(STEP),
        running(STEP, STALLED),
        running(STEP, GOES_ON),
        running(STEP, GOES_ON),
        over(),
        over(),
    ):
        seen += kinds(status, last)
        last = told(status, last)
    assert seen == ["started", "step-nodesupgraded", "stalled", "goes-on", "upgraded"]


def test_what_was_missed_is_told_with_what_came_then() -> None:
    assert kinds(running(STEP, STALLED), told(running())) == ["step-nodesupgraded", "stalled"]


def test_whose_turn_it_is_comes_instead_of_the_step() -> None:
    turn = {"of": "Nodes", "since": at(10), "pools": ["blue"]}
    (_, one) = milestones(config(running(STEP, turn=turn)), "")
    assert (one.kind, one.message) == ("turn-nodes", "the turn of whoever adds nodes (pools blue)")


def test_whoever_was_told_nothing_before_is_not_told_of_what_was() -> None:
    assert kinds(over()) == []
    assert kinds(over(phase="Failed"), told(running())) == ["failed"]


def test_an_approval_that_is_needed_half_way_is_told_once_each_time_it_is_waited_for() -> None:
    plan = {"digest": "sha256:" + "a" * 64, "version": "v1.36.3", "creationTime": at(-500)}

    def waits(seconds: int) -> Json:
        approved = condition("Approved", seconds, holds=False, reason="NeedsApproval")
        return running(STEP, approved) | {"reason": "NeedsApproval", "plan": plan}

    goes_on = running(STEP, condition("Approved", 40))
    assert followed(
        running(), running(STEP), waits(10), waits(10), goes_on, waits(60), waits(60), goes_on, over()
    ) == ["started", "step-nodesupgraded", "approval-needed", "approval-needed", "upgraded"]


def test_the_next_upgrade_is_told_anew() -> None:
    last = told(over(), told(running()))
    assert kinds(running(seconds=500), last) == ["started"]


def turn(of: str, seconds: int) -> Json:
    return running(turn={"of": of, "since": at(seconds)})


def followed(*statuses: Json) -> list[str]:
    """The kinds that are told of one status after the other."""
    last, seen = "", list[str]()
    for status in statuses:
        seen += kinds(status, last)
        last = told(status, last)
    return seen


def test_two_steps_in_one_second_are_both_told() -> None:
    assert followed(turn("Ours", 0), turn("ControlPlane", 0), turn("ControlPlane", 0)) == [
        "started",
        "turn-ours",
        "turn-controlplane",
    ]


def test_a_leader_whose_clock_is_behind_loses_neither_start_nor_step_nor_end() -> None:
    plan = {"digest": "sha256:" + "a" * 64, "version": "v1.36.3", "creationTime": at(4)}
    steps = (turn("ControlPlane", 10), turn("Nodes", 7), turn("Nodes", 7), over(5), over(5))
    assert followed({"reason": "NeedsApproval", "plan": plan}, *steps) == [
        "approval-needed",
        "started",
        "turn-controlplane",
        "turn-nodes",
        "upgraded",
    ]


def test_a_clock_that_is_behind_the_start_tells_nothing_again_and_again() -> None:
    behind = running(condition("NodesUpgraded", -3, holds=False))
    assert followed(running(), behind, behind, behind) == ["started", "step-nodesupgraded"]


def next_one(seconds: int) -> Json:
    """The next upgrade runs, and the one before it is in the history."""
    found = running(STEP, seconds=seconds)
    return found | {"history": [*found["history"], *over()["history"]]}


@pytest.mark.parametrize("seconds", [100, 500])
def test_the_end_of_an_upgrade_is_told_also_where_the_next_has_started_already(seconds: int) -> None:
    found = milestones(config(next_one(seconds)), told(running(STEP)))
    assert [one.kind for one in found][:2] == ["upgraded", "started"]
    assert "started" not in kinds(next_one(seconds), found[-1].id)
    assert "started" in kinds(next_one(seconds), found[0].id)
    assert "upgraded" not in kinds(next_one(seconds), found[-1].id)


def test_an_event_says_from_where_to_where_its_own_upgrade_goes() -> None:
    past = over()["history"][0] | {"version": "v1.35.4", "precedingVersion": "v1.34.9"}
    plan = {"digest": "sha256:" + "a" * 64, "version": "v1.36.3", "creationTime": at(200)}
    waits = {"reason": "NeedsApproval", "plan": plan, "currentVersion": "v1.35.4", "history": [past]}
    one = config(waits)
    end, needed = (event(one, each)["data"] for each in milestones(one, told(running())))
    assert (end["from"], end["to"]) == ("v1.34.9", "v1.35.4")
    assert (needed["from"], needed["to"]) == ("v1.35.4", "v1.36.3")


def test_an_event_is_what_cloud_events_ask_for() -> None:
    upgrade = config(running(STEP))
    made: dict[str, Any] = event(upgrade, milestones(upgrade, "")[0])
    assert made["specversion"] == "1.0"
    assert made["type"] == "dev.shiplift.upgrade.started"
    assert made["source"] == "/apis/shiplift.dev/v1alpha1/upgradeconfigs/cluster"
    assert made["id"].startswith("u-20261101T120000Z")
    assert made["time"] == at()
    assert made["data"]["to"] == "v1.36.3"


@given(
    st.lists(
        st.sampled_from([running(), running(STEP), running(STEP, STALLED), running(STEP, GOES_ON), over()])
    )
)
def test_nothing_is_told_twice_whatever_order_it_is_seen_in(seen: list[Json]) -> None:
    last, ids = "", list[str]()
    for status in seen:
        found = milestones(config(status), last)
        ids += [one.id for one in found]
        last = found[-1].id if found else last
    assert len(ids) == len(set(ids))
    assert ids == sorted(ids)


@pytest.mark.parametrize("text", ["", "nonsense", "-", "20261101T120000Z"])
def test_what_is_no_id_of_ours_is_no_reason_to_fail(text: str) -> None:
    milestones(config(running(STEP)), text)
