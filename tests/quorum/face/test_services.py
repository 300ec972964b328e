"""What people and programs are shown of quorum services."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from shiplift.api.base import ObjectMeta
from shiplift.api.quorum import (
    Member,
    MemberState,
    QuorumService,
    QuorumServiceSpec,
    QuorumServiceStatus,
    QuorumStep,
)
from shiplift.api.values import Condition, ConditionStatus, Progress
from shiplift.face.parts import FaceError, Question
from shiplift.quorum.face import explain, services_layout
from shiplift.quorum.face.services import changes, services_view
from shiplift.quorum.face.services_data import services_data
from shiplift.view.section import Arrival
from shiplift.view.values import Heard

NOW = int(datetime(2026, 11, 17, 12, tzinfo=UTC).timestamp())
MOMENT = datetime.fromtimestamp(NOW, UTC) - timedelta(minutes=3)
SPEC = QuorumServiceSpec(stateful_sets=("minio",), image="quay.io/minio/minio:new", credentials_secret="root")


def condition(name: str, status: str, reason: str, message: str = "") -> Condition:
    return Condition(
        type=name,
        status=ConditionStatus(status),
        reason=reason,
        message=message,
        last_transition_time=MOMENT,
        observed_generation=1,
    )


def service(name: str = "store", space: str = "shop", **status: Any) -> QuorumService:
    about = ObjectMeta(name=name, namespace=space, uid="u", generation=1)
    told = QuorumServiceStatus(**{"observed_generation": 1, **status})
    return QuorumService(metadata=about, spec=SPEC, status=told)


def under_way(**status: Any) -> QuorumService:
    members = (
        Member(pod="minio-0", state=MemberState.NEW, version="2025-09-07T16:13:09Z"),
        Member(pod="minio-1", state=MemberState.OLD, version="2025-04-22T22:12:26Z"),
        Member(pod="minio-2", state=MemberState.UNKNOWN, message="no answer: refused\x1b[31m"),
    )
    return service(
        **{
            "step": QuorumStep.SWITCH,
            "reason": "WaitsForServers",
            "message": "minio-2: no answer",
            "progress": Progress.of(1, 3),
            "members": members,
            "target_version": "RELEASE.new",
            "current_version": "2025-04-22T22:12:26Z",
            "conditions": (condition("Ready", "False", "WaitsForServers"),),
            **status,
        }
    )


def at_rest(name: str = "store") -> QuorumService:
    ready = condition("Ready", "True", "AtTarget")
    return service(name, reason="AtTarget", conditions=(ready,), progress=Progress.of(4, 4))


def shown(found: QuorumService) -> str:
    out = StringIO()
    view = services_view([found], NOW, None)
    assert view is not None
    Console(file=out, width=120, no_color=True).print(services_layout.service(view.services[0]))
    return out.getvalue()


def test_where_a_swap_is_and_who_runs_what_is_shown_the_worst_first() -> None:
    text = shown(under_way())
    assert "shop/store step 4 of 5: all servers switch, for 3 min" in text
    assert "1/3 servers run RELEASE.new, the oldest 2025-04-22T22:12:26Z" in text
    assert text.index("minio-2") < text.index("minio-1  ") < text.index("minio-0")
    assert "\x1b" not in text


def test_what_somebody_has_to_do_is_said_with_its_reason() -> None:
    stalled = condition("Stalled", "True", "RightsMissing", "shiplift may not swap")
    text = shown(under_way(reason="RightsMissing", conditions=(stalled,)))
    assert "RightsMissing: shiplift may not swap" in text


def test_who_waits_is_let_go_when_all_services_are_at_their_target_and_were_seen() -> None:
    view = services_view([at_rest(), under_way()], NOW, None)
    assert view is not None
    assert (view.arrival, view.services[0].arrival) == (Arrival.NOT_YET, Arrival.NOT_YET)
    done = services_view([at_rest()], NOW, None)
    assert done is not None
    assert done.arrival is Arrival.MOVED
    unseen = at_rest()
    newer = ObjectMeta(name="store", namespace="shop", uid="u", generation=2)
    later = services_view([QuorumService(metadata=newer, spec=SPEC, status=unseen.status)], NOW, None)
    assert later is not None
    assert later.arrival is Arrival.NOT_YET
    assert services_view([], NOW, None) is None


def test_changes_are_told_once() -> None:
    before, after = services_view([at_rest()], NOW, None), services_view([under_way()], NOW, None)
    assert before is not None
    assert after is not None
    [line] = changes(before, after)
    assert "step 4 of 5" in line
    assert changes(after, after) == []


def test_that_no_operator_runs_is_a_hint() -> None:
    view = services_view([under_way()], NOW, Heard(NOW - 600))
    assert view is not None
    assert "until an operator runs again" in view.services[0].hints[0]


def test_programs_read_the_same() -> None:
    view = services_view([under_way()], NOW, None)
    assert view is not None
    [one] = services_data(view)["services"]
    assert one["servers"] == {"done": 1, "total": 3}
    assert [member["state"] for member in one["members"]] == ["Unknown", "Old", "New"]


class Reading:
    """The cluster that a command is about."""

    namespace = "shop"

    def __init__(self, *found: QuorumService) -> None:
        self._found = found

    def objects(self, _kind: object) -> tuple[QuorumService, ...]:
        return self._found


def test_a_service_is_found_by_name_in_the_namespace_that_is_meant() -> None:
    there = Reading(service(), service(space="other"), service("alone", "far"))
    assert explain.explained(there, Question("qs", "store"), NOW).namespace == "shop"
    assert explain.explained(there, Question("qs", "store", "other"), NOW).namespace == "other"
    assert explain.explained(there, Question("qs", "alone"), NOW).namespace == "far"


@pytest.mark.parametrize(
    ("question", "says", "hint"),
    [
        (Question("qs", "stor"), "there is no QuorumService stor", "quorumservice/store?"),
        (Question("qs", "twice"), "is in a, b", "-n NAMESPACE"),
        (Question("qs", "store", "nowhere"), "in namespace nowhere", "quorumservice/store?"),
    ],
)
def test_a_service_that_is_not_there_or_not_one_is_said(question: Question, says: str, hint: str) -> None:
    there = Reading(service(), service("twice", "a"), service("twice", "b"))
    with pytest.raises(FaceError) as error:
        explain.explained(there, question, NOW)
    assert says in error.value.message
    assert hint in error.value.hint
