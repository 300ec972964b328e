"""Somebody else has a hand in it: another update, a webhook that renames images, a set scaled to none."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from shiplift.engine.contested import Memory
from shiplift.quorum.decide import decide
from shiplift.quorum.model import Candidate, Line, Member, Order, Reason, Validity, Wanted
from shiplift.quorum.steps import Begin, DeletePod, Finish, PutBack
from tests.quorum.decide.views import (
    IMAGE,
    NOW,
    OLDEST,
    ORDER,
    TAGGED,
    TARGET_SAID,
    WAS,
    begun,
    member,
    members,
    pool,
    told,
    view,
)

LATER = "2026-01-01T00:00:00Z"
KNOWN = Order({**ORDER.ranks, LATER: 9}, ORDER.can_stage | {LATER})
MIRRORED = f"mirror.example/{IMAGE}"


@pytest.mark.parametrize("paused", [False, True])
def test_servers_that_somebody_brought_further_are_not_brought_back(paused: bool) -> None:
    seen = view(
        pools=(begun(),), members=members(told=told(LATER)), order=KNOWN, wanted=Wanted(TAGGED, paused=paused)
    )
    assert [type(one) for one in decide(seen, NOW).steps] == [PutBack]


def test_where_some_have_switched_it_stops_and_says_why() -> None:
    some = (*members(told=told(LATER))[:3], member(3, told=told(TARGET_SAID)))
    decision = decide(view(pools=(begun(),), members=some, order=KNOWN), NOW)
    assert (decision.steps, decision.line.reason, decision.line.stalled) == (
        (),
        Reason.DOWNGRADE_REFUSED,
        True,
    )


def test_no_pod_is_made_anew_with_all_others_while_it_is_paused() -> None:
    swapping = begun()
    assert swapping.swap is not None
    again = msgspec.structs.replace(swapping, swap=msgspec.structs.replace(swapping.swap, recreate=True))
    decision = decide(view(pools=(again,), wanted=Wanted(TAGGED, paused=True)), NOW)
    assert (decision.steps, decision.line.reason) == ((), Reason.PAUSED)


def renamed(revision: str) -> tuple[Member, ...]:
    """Pods that were made from a template, by a webhook that names images otherwise."""
    made = (member(at, image=MIRRORED, told=told(TARGET_SAID)) for at in range(4))
    return tuple(msgspec.structs.replace(one, revision=revision) for one in made)


def test_pods_whose_images_a_webhook_renames_are_made_anew_once() -> None:
    swapping = msgspec.structs.replace(begun(held=False), revision="r2")
    (first,) = decide(view(pools=(swapping,), members=renamed("r1")), NOW).steps
    assert isinstance(first, DeletePod)
    assert [type(one) for one in decide(view(pools=(swapping,), members=renamed("r2")), NOW).steps] == [
        Finish
    ]
    over = msgspec.structs.replace(pool(image=IMAGE), revision="r2")
    assert decide(view(pools=(over,), members=renamed("r2")), NOW).line.reason is Reason.AT_TARGET


def test_a_set_of_its_users_own_on_delete_comes_to_rest() -> None:
    own = pool(image=IMAGE, on_delete=True)
    decision = decide(view(pools=(own,), members=members(image=IMAGE, told=told(TARGET_SAID))), NOW)
    assert (decision.steps, decision.line.reason) == ((), Reason.AT_TARGET)


@pytest.mark.parametrize("older", [False, True])
def test_of_a_set_without_pods_nobody_knows_what_runs(older: bool) -> None:
    candidate = Candidate(Validity.GOOD, OLDEST, "older@sha256:b") if older else view().candidate
    image = pool().image if older else IMAGE
    decision = decide(view(pools=(pool(image=image, replicas=0),), members=(), candidate=candidate), NOW)
    assert (decision.steps, decision.line.reason) == ((), Reason.WAITS_FOR_SERVERS)


def test_a_record_that_somebody_strips_half_way_is_written_again_and_the_swap_goes_on() -> None:
    some = (*members()[:3], member(3, told=told(TARGET_SAID)))
    decision = decide(view(pools=(begun(marked=False),), members=some), NOW)
    (step,) = decision.steps
    assert isinstance(step, Begin)
    assert (step.before, step.change) == (WAS, "swap of statefulset/minio")


def test_somebody_who_puts_the_set_back_while_pods_are_made_anew_is_told() -> None:
    """The hold that is lifted in between is nobody's undoing, and makes nothing forgotten."""
    memory = Memory()
    there = members(told=told(TARGET_SAID))
    reverted = msgspec.structs.replace(begun(held=False), image=WAS)
    now, begins, told_of = NOW, 0, False
    for _ in range(300):
        for pools in ((reverted,), (begun(),)):
            seen = view(pools=pools, members=there, changes=memory.changes)
            decision = decide(seen, now)
            told_of = told_of or decision.line.reason is Reason.MANAGED_ELSEWHERE
            for step in decision.steps:
                begins += isinstance(step, Begin)
                memory.note(step, now)
        now += timedelta(seconds=1)
    assert told_of
    assert begins < 20


def test_what_keeps_all_servers_from_being_asked_is_told_half_way_too() -> None:
    why = Line(Reason.WAITS_FOR_SERVERS, "secret store/root is not there")
    silent = members(told=None)
    assert decide(view(pools=(begun(),), members=silent, obstacle=why), NOW).line == why


def test_the_status_lets_go_before_the_marks_do() -> None:
    """Who is killed in between finds marks that the status does not have, and never the other way round."""
    unwanted = Wanted("quay.io/minio/minio:another")
    anew = members(image=IMAGE, told=told(TARGET_SAID))
    for changed, step in (({"wanted": unwanted}, PutBack), ({"members": anew}, Finish)):
        held = step is PutBack
        first = decide(view(pools=(begun(held=held, recorded=True),), **changed), NOW)
        assert (first.steps, first.ends) == ((), True)
        second = decide(view(pools=(begun(held=held),), **changed), NOW)
        assert ([type(one) for one in second.steps], second.ends) == ([step], True)
