"""What is done next, step by step; and what is refused, with nothing changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.quorum import OnUnsupported, QuorumStep, QuorumStrategy
from shiplift.engine.contested import Made
from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer, Outcome, Outcomes, Step
from shiplift.quorum.decide import decide
from shiplift.quorum.decide.course import MOST_ATTEMPTS
from shiplift.quorum.decide.gates import MOST_REHEARSALS
from shiplift.quorum.model import Candidate, Line, Member, QuorumDecision, Reason, Validity, View, Wanted
from shiplift.quorum.steps import (
    Begin,
    DeletePod,
    Finish,
    LiftHold,
    PutBack,
    Rehearse,
    SetFinalizer,
    Stage,
    Switch,
    Validate,
)
from tests.quorum.decide.views import (
    IMAGE,
    NEW,
    NOW,
    OLD,
    OLDEST,
    TAGGED,
    TARGET_SAID,
    UNKNOWN,
    WAS,
    begun,
    member,
    members,
    pool,
    record,
    swap,
    told,
    view,
)


def decided(**changed: Any) -> QuorumDecision:
    return decide(view(**changed), NOW)


def kinds(decision: QuorumDecision) -> list[type[Step]]:
    return [type(step) for step in decision.steps]


def wanted(**changed: Any) -> Wanted:
    return msgspec.structs.replace(Wanted(TAGGED), **changed)


STAGED = frozenset(f"uid-{at}" for at in range(4))


def switched(at: int, **changed: Any) -> Member:
    return member(at, told=told(TARGET_SAID), **changed)


def anew(at: int) -> Member:
    return switched(at, image=IMAGE)


# the five steps


def test_an_image_that_is_not_known_is_validated_once_that_is_on_record() -> None:
    first = decided(candidate=UNKNOWN)
    assert (first.steps, first.record and first.record.id) == ((), "validate-image-1")
    second = decided(candidate=UNKNOWN, operation=first.record)
    assert kinds(second) == [Validate]
    assert second.step is QuorumStep.VALIDATE


def test_every_stateful_set_is_written_with_the_image_by_digest() -> None:
    decision = decided(pools=(pool(), pool(name="other", uid="uid-other")))
    assert decision.steps == (
        Begin("minio", "uid-set", NEW, IMAGE, WAS, OLD),
        Begin("other", "uid-other", NEW, IMAGE, WAS, OLD),
    )
    assert decision.step is QuorumStep.UPDATE_STATEFUL_SETS


def test_after_a_crash_in_between_the_rest_of_the_stateful_sets_is_written() -> None:
    decision = decided(pools=(begun(), pool(name="other", uid="uid-other")), candidate=UNKNOWN)
    assert decision.steps == (Begin("other", "uid-other", NEW, IMAGE, WAS, OLD),)


def test_the_binary_is_staged_on_all_through_an_old_server_once_that_is_on_record() -> None:
    first = decided(pools=(begun(),))
    assert (first.steps, first.record and first.record.id) == ((), f"stage-{NEW}-1")
    [step] = decided(pools=(begun(),), operation=first.record).steps
    assert isinstance(step, Stage)
    assert (step.through, step.members) == ("minio-0", ("uid-0", "uid-1", "uid-2", "uid-3"))


def test_what_is_staged_everywhere_is_switched() -> None:
    decision = decided(pools=(begun(),), staged=STAGED, operation=record("switch"))
    assert kinds(decision) == [Switch]
    assert decision.step is QuorumStep.SWITCH


def test_nothing_is_staged_beside_a_switch_that_is_under_way() -> None:
    """What was staged is forgotten when it begins, and two calls side by side garble each other's file."""
    running = Outcomes(running=frozenset({f"switch {NEW}"}))
    decision = decided(pools=(begun(),), operation=record("switch"), outcomes=running)
    assert (kinds(decision), decision.record) == ([Switch], None)
    late = decided(pools=(begun(),), operation=record("switch", age=timedelta(hours=1)), outcomes=running)
    assert (kinds(late), late.record) == ([Switch], None)
    unwanted = decided(pools=(begun(),), outcomes=running, wanted=wanted(image="quay.io/minio/minio:other"))
    assert PutBack not in kinds(unwanted)


