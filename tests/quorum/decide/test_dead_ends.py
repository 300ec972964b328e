"""What would go wrong for ever: servers that never come back new, or say nothing; another build of what runs;
a service that cannot do without one of its servers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.quorum import OnUnsupported, QuorumStrategy
from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer, Outcome, Outcomes, Started
from shiplift.quorum.decide.course import MOST_ATTEMPTS, MOST_SWITCHES
from shiplift.quorum.model import QuorumDecision, Reason
from shiplift.quorum.steps import Begin, DeletePod, PutBack, Stage, Switch
from tests.quorum.decide.test_course import STAGED, decided, failed, kinds, switched, wanted
from tests.quorum.decide.views import (
    DIGEST,
    IMAGE,
    NEW,
    NOW,
    TARGET_SAID,
    begun,
    member,
    members,
    record,
    told,
    view,
)

# switched in vain


def in_vain(times: int | None, **changed: Any) -> QuorumDecision:
    """Servers have switched, and all came back with the old binary."""
    told_at = changed.pop("switch_time", NOW - timedelta(minutes=5))
    asked: dict[str, Any] = {"pools": (begun(),), "operation": record("stage"), **changed}
    return decided(switches=times, switch_time=told_at, **asked)


@pytest.mark.parametrize("times", [None, 0, MOST_SWITCHES - 1])
def test_servers_that_came_back_old_are_switched_again_a_few_times(times: int | None) -> None:
    assert kinds(in_vain(times)) == [Stage]


def test_servers_that_come_back_old_again_and_again_are_not_taken_away_once_more() -> None:
    decision = in_vain(MOST_SWITCHES)
    assert (decision.steps, decision.line.reason, decision.line.stalled) == ((), Reason.SWITCH_FAILED, True)
    back = in_vain(MOST_SWITCHES, given_up=decision.give_up)
    assert kinds(back) == [PutBack]
    after = decided(given_up=decision.give_up)
    assert (after.line, after.steps) == (decision.line, ())


def test_nothing_is_given_up_while_a_switch_is_under_way_or_may_still_happen_or_somebody_is_new() -> None:
    late = in_vain(MOST_SWITCHES, switch_time=NOW - timedelta(minutes=1))
    assert (late.steps, late.line.reason, late.give_up) == ((), Reason.WAITS_FOR_SERVERS, "")
    last = in_vain(MOST_SWITCHES, staged=STAGED, operation=record("switch"))
    assert kinds(last) == [Switch]
    some = in_vain(MOST_SWITCHES, members=(switched(0), *members()[1:]))
    assert kinds(some) == [Stage]


@pytest.mark.parametrize("answer", [Answer.OK, Answer.REFUSED])
def test_a_switch_that_some_did_not_take_is_tried_again_more_often(answer: Answer) -> None:
    key = f"switch {NEW}"
    garbled = Outcome(step=key, answer=answer, message="minio-0: garbled", at=NOW - timedelta(minutes=4))
    outcomes = Outcomes({key: garbled})
    assert kinds(in_vain(MOST_SWITCHES, outcomes=outcomes)) == [Stage]
    assert in_vain(MOST_ATTEMPTS, outcomes=outcomes).give_up


# silent ones


def test_a_swap_that_nobody_wants_is_put_back_though_a_server_is_silent_if_none_was_ever_told_to_switch() -> (
    None
):
    silent = (*members()[:3], member(3, told=None))
    changed: dict[str, Any] = {"pools": (begun(),), "members": silent, "deleting": True}
    assert kinds(decided(switches=0, **changed)) == [PutBack]
    for times in (None, 1):
        assert decided(switches=times, **changed).steps == ()
    anew_one = (*members()[:3], member(3, told=None, image=IMAGE))
    assert decided(switches=0, **{**changed, "members": anew_one}).steps == ()
    all_at_once = {**changed, "pools": (begun(recreate=True),)}
    assert decided(switches=0, **all_at_once).steps == ()


# what cannot be swapped one by one


def test_another_build_of_the_version_that_runs_makes_all_pods_anew_at_once_where_that_is_asked_for() -> None:
    """One by one the first would wait for ever for another with its checksum."""
    same = members(told=told(TARGET_SAID))
    for asked in (
        wanted(strategy=QuorumStrategy.RECREATE_ALL),
        wanted(on_unsupported=OnUnsupported.RECREATE_ALL),
    ):
        [step] = decided(members=same, wanted=asked).steps
        assert isinstance(step, Begin)
        assert step.recreate
        swapping = begun(recreate=True)
        assert kinds(decided(members=same, wanted=asked, pools=(swapping,))) == [DeletePod] * 4
        assert kinds(decided(members=same, wanted=asked, pools=(swapping,), deleting=True)) == [PutBack]


@pytest.mark.parametrize("proof", [{"image": f"mirror.example/minio@{DIGEST}"}, {"digest": DIGEST}])
def test_the_same_image_under_another_name_is_the_same_build(proof: dict[str, str]) -> None:
    assert kinds(decided(members=members(told=told(TARGET_SAID), **proof))) == [Begin]


@pytest.mark.parametrize("key", ["", "RWpublisher"])
def test_a_key_that_is_not_named_is_the_publishers(key: str) -> None:
    order = msgspec.structs.replace(view().order, publisher="RWpublisher")
    for spelled in ("", "RWpublisher"):
        asked = wanted(minisign_key=spelled)
        assert kinds(decided(order=order, members=members(minisign_key=key), wanted=asked)) == [Begin]


def test_a_service_that_cannot_do_without_one_server_is_swapped_where_all_are_made_anew() -> None:
    asked = wanted(strategy=QuorumStrategy.RECREATE_ALL)
    assert kinds(decided(members=members(may_stop=Truth.FALSE), wanted=asked)) == [Begin]
    some = (*members()[:3], member(3, may_stop=Truth.FALSE))
    decision = decided(members=some)
    assert (decision.line.reason, decision.line.stalled) == (Reason.MAY_NOT_STOP, False)


# attempts, and servers that are blocked


@pytest.mark.parametrize("operation", [None, record("rehearse"), record("stage", age=timedelta(hours=-1))])
def test_what_was_answered_before_this_attempt_does_not_give_it_up(operation: Started | None) -> None:
    decision = decided(pools=(begun(),), operation=operation, outcomes=failed(Answer.FAILED))
    assert decision.give_up == ""


def test_of_servers_that_came_back_old_one_at_a_time_is_replaced() -> None:
    """They do not serve, and their drives do: without two of them a quorum may be lost."""
    blocked = member(3, told=told(serving=False))
    servers = (
        switched(0),
        switched(1),
        msgspec.structs.replace(blocked, name="minio-2", uid="uid-2"),
        blocked,
    )
    decision = decided(pools=(begun(),), members=servers)
    assert [step.uid for step in decision.steps if isinstance(step, DeletePod)] == ["uid-2"]
    leaving = tuple(msgspec.structs.replace(one, leaving=one.name == "minio-2") for one in servers)
    waits = decided(pools=(begun(),), members=leaving)
    assert (waits.steps, waits.line.reason) == ((), Reason.REPLACING_RESTARTED)
