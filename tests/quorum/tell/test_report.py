"""The status says where a swap is, who runs what, and what the next decision has to know."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.base import ObjectMeta
from shiplift.api.quorum import MemberState, QuorumService, QuorumServiceSpec, QuorumServiceStatus, QuorumStep
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.quorum.decide import decide
from shiplift.quorum.model import Candidate, Validity, View
from shiplift.quorum.tell.report import given_up, on_record, recalled, status
from tests.quorum.decide.views import (
    IMAGE,
    NEW,
    NOW,
    OLD,
    TAGGED,
    TARGET_SAID,
    begun,
    member,
    members,
    pool,
    record,
    told,
    view,
)

SPEC = QuorumServiceSpec(stateful_sets=("minio",), image=TAGGED, credentials_secret="root")


def service(before: QuorumServiceStatus | None = None, generation: int = 3) -> QuorumService:
    about = ObjectMeta(name="store", namespace="store", uid="u", generation=generation)
    return QuorumService(metadata=about, spec=SPEC, status=before or QuorumServiceStatus())


def reported(made: View, before: QuorumServiceStatus | None = None) -> QuorumServiceStatus:
    return status(service(before), made, decide(made, NOW), NOW)


def conditions(found: QuorumServiceStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status.value, one.reason) for one in found.conditions}


def switched(at: int, **changed: Any) -> Any:
    return member(at, told=told(TARGET_SAID), **changed)


def test_a_service_at_its_target_is_ready_and_nothing_is_under_way() -> None:
    anew = tuple(switched(at, image=IMAGE) for at in range(4))
    before = msgspec.structs.replace(reported(view(pools=(begun(),))), switch_time=NOW)
    found = reported(view(pools=(pool(image=IMAGE),), members=anew), before)
    assert conditions(found) == {"Ready": ("True", "AtTarget"), "ImageVerified": ("True", "Verified")}
    assert (found.step, found.operation, found.progress.summary) == (QuorumStep.IDLE, None, "4/4")
    assert (found.current_version, found.target_version) == (TARGET_SAID, NEW)
    assert {one.state for one in found.members} == {MemberState.RECREATED}
    assert found.switch_time == NOW


def test_a_swap_under_way_is_reconciling_and_says_who_is_where() -> None:
    servers = (switched(0), member(1), member(2), member(3, told=None, why_silent="refused"))
    found = reported(view(pools=(begun(),), members=servers, staged=frozenset({"uid-1"})))
    assert conditions(found) == {
        "Ready": ("False", "WaitsForServers"),
        "Reconciling": ("True", "WaitsForServers"),
        "ImageVerified": ("True", "Verified"),
    }
    assert [one.state for one in found.members] == [
        MemberState.NEW,
        MemberState.STAGED,
        MemberState.OLD,
        MemberState.UNKNOWN,
    ]
    assert (found.current_version, found.progress.summary) == (OLD, "1/4")
    assert found.members[3].message == "refused"


def test_what_waiting_does_not_help_is_stalled() -> None:
    found = reported(view(candidate=Candidate(Validity.REFUSED, message="not signed")))
    assert conditions(found)["Stalled"] == ("True", "ImageRefused")
    assert found.message == "not signed"


@pytest.mark.parametrize("verb", ["stage", "switch"])
def test_an_operation_is_on_record_as_it_was_decided_and_read_back(verb: str) -> None:
    staged = frozenset(f"uid-{at}" for at in range(4)) if verb == "switch" else frozenset[str]()
    made = view(pools=(begun(),), staged=staged)
    found = reported(made)
    assert on_record(service(found)) == decide(made, NOW).record
    assert (found.switch_time == NOW) == (verb == "switch")
    going_on = msgspec.structs.replace(made, operation=record(verb))
    assert reported(going_on, found).operation == found.operation


def test_why_a_spec_was_given_up_is_remembered_until_the_spec_changes() -> None:
    failed = Outcome(step=f"stage {NEW}", answer=Answer.FAILED, message="minio-1 cannot write", at=NOW)
    made = view(pools=(begun(),), operation=record("stage"), outcomes=Outcomes({failed.step: failed}))
    found = reported(made)
    assert given_up(service(found)) == "minio-1 cannot write"
    again = reported(view(given_up="minio-1 cannot write"), found)
    assert given_up(service(again)) == "minio-1 cannot write"
    assert given_up(service(again, generation=4)) == ""


def test_switches_are_counted_before_they_happen_and_from_nothing_in_each_swap() -> None:
    staged = frozenset(f"uid-{at}" for at in range(4))
    assert reported(view()).switches == 0
    first = reported(view(pools=(begun(),), staged=staged, switches=0))
    assert first.switches == 1
    under_way = view(pools=(begun(),), staged=staged, operation=record("switch"), switches=1)
    assert reported(under_way, first).switches == 1
    late = msgspec.structs.replace(under_way, operation=record("switch", age=timedelta(hours=1)))
    assert reported(late, first).switches == 2
    # in a swap that began before anybody counted it is not known until the next
    assert reported(view(pools=(begun(),))).switches is None
    assert reported(view(pools=(begun(),), staged=staged)).switches == 1


def test_a_service_at_rest_is_known_by_its_status_and_what_it_says_of_the_image_stays() -> None:
    notes = ("no key",)
    good = Candidate(Validity.GOOD, NEW, IMAGE, digest=f"sha256:{'a' * 64}", sha256="b" * 64, notes=notes)
    anew = tuple(switched(at, image=IMAGE) for at in range(4))
    rests: dict[str, Any] = {"pools": (pool(image=IMAGE),), "members": anew}
    before = reported(view(candidate=good, **rests))
    known = recalled(service(before))
    assert known == Candidate(Validity.GOOD, NEW, IMAGE, recalled=True)
    after = reported(view(candidate=known, **rests), before)
    assert after == before
    # not with another spec, and not in the middle of something
    assert recalled(service(before, generation=4)) is None
    assert recalled(service(reported(view(candidate=good)))) is None


def test_what_was_given_up_and_put_back_leaves_no_attempt_on_record() -> None:
    before = reported(view(pools=(begun(),)))
    back = reported(view(pools=(begun(),), given_up="x", operation=record("stage")), before)
    assert back.operation == before.operation
    assert reported(view(given_up="x"), back).operation is None


def test_nothing_of_a_status_is_longer_than_the_api_takes() -> None:
    servers = members(told=told("x" * 9000), why_silent="y" * 9000)
    made = view(members=servers, candidate=Candidate(Validity.REFUSED, message="z" * 9000))
    found = reported(made)
    assert msgspec.json.decode(msgspec.json.encode(found), type=QuorumServiceStatus) == found


def test_times_stay_while_nothing_flips() -> None:
    first = reported(view())
    made = view()
    later = status(service(first), made, decide(made, NOW), NOW + timedelta(hours=1))
    assert later.conditions == first.conditions


def test_what_of_an_image_is_not_checked_is_said_and_what_was_found_is_kept() -> None:
    good = Candidate(
        Validity.GOOD, NEW, IMAGE, digest=f"sha256:{'a' * 64}", sha256="b" * 64, notes=("no key",)
    )
    found = reported(view(candidate=good))
    said = next(one for one in found.conditions if one.type == "ImageVerified")
    assert (said.status.value, said.reason) == ("True", "PartlyVerified")
    assert "no key" in said.message
    assert found.artifact is not None
    assert found.artifact.sha256 == "b" * 64
    later = reported(view(candidate=Candidate(Validity.UNKNOWN)), found)
    assert later.artifact == found.artifact