def test_calls_to_the_servers_of_one_service_are_made_one_after_the_other() -> None:
    started = record("stage")
    calls = (
        Rehearse(started, NEW, "minio-0", (), service="store/store"),
        Stage(started, NEW, "minio-0", (), service="store/store"),
        Switch(started, NEW, "minio-0", service="store/store"),
    )
    assert {one.lane for one in calls} == {"servers of store/store"}
    assert Validate(started, IMAGE, service="store/store").lane == ""


def test_a_server_that_has_not_staged_keeps_all_from_switching() -> None:
    decision = decided(pools=(begun(),), staged=STAGED - {"uid-2"}, operation=record("stage"))
    assert kinds(decision) == [Stage]


def test_a_pod_that_was_made_anew_has_not_staged_what_the_one_before_it_had() -> None:
    servers = (*members()[:3], member(3, uid="uid-of-another"))
    assert kinds(decided(pools=(begun(),), members=servers, staged=STAGED, operation=record("stage"))) == [
        Stage
    ]


def test_when_all_are_new_the_hold_is_lifted_first() -> None:
    decision = decided(pools=(begun(),), members=tuple(map(switched, range(4))))
    assert decision.steps == (LiftHold("minio", "uid-set"),)


def test_then_pods_are_made_anew_one_by_one_the_last_first() -> None:
    decision = decided(pools=(begun(held=False),), members=tuple(map(switched, range(4))))
    assert [step.pod for step in decision.steps if isinstance(step, DeletePod)] == ["minio-3"]
    servers = (*map(switched, range(3)), anew(3))
    decision = decided(pools=(begun(held=False),), members=servers)
    assert [step.pod for step in decision.steps if isinstance(step, DeletePod)] == ["minio-2"]


def test_when_every_pod_is_made_anew_the_strategy_is_given_back() -> None:
    decision = decided(pools=(begun(held=False),), members=tuple(map(anew, range(4))))
    assert decision.steps == (Finish("minio", "uid-set"),)


def test_a_service_at_its_target_rests() -> None:
    decision = decided(pools=(pool(image=IMAGE),), members=tuple(map(anew, range(4))))
    assert (decision.steps, decision.step, decision.line.reason) == ((), QuorumStep.IDLE, Reason.AT_TARGET)


def test_what_is_left_of_an_end_that_was_interrupted_is_finished_and_nothing_begins_again() -> None:
    done, left = pool(image=IMAGE), begun(held=False)
    other = msgspec.structs.replace(left, name="other", uid="uid-other")
    decision = decided(pools=(done, other), members=tuple(map(anew, range(4))))
    assert decision.steps == (Finish("other", "uid-other"),)
    # one that was not made anew is no end
    servers = (*map(anew, range(3)), switched(3))
    assert kinds(decided(pools=(done, other), members=servers)) == [Begin]


# resuming


def test_a_switch_that_reached_some_goes_on_through_one_that_is_old() -> None:
    servers = (switched(0), switched(1), member(2), member(3))
    [step] = decided(pools=(begun(),), members=servers, operation=record("stage")).steps
    assert isinstance(step, Stage)
    assert (step.through, step.switched) == ("minio-2", ("uid-0", "uid-1"))


def test_the_only_new_server_waits_for_another_at_its_start_and_is_not_waited_for() -> None:
    servers = (
        member(0, told=told(TARGET_SAID, serving=False), ready=False, sings=Truth.FALSE),
        *members()[1:],
    )
    decision = decided(pools=(begun(),), members=servers, operation=record("stage"))
    assert kinds(decision) == [Stage]


def test_a_server_that_came_back_with_the_old_binary_among_new_ones_is_replaced() -> None:
    servers = (*map(switched, range(3)), member(3, told=told(serving=False)))
    decision = decided(pools=(begun(),), members=servers)
    assert [step.uid for step in decision.steps if isinstance(step, DeletePod)] == ["uid-3"]
    assert decision.line.reason is Reason.REPLACING_RESTARTED


