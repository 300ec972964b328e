"""The section of `shiplift status` on rollouts: the worst nodes first, and never an end too early."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from rich.console import Console

from shiplift.api.nodes import Blocker, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Estimate, Progress
from shiplift.nodes.face.rollouts import RolloutsView, RolloutView, changes, rollouts_view, why
from shiplift.nodes.face.rollouts_data import rollouts_data
from shiplift.nodes.face.rollouts_layout import rollouts
from shiplift.view.section import Arrival
from shiplift.view.values import Heard
from tests.cli.test_status_data import PAGE, fields, named
from tests.nodes.face.rollouts import MADE, NOW, UNHEARD, a_record, a_rollout

COMPLETE = {"phase": RolloutPhase.COMPLETE}
ABORTED = {"phase": RolloutPhase.ABORTED}


def view(*found: object, heard: Heard | None = None) -> RolloutsView:
    made = rollouts_view(found, NOW, heard)  # type: ignore[arg-type]
    assert made is not None
    return made


def one(*found: object, heard: Heard | None = None) -> RolloutView:
    (only,) = view(*found, heard=heard).rollouts
    return only


def shown(told: RolloutsView, most: int | None = 20, lines: int | None = None, width: int = 110) -> str:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(rollouts(told, most, lines))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_without_a_rollout_there_is_nothing_to_tell() -> None:
    assert rollouts_view([], NOW, None) is None


@pytest.mark.parametrize(
    ("rollout", "arrival"),
    [
        (a_rollout(), Arrival.NOT_YET),
        (a_rollout(phase=RolloutPhase.RUNNING), Arrival.NOT_YET),
        (a_rollout(phase=RolloutPhase.STOPPED, stalled="a failed"), Arrival.NOT_YET),
        (a_rollout(**COMPLETE), Arrival.MOVED),
        (a_rollout(**COMPLETE, about={"generation": 2}), Arrival.NOT_YET),
        (a_rollout(**COMPLETE, about={"deletion_timestamp": MADE}), Arrival.NOT_YET),
        (a_rollout(**ABORTED), Arrival.GIVEN_UP),
    ],
)
def test_who_waits_for_the_end_is_let_go_by_what_the_operator_has_seen(
    rollout: object, arrival: Arrival
) -> None:
    assert view(rollout).arrival is arrival


def test_rollouts_that_are_over_are_counted_while_others_run() -> None:
    told = view(a_rollout(name="old", **ABORTED), a_rollout(name="new", phase=RolloutPhase.RUNNING))
    assert [one.name for one in told.rollouts] == ["new"]
    assert (told.over, told.arrival) == (1, Arrival.NOT_YET)


def test_where_all_are_over_the_last_tells_how_it_ended() -> None:
    later = MADE + timedelta(minutes=5)
    old = a_rollout(name="old", complete_time=later, **COMPLETE)
    told = view(a_rollout(name="z", complete_time=MADE, **ABORTED), old)
    assert [one.name for one in told.rollouts] == ["old"]
    assert told.arrival is Arrival.MOVED


def test_the_worst_nodes_come_first() -> None:
    told = one(
        a_rollout(
            a_record("skipped", NodeState.SKIPPED, 50),
            a_record("changing", NodeState.CHANGING, 9),
            a_record("drains-a-while", NodeState.DRAINING, 2),
            a_record("drains-for-long", NodeState.DRAINING, 30),
            a_record("failed", NodeState.FAILED),
            a_record("quarantined", NodeState.QUARANTINED),
        )
    )
    names = [line.name for line in told.lines]
    assert names == ["quarantined", "failed", "drains-for-long", "drains-a-while", "changing", "skipped"]
    assert told.lines[2].seconds == 1800


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        ("WaitsForAgent", "", "its agent is asked to change it"),
        ("WaitsForAgent", "its agent is silent", "its agent is silent"),
        ("Contested", "", "Contested"),
    ],
)
def test_a_reason_is_said_in_words_where_the_record_has_none(reason: str, message: str, told: str) -> None:
    (line,) = one(a_rollout(a_record("a", NodeState.CHANGING, reason=reason, message=message))).lines
    assert why(line) == told


def test_a_stall_is_said_in_the_words_of_the_operator() -> None:
    assert view(a_rollout(stalled="1 of at most 1 node failed")).stalled == "1 of at most 1 node failed"
    assert view(a_rollout()).stalled == ""


@pytest.mark.parametrize(
    ("rollout", "stalled"),
    [
        (a_rollout(spec={"paused": True}, phase=RolloutPhase.RUNNING), ""),
        (a_rollout(a_record("a", NodeState.CHANGING), spec={"paused": True}, phase=RolloutPhase.PAUSED), ""),
        (
            a_rollout(a_record("a", NodeState.WAITING), spec={"paused": True}, phase=RolloutPhase.PAUSED),
            "paused: `shiplift resume rollout/r` goes on",
        ),
        (
            a_rollout(a_record("a", NodeState.FAILED), spec={"paused": True}, phase=RolloutPhase.PAUSED),
            "paused: `shiplift resume rollout/r` goes on",
        ),
        (a_rollout(phase=RolloutPhase.PAUSED), ""),
    ],
)
def test_a_pause_stalls_it_once_what_was_in_flight_is_finished(rollout: object, stalled: str) -> None:
    """Who has resumed it waits for an operator that sees that, and not for somebody who resumes it."""
    assert view(rollout).stalled == stalled


@pytest.mark.parametrize(
    ("rollout", "heard", "hint"),
    [
        (a_rollout(observed_generation=0), None, "no operator with the layer nodes has looked at it yet"),
        (a_rollout(about={"generation": 2}), None, "the operator has not seen the last change"),
        (a_rollout(), Heard(NOW - 100), "nothing happens until an operator runs again"),
        (a_rollout(spec={"paused": True}), None, "`shiplift resume rollout/r` goes on"),
        (a_rollout(a_record("a", NodeState.FAILED)), None, "`shiplift explain node/a` tells all"),
    ],
)
def test_hints_say_what_could_be_done(rollout: object, heard: Heard | None, hint: str) -> None:
    assert any(said.startswith(hint) for said in one(rollout, heard=heard).hints)


def test_the_node_that_is_explained_is_the_first_that_is_shown() -> None:
    two = a_rollout(a_record("a", NodeState.DRAINING, 1), a_record("b", NodeState.DRAINING, 9))
    assert one(two).lines[0].name == "b"
    assert one(two).hints[-1].startswith("`shiplift explain node/b` tells all")


def test_of_a_rollout_that_is_over_nobody_waits_for_an_operator() -> None:
    assert one(a_rollout(**ABORTED), heard=Heard(NOW - 100)).hints == ()


@pytest.mark.parametrize(
    ("rollout", "phase"),
    [
        (a_rollout(), "not begun"),
        (a_rollout(phase=RolloutPhase.RUNNING), "running"),
        (a_rollout(phase=RolloutPhase.RUNNING, spec={"abort": True}), "aborting"),
        (a_rollout(about={"deletion_timestamp": MADE}), "being deleted"),
    ],
)
def test_what_was_asked_for_is_said_though_nobody_has_seen_it(rollout: object, phase: str) -> None:
    assert one(rollout).phase == phase


BLOCKED = a_record(
    "b",
    NodeState.DRAINING,
    45,
    reason="DrainBlocked",
    message="1 pod left",
    blockers=(Blocker(pod="shop/web-1", budget="shop/web", message="needs 2 healthy pods and has 2"),),
)
BUSY = a_rollout(
    BLOCKED,
    a_record("a", NodeState.CHANGING, 2, reason="Changing", message="its agent is at work"),
    spec={"pools": ("workers",)},
    phase=RolloutPhase.RUNNING,
    running_pass=RolloutPass.WORKERS,
    path=("v1.35.4", "v1.36.3"),
    progress=Progress.of(3, 10),
    unavailable=2,
    start_time=MADE,
    message="3 of 10 nodes done, 2 in flight",
    eta=Estimate(likely=MADE + timedelta(hours=2)),
)


def test_the_picture_has_pass_path_progress_and_what_each_node_waits_for() -> None:
    assert (
        shown(view(BUSY))
        == """\
