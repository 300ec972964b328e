"""What is worth an Event."""

from __future__ import annotations

import msgspec

from shiplift.api.quorum import QuorumServiceStatus
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.tell.happenings import of_service
from tests.quorum.decide.views import IMAGE, begun, members, pool, told, view
from tests.quorum.tell.test_report import reported, switched

EMPTY = QuorumServiceStatus()


def reasons(before: QuorumServiceStatus, after: QuorumServiceStatus) -> list[tuple[str, bool]]:
    return [(one.reason, one.warning) for one in of_service(before, after)]


def test_a_step_that_begins_is_told_once() -> None:
    staging = reported(view(pools=(begun(),)))
    assert reasons(EMPTY, staging) == [("Staging", False)]
    assert reasons(staging, staging) == []


def test_what_cannot_go_on_by_itself_is_a_warning_and_that_it_can_again_is_told() -> None:
    refused = reported(view(candidate=Candidate(Validity.REFUSED, message="not signed")))
    assert reasons(EMPTY, refused) == [("ImageRefused", True)]
    staging = reported(view(pools=(begun(),)), refused)
    assert reasons(refused, staging) == [("GoesOn", False), ("Staging", False)]


def test_the_end_is_told_and_a_service_that_was_never_swapped_is_not() -> None:
    anew = tuple(switched(at, image=IMAGE) for at in range(4))
    done = reported(view(pools=(pool(image=IMAGE),), members=anew))
    staging = reported(view(pools=(begun(),)))
    assert reasons(staging, done) == [("AtTarget", False)]
    assert reasons(EMPTY, done) == []


def test_a_stateful_set_that_another_swaps_is_a_warning() -> None:
    theirs = reported(view(pools=(begun(service="another"),)))
    assert reasons(EMPTY, theirs) == [("SwappedByAnother", True)]
    assert reasons(theirs, theirs) == []


def test_a_server_that_came_back_old_is_a_warning() -> None:
    blocked = msgspec.structs.replace(members()[1], told=told(serving=False))
    servers = (switched(0), blocked, switched(2), switched(3))
    now = reported(view(pools=(begun(),), members=servers))
    assert reasons(EMPTY, now) == [("ReplacingRestarted", True)]