def test_a_server_that_restarts_before_anything_is_switched_is_left_alone() -> None:
    servers = (*members()[:3], member(3, told=told(serving=False)))
    decision = decided(pools=(begun(),), members=servers, staged=STAGED, operation=record("switch"))
    assert (decision.steps, decision.line.reason) == ((), Reason.WAITS_FOR_SERVERS)


def test_a_server_that_says_nothing_stops_everything_but_the_wait() -> None:
    for servers in (members(), tuple(map(switched, range(4)))):
        silent = (*servers[:3], msgspec.structs.replace(servers[3], told=None, why_silent="refused"))
        decision = decided(
            pools=(begun(held=False),), members=silent, staged=STAGED, operation=record("switch")
        )
        assert (decision.steps, decision.line.reason) == ((), Reason.WAITS_FOR_SERVERS)


def test_servers_that_are_old_again_after_the_hold_was_lifted_are_held_again_first() -> None:
    servers = (switched(0), switched(1), member(2), member(3))
    decision = decided(pools=(begun(held=False),), members=servers)
    assert decision.steps == (Begin("minio", "uid-set", NEW, IMAGE, WAS, OLD, only_holds=True),)


def test_who_leads_since_checks_the_binary_again_before_anybody_gets_it() -> None:
    servers = (switched(0), *members()[1:])
    for one in (members(), servers):
        made = view(
            pools=(begun(),), members=one, candidate=UNKNOWN, staged=STAGED, operation=record("validate")
        )
        assert decide(made, NOW).steps == (Validate(record("validate"), IMAGE),)


def test_a_binary_that_does_not_pass_any_more_is_put_back_or_stops_where_somebody_runs_it() -> None:
    refused = Candidate(Validity.REFUSED, message="not signed")
    assert kinds(decided(pools=(begun(),), candidate=refused)) == [PutBack]
    stopped = decided(pools=(begun(),), members=(switched(0), *members()[1:]), candidate=refused)
    assert (stopped.steps, stopped.line.reason, stopped.line.stalled) == ((), Reason.IMAGE_REFUSED, True)


# making anew is gated


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sings": Truth.FALSE}, Reason.WAITS_FOR_CANARY),
        ({"sings": Truth.UNKNOWN}, Reason.WAITS_FOR_CANARY),
        ({"ready": False}, Reason.NOT_READY),
        ({"leaving": True}, Reason.NOT_READY),
    ],
)
def test_no_pod_is_made_anew_while_another_is_not_well(changed: dict[str, Any], reason: Reason) -> None:
    servers = (switched(0, **changed), *map(switched, range(1, 4)))
    decision = decided(pools=(begun(held=False),), members=servers)
    assert (decision.steps, decision.line.reason) == ((), reason)


@pytest.mark.parametrize("may", [Truth.FALSE, Truth.UNKNOWN])
def test_a_pod_stays_until_the_service_says_that_it_may_stop(may: Truth) -> None:
    servers = (*map(switched, range(3)), switched(3, may_stop=may))
    decision = decided(pools=(begun(held=False),), members=servers)
    assert (decision.steps, decision.line.reason) == ((), Reason.MAY_NOT_STOP)


def test_the_hold_stays_until_objects_are_written_through_every_server() -> None:
    servers = (switched(0, sings=Truth.FALSE), *map(switched, range(1, 4)))
    assert decided(pools=(begun(),), members=servers).steps == ()


# refused, nothing changed