Nodes  r running, Kubernetes v1.36.3, pass Workers, for 60 min, about 60 min to go
       [######--------------] 3/10 nodes, 2 unavailable
Pools  workers
Path   v1.35.4 → v1.36.3
Now    3 of 10 nodes done, 2 in flight

NODE  STATE     FOR     WHY
b     Draining  45 min  1 pod left; pod shop/web-1 is kept by PodDisruptionBudget shop/web: needs 2 healthy
                        pods and has 2
a     Changing  2 min   its agent is at work

hint: `shiplift explain node/b` tells all about the first of them"""
    )


def test_ten_nodes_are_shown_unless_all_are_asked_for() -> None:
    many = a_rollout(*(a_record(f"n{number:02}", NodeState.FAILED) for number in range(12)))
    assert "n09" in shown(view(many))
    assert "n10" not in shown(view(many))
    assert "and 2 more; --all shows them" in shown(view(many))
    assert "n11" in shown(view(many), most=None)
    assert "and 10 more" in shown(view(many), most=2)


def test_names_and_messages_of_others_are_no_markup_and_do_nothing_to_a_terminal() -> None:
    spoiled = a_record("a", NodeState.FAILED, message="[red]x[/red]\x1b[2J\nline")
    assert "[red]x[/red] [2J line" in shown(view(a_rollout(spoiled)))


def test_changes_are_told_once() -> None:
    before, after = view(a_rollout(phase=RolloutPhase.RUNNING)), view(BUSY)
    assert changes(before, after) == [
        "r running, 3/10 nodes: 3 of 10 nodes done, 2 in flight",
        "node b draining: 1 pod left; pod shop/web-1 is kept by PodDisruptionBudget shop/web:"
        " needs 2 healthy pods and has 2",
        "node a changing: its agent is at work",
    ]
    assert changes(after, after) == []
    assert changes(None, before) == ["r running"]


def test_programs_get_all_of_it() -> None:
    data = rollouts_data(view(BUSY))
    assert (data["arrival"], data["stalled"]) == ("NotYet", "")
    (told,) = data["rollouts"]
    assert told["nodes"] == {"done": 3, "total": 10}
    assert told["eta"] == {"likelySeconds": 3600, "earliestSeconds": 3600, "latestSeconds": 3600}
    assert [line["name"] for line in told["waiting"]] == ["b", "a"]
    assert told["waiting"][0]["forSeconds"] == 2700


def test_every_field_is_on_the_page_and_nothing_else_is() -> None:
    own = PAGE.read_text().partition("## `layers.nodes`")[2].partition("## `layers.")[0]
    found = {*fields(rollouts_data(view(BUSY))), *fields(rollouts_data(view(a_rollout())))}
    assert named(own) - {"rollouts"} == found


def test_agents_that_are_not_heard_of_are_what_it_needs_and_no_error() -> None:
    found = view(a_rollout(conditions=(UNHEARD,), message=UNHEARD.message))
    assert (found.rollouts[0].needs, found.rollouts[0].stalled, found.stalled) == (
        "nothing was heard",
        "",
        "",
    )
