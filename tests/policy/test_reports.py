"""What OCM is told: every state once, in an order that OCM takes, whatever was missed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.step import Outcome, Outcomes
from shiplift.outside.letters import Box
from shiplift.policy.decide.decision import decide
from shiplift.policy.decide.reports import (
    NEXT,
    RECEIVER,
    Report,
    State,
    last_state,
    new_letters,
    steps,
    wait,
    way,
)
from shiplift.policy.steps import Deliver
from tests.policy.test_gates import FAILED, OVER, RUNNING
from tests.policy.views import (
    HTTP,
    LATER,
    LOCAL,
    NEVER_ASKED,
    NEW,
    NOW,
    OCM,
    answered,
    over,
    policy,
    row,
    view,
)

STALLED = {
    **RUNNING,
    "conditions": [
        {
            "type": "Stalled",
            "status": "True",
            "reason": "Blocked",
            "lastTransitionTime": "2026-11-17T12:00:00Z",
        }
    ],
}


def told(box: Box, status: dict[str, Any], name: str = "p1") -> Box:
    spec = {"abort": status is FAILED}
    current = row(policy(name=name), spec=spec, status=status, provider="OCM")
    seen = view(answered(policy(name=name), OCM), current, config=OCM)
    return box.put(new_letters(seen, box, NOW))


def ids(box: Box) -> list[str]:
    return [one.id for one in box.letters]


def test_every_state_is_told_once() -> None:
    box = Box()
    for status in ({}, RUNNING, RUNNING, STALLED, RUNNING, STALLED, OVER, OVER):
        box = told(box, status)
    assert ids(box) == ["p1/v1.36.3/started", "p1/v1.36.3/delayed", "p1/v1.36.3/completed"]
    assert msgspec.json.decode(box.letters[0].body, type=Report).value is State.STARTED


def test_a_state_that_was_missed_is_told_before_the_next() -> None:
    assert ids(told(Box(), OVER)) == ["p1/v1.36.3/started", "p1/v1.36.3/completed"]
    assert ids(told(Box(), FAILED)) == ["p1/v1.36.3/started", "p1/v1.36.3/failed"]


def test_an_upgrade_that_has_stopped_has_not_failed_yet() -> None:
    box = told(told(Box(), RUNNING), {**STALLED, "phase": "Failed"})
    assert ids(told(box, OVER)) == ["p1/v1.36.3/started", "p1/v1.36.3/delayed", "p1/v1.36.3/completed"]


def test_a_version_in_other_words_is_the_same() -> None:
    seen = row(policy("4.20.1"), status=over("v4.20.1"), provider="OCM")
    (started, completed) = new_letters(view(answered(policy("4.20.1"), OCM), seen, config=OCM), Box(), NOW)
    assert (started.id, completed.id) == ("p1/v4.20.1/started", "p1/v4.20.1/completed")


def test_the_next_policy_begins_anew() -> None:
    box = told(told(Box(), OVER), {}, "p2")
    assert ids(told(box, RUNNING, "p2")) == [
        "p1/v1.36.3/started",
        "p1/v1.36.3/completed",
        "p2/v1.36.3/started",
    ]


def test_a_policy_that_recurs_under_its_id_is_told_of_again() -> None:
    """As OCM's automatic policies do: another version, the same id."""
    box = told(told(Box(), OVER), RUNNING)
    assert ids(box) == ["p1/v1.36.3/started", "p1/v1.36.3/completed"]
    seen = row(policy(LATER), status={**RUNNING, "targetVersion": LATER}, provider="OCM")
    letters = new_letters(view(answered(policy(LATER), OCM), seen, config=OCM), box, NOW)
    assert [one.id for one in letters] == ["p1/v1.36.9/started"]