REFUSED: list[tuple[dict[str, Any], Reason]] = [
    ({"missing": ("minio-pool-1",)}, Reason.NO_STATEFUL_SET),
    ({"pools": (pool(image=""),)}, Reason.NO_CONTAINER),
    ({"pools": (pool(owner="tenant/minio"),)}, Reason.MANAGED_ELSEWHERE),
    ({"pools": (pool(swap=swap(service="another")),)}, Reason.SWAPPED_BY_ANOTHER),
    ({"candidate": Candidate(Validity.REFUSED, message="not signed")}, Reason.IMAGE_REFUSED),
    ({"given_up": "a server cannot write"}, Reason.STAGING_FAILED),
    ({"members": (*members()[:3], member(3, told=None, why_silent="refused"))}, Reason.WAITS_FOR_SERVERS),
    ({"members": members()[:3]}, Reason.HOSTS_DIFFER),
    ({"members": (*members()[:3], member(3, told=told(endpoints=("a:1",) * 4)))}, Reason.HOSTS_DIFFER),
    ({"wanted": wanted(minimum="RELEASE.2025-10-01T00-00-00Z")}, Reason.BELOW_MINIMUM),
    ({"members": (*members()[:3], member(3, ready=False))}, Reason.NOT_READY),
    ({"members": (*members()[:3], member(3, told=told(serving=False)))}, Reason.NOT_READY),
    ({"members": (*members()[:3], member(3, told=told(OLDEST)))}, Reason.VERSIONS_DIFFER),
    ({"members": members(sings=Truth.FALSE)}, Reason.WAITS_FOR_CANARY),
    ({"members": members(told=told(OLDEST))}, Reason.CANNOT_STAGE),
    ({"members": members(told=told("DEVELOPMENT.GOGET"))}, Reason.CANNOT_STAGE),
    ({"members": members(told=told(settings=(("MINIO_UPDATE", "off"),)))}, Reason.UPDATES_OFF),
    ({"members": (*members()[:3], member(3, told=told(processors=1)))}, Reason.ONE_PROCESSOR),
    ({"members": members(minisign_key="RWother")}, Reason.KEY_DIFFERS),
    ({"members": (*members()[:3], member(3, proxied=True))}, Reason.PROXY_IN_THE_WAY),
    ({"wanted": wanted(minimum="2025")}, Reason.BELOW_MINIMUM),
    ({"members": members(may_stop=Truth.FALSE)}, Reason.MAY_NOT_STOP),
    ({"members": members(told=None, misnamed=True, why_silent="it names a:1")}, Reason.HOSTS_DIFFER),
    ({"members": members(told=told(TARGET_SAID))}, Reason.SAME_VERSION),
    ({"members": members(told=told(TARGET_SAID), digest=f"sha256:{'b' * 64}")}, Reason.SAME_VERSION),
    ({"wanted": wanted(paused=True)}, Reason.PAUSED),
]


def with_minimum(changed: dict[str, Any]) -> View:
    made = view(**changed)
    ranks = {**made.order.ranks, "RELEASE.2025-10-01T00-00-00Z": 9}
    return msgspec.structs.replace(made, order=msgspec.structs.replace(made.order, ranks=ranks))


@pytest.mark.parametrize(("changed", "reason"), REFUSED, ids=[str(reason.value) for _, reason in REFUSED])
def test_a_swap_is_refused_with_its_reason_and_nothing_is_changed(
    changed: dict[str, Any], reason: Reason
) -> None:
    decision = decide(with_minimum(changed), NOW)
    assert (decision.steps, decision.record, decision.line.reason) == ((), None, reason)
    assert decision.line.message


def downgrade(**changed: Any) -> View:
    """To what is older than what runs."""
    return view(
        candidate=Candidate(Validity.GOOD, OLD, IMAGE), members=members(told=told(TARGET_SAID)), **changed
    )


def test_an_older_image_is_refused_without_the_override() -> None:
    decision = decide(downgrade(), NOW)
    assert (decision.steps, decision.line.reason, decision.line.stalled) == (
        (),
        Reason.DOWNGRADE_REFUSED,
        True,
    )


def test_with_the_override_an_older_image_makes_all_pods_anew_at_once() -> None:
    assert kinds(decide(downgrade(wanted=wanted(allow_downgrade=True)), NOW)) == [Begin]
    made = downgrade(wanted=wanted(allow_downgrade=True), pools=(begun(target=OLD),))
    assert kinds(decide(made, NOW)) == [DeletePod] * 4


def test_where_it_cannot_be_in_place_the_spec_says_whether_all_pods_are_made_anew() -> None:
    unable = members(told=told(OLDEST))
    anyway = wanted(on_unsupported=OnUnsupported.RECREATE_ALL)
    assert decided(members=unable).steps == ()
    assert kinds(decided(members=unable, wanted=anyway)) == [Begin]
    assert kinds(decided(members=unable, wanted=anyway, pools=(begun(),))) == [DeletePod] * 4


