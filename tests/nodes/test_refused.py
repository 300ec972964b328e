"""A rollout that cannot be is refused by name, and nothing is changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from shiplift.api.nodes import Canary, RolloutPhase
from shiplift.api.values import LabelSelector, Window
from shiplift.engine.decision import requeue
from shiplift.facts import kinds
from shiplift.nodes.model import Reason, Unreadable
from tests.nodes.stage import Stage, decided, told
from tests.nodes.world import NEW


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"version": "v1.38.0"}, Reason.VERSION_REFUSED, "v1.38.0 is more than one minor above v1.36.2"),
        ({"version": "v1.35.9"}, Reason.VERSION_REFUSED, "v1.35.9 is below v1.36.2"),
        (
            {"node_selector": LabelSelector(match_labels={"tier": "gold"})},
            Reason.NO_NODES,
            "no node matches nodeSelector tier=gold of NodeRollout next; no node has label tier",
        ),
        (
            {"pools": ("gold",)},
            Reason.NO_NODES,
            "no node matches pools gold of NodeRollout next; no node is in a pool",
        ),
        (
            {"windows": (Window(schedule="0 22 * * *", duration="10m"),), "expected_node_duration": "15m"},
            Reason.WINDOW_TOO_SHORT,
            "window '0 22 * * *' for 10m in UTC is shorter than the 15m that is expected",
        ),
        (
            {"windows": (Window(schedule="0 99 * * *", duration="1h"),)},
            Reason.UNREADABLE,
            "spec.windows of NodeRollout next: window",
        ),
        (
            {"windows": (Window(schedule="0 9 * * *", duration="1h", time_zone="Moon/Far"),)},
            Reason.UNREADABLE,
            "Moon",
        ),
        (
            {"canary": Canary(node_selector=LabelSelector(match_labels={"tier": "gold"}))},
            Reason.NO_NODES,
            "spec.canary of NodeRollout next: its nodeSelector matches no worker",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name_and_nothing_is_changed(
    spec: dict[str, Any], reason: Reason, message: str
) -> None:
    stage = Stage(2, 0 if "canary" in spec else 1)
    stage.world.change(**spec)
    stage.finish()
    (condition,) = [one for one in stage.told.conditions if one.type == "Stalled"]
    assert condition.reason == reason
    assert message in stage.told.message
    assert stage.judge.cordoned == []
    assert stage.judge.ordered == []


def test_workers_never_get_ahead_of_a_clouds_api_server() -> None:
    stage = Stage(2)
    reason, message, stalled = told(decided(stage, api_servers={"cp-9": "v1.35.4"}))
    assert (reason, stalled) == (Reason.VERSION_REFUSED, True)
    assert message.startswith("v1.36.3 is of a later minor than the API server of node cp-9")


def test_of_two_rollouts_over_one_node_the_younger_is_refused() -> None:
    stage = Stage(2)
    stage.world.roll_out("later", version="v1.36.4")
    stage.finish()
    later = stage.world.rollouts["later"].status
    assert later.phase is RolloutPhase.PENDING
    assert later.message == (
        "node w-0 is in the scope of NodeRollout next too, which was there first and is in force until it is"
        " deleted: delete it (nodes keep what they run), or change a selector"
    )
    assert {one.kubelet for one in stage.world.nodes.values()} == {NEW}
    stage.world.delete()
    stage.finish()
    assert {one.kubelet for one in stage.world.nodes.values()} == {"v1.36.4"}


def test_an_unreadable_node_or_rollout_keeps_nodes_from_being_begun() -> None:
    stage = Stage(2)
    found = Unreadable(kinds.NODE, "w-9", "no uid")
    assert told(decided(stage, unreadable=(found,))) == (
        Reason.UNREADABLE,
        "nothing is begun: Node w-9 cannot be read: no uid",
        True,
    )


def test_nothing_is_done_on_what_may_be_old() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.cordoned)
    decision = decided(stage, stale=(kinds.POD,))
    assert decision.steps == ()
    assert told(decision) == (Reason.STALE_VIEW, "nothing is done: what is known of Pod may be old", False)
    assert decision.told[0].status.nodes == stage.told.nodes
    assert decision.look_again == requeue(timedelta(seconds=1)), "no event tells that it is fresh again"
