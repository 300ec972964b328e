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


def test_the_next_upgrade_is_told_anew() -> None:
    last = told(over(), told(running()))
    assert kinds(running(seconds=500), last) == ["started"]


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