def test_recreate_all_is_asked_for_by_its_strategy() -> None:
    asked = wanted(strategy=QuorumStrategy.RECREATE_ALL)
    assert kinds(decided(wanted=asked, pools=(begun(),))) == [DeletePod] * 4


# giving up, going back


def failed(answer: Answer, attempt: int = 1) -> Outcomes:
    outcome = Outcome(
        step=f"stage {NEW}", answer=answer, message="minio-1 cannot write", at=NOW, attempt=attempt
    )
    return Outcomes({outcome.step: outcome})


def test_staging_that_failed_for_good_is_given_up_and_then_put_back() -> None:
    first = decided(pools=(begun(),), operation=record("stage"), outcomes=failed(Answer.FAILED))
    assert (first.steps, first.give_up) == ((), "minio-1 cannot write")
    second = decided(pools=(begun(),), operation=record("stage"), given_up=first.give_up)
    assert second.steps == (PutBack("minio", "uid-set"),)
    third = decided(given_up=first.give_up)
    assert (third.steps, third.line.stalled) == ((), True)


def test_staging_that_was_garbled_is_tried_again_a_bounded_number_of_times() -> None:
    once = decided(
        pools=(begun(),),
        operation=record("stage", age=timedelta(minutes=1)),
        outcomes=failed(Answer.REFUSED),
    )
    assert once.record is not None
    assert once.record.attempt == 2
    last = record("stage", attempt=MOST_ATTEMPTS)
    too_often = decided(pools=(begun(),), operation=last, outcomes=failed(Answer.REFUSED, MOST_ATTEMPTS))
    assert too_often.give_up
    # of an earlier swap, to the same version
    anew = decided(
        pools=(begun(),), operation=record("stage"), outcomes=failed(Answer.REFUSED, MOST_ATTEMPTS)
    )
    assert not anew.give_up


def test_once_somebody_is_switched_nothing_is_given_up_or_put_back() -> None:
    servers = (switched(0), *members()[1:])
    for changed in ({"given_up": "x"}, {"deleting": True}, {"wanted": wanted(image="quay.io/minio/minio:z")}):
        made = view(pools=(begun(),), members=servers, operation=record("stage"), **changed)
        assert kinds(decide(made, NOW)) == [Stage]
    tried = decided(
        pools=(begun(),), members=servers, operation=record("stage"), outcomes=failed(Answer.FAILED)
    )
    assert tried.give_up == ""


@pytest.mark.parametrize(
    "changed",
    [{"deleting": True}, {"wanted": wanted(image="quay.io/minio/minio:another")}, {"given_up": "x"}],
)
def test_a_swap_that_nobody_wants_any_more_is_put_back_while_nobody_is_switched(
    changed: dict[str, Any],
) -> None:
    assert kinds(decided(pools=(begun(),), **changed)) == [PutBack]


def test_nothing_is_put_back_while_a_switch_may_still_happen() -> None:
    made = view(pools=(begun(),), deleting=True, operation=record("switch"), staged=STAGED)
    assert PutBack not in kinds(decide(made, NOW))
    later = msgspec.structs.replace(made, operation=record("switch", age=timedelta(minutes=11)))
    assert kinds(decide(later, NOW)) == [PutBack]


def test_nothing_is_put_back_while_the_switch_of_a_leader_that_is_gone_may_still_happen() -> None:
    other = wanted(image="quay.io/minio/minio:other")

    def puts_back(**changed: Any) -> bool:
        now = decided(pools=(begun(),), wanted=other, operation=record("stage"), **changed)
        assert kinds(now) == [PutBack] or (now.steps, now.line.reason) == ((), Reason.WAITS_FOR_SERVERS)
        return bool(now.steps)

    told_at = NOW - timedelta(minutes=1)
    refused = Outcome(step=f"switch {NEW}", answer=Answer.REFUSED, at=NOW)
    before = msgspec.structs.replace(refused, at=NOW - timedelta(hours=1))
    assert puts_back()
    assert not puts_back(switch_time=told_at)
    assert not puts_back(switch_time=told_at, outcomes=Outcomes(last={refused.step: before}))
    assert puts_back(switch_time=told_at, outcomes=Outcomes(last={refused.step: refused}))
    for answer in (Answer.OK, Answer.UNKNOWN):
        # servers answer before they restart; an answer that is lost is waited for longer than all else
        late = msgspec.structs.replace(refused, answer=answer, at=NOW - timedelta(seconds=3))
        assert not puts_back(switch_time=told_at, outcomes=Outcomes(last={refused.step: late}))
        lost = NOW - timedelta(minutes=5)
        assert not puts_back(switch_time=lost, outcomes=Outcomes(last={refused.step: late}))
        settled = msgspec.structs.replace(late, at=NOW - timedelta(minutes=3))
        assert puts_back(switch_time=lost, outcomes=Outcomes(last={refused.step: settled}))
    assert puts_back(switch_time=NOW - timedelta(hours=1))