def test_the_end_of_one_upgrade_is_not_told_of_the_next() -> None:
    """The status is of the last upgrade until somebody takes up the next."""
    later = policy(LATER, "p2")
    seen = view(answered(later, OCM), row(later, status=OVER, provider="OCM"), config=OCM)
    assert new_letters(seen, told(Box(), OVER), NOW) == ()


def test_of_a_version_that_was_aborted_before_nothing_is_told_until_it_begins_again() -> None:
    """Under another policy: once OCM is told that this one has failed, it takes nothing of it any more."""
    again = policy(name="p3")
    box = told(Box(), FAILED)
    seen = row(again, status={**FAILED, "phase": "Pending"}, provider="OCM")
    assert new_letters(view(answered(again, OCM), seen, config=OCM), box, NOW) == ()
    for status in (RUNNING, OVER):
        box = told(box, status, "p3")
    assert ids(box)[2:] == ["p3/v1.36.3/started", "p3/v1.36.3/completed"]


def test_what_was_told_is_not_told_again_after_it_was_delivered() -> None:
    box = told(Box(), RUNNING)
    delivered = box.done(box.letters[0])
    assert told(delivered, RUNNING) == delivered


def test_of_what_did_not_come_from_ocm_nothing_is_told() -> None:
    seen = view(answered(policy(), OCM), row(policy(), status=RUNNING), config=OCM)
    assert new_letters(seen, Box(), NOW) == ()


def test_what_nobody_is_there_for_is_forgotten() -> None:
    box = told(Box(), RUNNING)
    found = steps(view(answered(policy(LATER)), box=box), HTTP, NOW)
    assert [type(one).__name__ for one in found] == ["Forget"]


@given(st.lists(st.sampled_from([{}, RUNNING, STALLED, OVER, FAILED])))
def test_whatever_happens_ocm_takes_every_report(statuses: list[dict[str, Any]]) -> None:
    box = Box()
    for status in statuses:
        box = told(box, status)
    last: State | None = None
    for letter in box.letters:
        state = State(letter.id.rpartition("/")[2])
        assert state in NEXT[last]
        last = state
    assert last_state(box, f"p1/{NEW}") is last


@pytest.mark.parametrize("last", [None, *State])
@pytest.mark.parametrize("wanted", list(State))
def test_the_way_keeps_to_what_may_follow(last: State | None, wanted: State) -> None:
    for state in way(last, wanted):
        assert state in NEXT[last]
        last = state


def test_letters_go_to_ocm() -> None:
    assert {one.receiver for one in told(Box(), OVER).letters} == {RECEIVER}


def test_a_report_that_ocm_cannot_take_now_is_tried_ever_more_slowly() -> None:
    box = told(Box(), RUNNING)
    step, outcomes, now, waits = Deliver(box.letters[0]), Outcomes(), NOW, list[int]()
    for _ in range(6):
        outcomes = outcomes.remember([Outcome.refused(step, "503", timedelta(seconds=30))], now)
        seen = view(answered(policy(), OCM), config=OCM, box=box, outcomes=outcomes)
        left = wait(seen, OCM, step, now)
        waits.append(round(left / timedelta(minutes=1)))
        assert step not in decide(seen, now + left - timedelta(seconds=1)).steps
        now += left
        assert step in decide(seen, now).steps
    assert waits == [1, 2, 4, 8, 10, 10]


def test_reports_outlive_settings_that_are_gone_for_days() -> None:
    """Somebody deletes the ConfigMap and makes it anew, or an operator begins to lead meanwhile."""
    box = told(Box(), RUNNING)
    seen = view(NEVER_ASKED, box=box)
    for days in (0, 1, 6):
        assert steps(seen, LOCAL, NOW + timedelta(days=days)) == ()
    found = steps(seen, LOCAL, NOW + timedelta(days=8))
    assert [type(one).__name__ for one in found] == ["Forget"]
    back = steps(view(answered(policy(), OCM), box=box, config=OCM), OCM, NOW + timedelta(days=6))
    assert [type(one).__name__ for one in back] == ["Deliver"]
