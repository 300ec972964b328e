"""What a workload and a pod of it have to pass, and how each gate is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shiplift.api.workloads import Mode
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.gates import WORKLOAD_GATES
from shiplift.workloads.decide.pod_gates import POD_GATES
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.face.passage import OPERATOR_LAST, Passing, Said, passage
from shiplift.workloads.model import Reason
from tests.workloads.face.closed_gates import SEEN, a_full_placement
from tests.workloads.face.passing import MOMENT, NOW, WEB, a_shop, closed, released, told, way, without_room
from tests.workloads.views import change, look
from tests.workloads.world import World


@pytest.fixture
def one_a_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placements, "MOST_NAMED", 1)


@pytest.mark.parametrize(("situation", "gate", "reason", "message"), SEEN)
def test_the_gate_that_keeps_a_pod_is_closed_and_says_why(
    situation: Callable[[], World], gate: str, reason: Reason, message: str, request: pytest.FixtureRequest
) -> None:
    if situation is a_full_placement:
        request.getfixturevalue("one_a_placement")
    found = closed(way(situation()))
    assert (found.open, found.reason, found.said) == (gate, reason.value, None)
    assert message in found.message


@pytest.mark.parametrize(("situation", "gate", "reason", "message"), SEEN)
def test_what_closes_a_gate_is_what_the_operator_decides(
    situation: Callable[[], World], gate: str, reason: Reason, message: str, request: pytest.FixtureRequest
) -> None:
    if situation is a_full_placement:
        request.getfixturevalue("one_a_placement")
    world = situation()
    decision = decide(look(world), MOMENT)
    line = line_of(decision, decision.view.tallies[WEB])
    found = closed(way(world))
    assert (found.reason, found.message) == (line.reason.value, line.message)


def test_before_the_closed_gate_all_are_open_and_after_it_none_is_reached() -> None:
    found = way(without_room(a_shop()))
    assert [gate.passing for gate in found.workload] == [
        *[Passing.OPEN] * 9,
        Passing.CLOSED,
        *[Passing.NOT_REACHED] * 10,
    ]
    assert {gate.passing for gate in found.pod} == {Passing.NOT_REACHED}
    assert [gate.open for gate in found.pod] == [gate.open for gate in POD_GATES]


@pytest.mark.parametrize(("mode", "other"), [(Mode.INJECT, Mode.TEMPLATE), (Mode.TEMPLATE, Mode.INJECT)])
def test_gates_are_told_in_their_order_but_those_of_the_other_mode(mode: Mode, other: Mode) -> None:
    found = way(a_shop(mode=mode))
    assert [gate.open for gate in found.workload] == [
        gate.open for gate in WORKLOAD_GATES if gate.mode is not other
    ]


def test_a_release_is_passed_for_good_and_what_only_the_operator_knows_is_marked() -> None:
    found = way(released(a_shop()))
    passing = {gate.open: gate.passing for gate in found.workload}
    assert passing["all that it depends on have moved"] is Passing.PASSED
    unknown = [open_ for open_, one in passing.items() if one is Passing.UNKNOWN]
    assert unknown == [gate.open for gate in WORKLOAD_GATES if gate.known_to_operator]
    assert {gate.passing for gate in found.pod} == {Passing.OPEN}


BY_THE_OPERATOR = (
    (Reason.POD_NOT_STEERED, "nothing stops all moves"),
    (Reason.NODE_NOT_MARKED, "nothing stops all moves"),
    (Reason.EVICTED_TOO_OFTEN, "its pods were not evicted again and again"),
    (Reason.NOT_IN_FORCE, "API servers go by its placement"),
)


@pytest.mark.parametrize(("reason", "gate"), BY_THE_OPERATOR)
def test_what_only_the_operator_knows_is_told_as_its_word(reason: Reason, gate: str) -> None:
    found = way(told(released(a_shop()), reason, "api-1 does not answer"))
    one = closed(found)
    assert (one.open, one.said) == (gate, Said(reason.value, "api-1 does not answer", 600))
    assert {gate.passing for gate in found.pod} == {Passing.NOT_REACHED}


def test_the_operator_itself_waits_for_all_others_and_no_other_workload_has_that_gate() -> None:
    found = way(told(a_shop(), Reason.GOES_LAST, "waits for shop/api"))
    one = closed(found)
    assert (one.open, one.said) == (OPERATOR_LAST, Said("OperatorGoesLast", "waits for shop/api", 600))
    others = {gate.passing for gate in found.workload[1:]} | {gate.passing for gate in found.pod}
    assert others == {Passing.NOT_REACHED}
    assert OPERATOR_LAST not in {gate.open for gate in way(a_shop()).workload}


def test_the_word_about_an_earlier_workload_of_that_name_counts_for_nothing() -> None:
    world = told(released(a_shop()), Reason.NOT_IN_FORCE, "api-1 does not answer")
    change(world, "web", uid="another")
    row = world.row_of(WEB)
    assert row is not None
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert not any(gate.said for gate in found.workload)


def test_where_no_gate_is_closed_the_operator_has_the_word() -> None:
    found = way(told(released(a_shop()), Reason.REFUSED, "a webhook said no"))
    assert found.said == Said("Refused", "a webhook said no", 600)
    assert way(told(a_shop(), Reason.REFUSED, "a webhook said no")).said is None


def test_every_gate_is_found_closed_in_some_situation() -> None:
    elsewhere = {
        "pods of it are left to move, or to come",
        "evictions of this decision have room for it",
        *(gate for _, gate in BY_THE_OPERATOR),
    }
    reached = {gate for _, gate, _, _ in SEEN} | elsewhere
    assert {gate.open for gate in (*WORKLOAD_GATES, *POD_GATES)} == reached