def test_nothing_is_put_back_while_a_pod_would_come_back_with_the_new_image() -> None:
    servers = (member(0, image=IMAGE), *members()[1:])
    assert PutBack not in kinds(decided(pools=(begun(),), members=servers, deleting=True))


def test_a_service_that_is_deleted_with_nothing_under_way_is_let_go() -> None:
    assert decided(deleting=True, kept=False).steps == ()


def test_paused_stops_before_the_switch_and_not_in_the_middle_of_it() -> None:
    paused = wanted(paused=True)
    assert decided(pools=(begun(),), wanted=paused, operation=record("stage")).steps == ()
    servers = (switched(0), *members()[1:])
    assert kinds(decided(pools=(begun(),), members=servers, wanted=paused, operation=record("stage"))) == [
        Stage
    ]


def test_an_operation_whose_time_is_up_is_begun_anew_unless_it_still_runs() -> None:
    late = record("stage", age=timedelta(minutes=11))
    assert decided(pools=(begun(),), operation=late).record == record("stage", attempt=2)
    running = Outcomes(running=frozenset({f"stage {NEW}"}))
    assert kinds(decided(pools=(begun(),), operation=late, outcomes=running)) == [Stage]


def test_versions_are_compared_as_moments_however_they_are_written() -> None:
    assert (
        decided(members=tuple(anew(at) for at in range(4)), pools=(pool(image=IMAGE),)).step
        is QuorumStep.IDLE
    )
    assert told(TARGET_SAID).version != NEW
    assert OLD != NEW


# what is new since: rehearsal, finalizer, what others write


def test_servers_rehearse_before_anything_is_written_once_that_is_on_record() -> None:
    first = decided(rehearsed=frozenset())
    assert (first.steps, first.record and first.record.id) == ((), f"rehearse-{NEW}-1")
    [step] = decided(rehearsed=frozenset(), operation=first.record).steps
    assert isinstance(step, Rehearse)
    assert step.members == ("uid-0", "uid-1", "uid-2", "uid-3")


def test_a_pod_that_was_made_anew_since_the_rehearsal_rehearses_too() -> None:
    servers = (*members()[:3], member(3, uid="uid-of-another"))
    assert kinds(decided(members=servers, operation=record("rehearse"))) == [Rehearse]


def _rehearsal(answer: Answer, attempt: int = 1) -> Outcomes:
    key = f"rehearse {NEW}"
    said = Outcome(step=key, answer=answer, message="minio-2 cannot write", at=NOW, attempt=attempt)
    return Outcomes({key: said})


def test_a_rehearsal_that_failed_is_told_and_nothing_is_written() -> None:
    decision = decided(
        rehearsed=frozenset(), outcomes=_rehearsal(Answer.FAILED), operation=record("rehearse")
    )
    assert (decision.line.reason, decision.line.stalled) == (Reason.REHEARSAL_FAILED, True)
    assert decision.line.message == "minio-2 cannot write"
    assert decision.steps == ()


def test_where_it_is_asked_for_a_failed_rehearsal_makes_all_pods_anew_and_that_stands_with_the_swap() -> None:
    asked = wanted(on_unsupported=OnUnsupported.RECREATE_ALL)
    once = decided(rehearsed=frozenset(), outcomes=_rehearsal(Answer.FAILED), wanted=asked)
    assert Begin not in kinds(once)
    failed = _rehearsal(Answer.FAILED, MOST_REHEARSALS)
    decision = decided(rehearsed=frozenset(), outcomes=failed, wanted=asked)
    assert [step.recreate for step in decision.steps if isinstance(step, Begin)] == [True]
    # the next leader knows nothing of the rehearsal
    after = decided(wanted=asked, pools=(begun(recreate=True),))
    assert kinds(after) == [DeletePod] * 4


def test_nothing_is_begun_before_the_service_has_our_finalizer() -> None:
    assert decided(kept=False).steps == (SetFinalizer("uid-qs", present=True),)
    gone = decided(deleting=True)
    assert gone.steps == (SetFinalizer("uid-qs", present=False),)
    assert decided(deleting=True, kept=False).steps == ()


@pytest.mark.parametrize("changed", [{"image": WAS}, {"on_delete": False}])
def test_what_somebody_else_made_of_a_stateful_set_is_put_right(changed: dict[str, Any]) -> None:
    altered = msgspec.structs.replace(begun(), **changed)
    assert kinds(decided(pools=(altered,))) == [Begin]


def test_whoever_puts_a_stateful_set_back_is_not_fought_before_somebody_is_switched() -> None:
    changes = {"swap of statefulset/minio": Made(2, NOW - timedelta(hours=1))}
    fought = decided(changes=changes)
    assert (fought.line.reason, fought.line.stalled, fought.steps) == (Reason.MANAGED_ELSEWHERE, True, ())
    # it is put back, and stays so
    assert kinds(decided(pools=(begun(),), given_up=fought.give_up)) == [PutBack]
    after = decided(given_up=fought.give_up)
    assert (after.line, after.steps) == (fought.line, ())
    once = {"swap of statefulset/minio": Made(1, NOW - timedelta(hours=1))}
    assert kinds(decided(changes=once)) == [Begin]
    servers = (switched(0), *members()[1:])
    assert kinds(decided(changes=changes, pools=(pool(), begun()), members=servers)) == [Begin]


def test_an_obstacle_is_told_before_anything_else_is_asked_of_servers() -> None:
    line = Line(Reason.RIGHTS_MISSING, "shiplift may not", stalled=True)
    decision = decided(obstacle=line, members=members(told=None))
    assert (decision.line, decision.steps) == (line, ())


def test_a_write_that_is_refused_again_and_again_is_told() -> None:
    key = "begin uid-set"
    failed = Outcome(step=key, answer=Answer.FAILED, message="forbidden", at=NOW - timedelta(minutes=5))
    decision = decided(outcomes=Outcomes({key: failed}))
    assert (decision.line.reason, decision.line.stalled) == (Reason.STEP_FAILED, True)
    assert "forbidden" in decision.line.message
    assert kinds(decision) == [Begin]


def test_what_a_registry_answers_is_told_while_it_is_tried_again() -> None:
    key = f"validate {TAGGED}"
    away = Outcome(step=key, answer=Answer.REFUSED, message="did not answer", at=NOW)
    decision = decided(candidate=UNKNOWN, outcomes=Outcomes({key: away}))
    assert "did not answer" in decision.line.message


@pytest.mark.parametrize("have", [TAGGED, IMAGE])
def test_servers_that_run_the_image_by_another_name_are_left_alone(have: str) -> None:
    servers = tuple(switched(at, image=have) for at in range(4))
    decision = decided(pools=(pool(image=have),), members=servers)
    assert (decision.line.reason, decision.steps) == (Reason.AT_TARGET, ())


def test_a_swap_is_not_begun_while_the_cluster_is_upgraded_and_one_that_is_begun_goes_on() -> None:
    waits = decided(upgrading="held by the upgrade of the cluster")
    assert (waits.line.reason, waits.steps) == (Reason.WAITS_FOR_UPGRADE, ())
    assert kinds(decided(upgrading="v1.36.3", pools=(begun(),), operation=record("stage"))) == [Stage]


def test_each_attempt_at_staging_goes_through_another_old_server() -> None:
    through = [
        step.through
        for attempt in range(1, 6)
        for step in decided(pools=(begun(),), operation=record("stage", attempt=attempt)).steps
        if isinstance(step, Stage)
    ]
    assert through == ["minio-0", "minio-1", "minio-2", "minio-3", "minio-0"]
