"""Taking out what is left: from what is found alone, in an order in which nothing is ever locked out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.marks import UPGRADE_TAINT
from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.workloads import Cleanup, Mode, OnCycle, WorkloadMigrationStatus
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.pods import Toleration
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.decide.cleaning import cleaning, kept, leftovers, undone
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.template_digest import digest
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import (
    DeletePlacement,
    HoldBudget,
    MarkNode,
    RestoreBudget,
    Scale,
    SetTolerations,
    WritePlacement,
)
from tests.model import nature
from tests.workloads import server
from tests.workloads.players import finish, residue
from tests.workloads.views import DEPLOYMENT, an_id, change, look, said, say, under_way
from tests.workloads.world import NEW, SPACE, World

WEB, DB = an_id("web"), an_id("db")
OURS = Toleration(UPGRADE_TAINT, "Equal", NEW, "NoSchedule")


def over(mode: Mode = Mode.INJECT, **spec: Any) -> World:
    """A migration that somebody has aborted half-way."""
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "db", 1), mode=mode, **spec)
    world.migrate(abort=True)
    return world


def tolerate(world: World, *names: str) -> None:
    """They carry our toleration, and that is on record."""
    for name in names:
        row = world.row_of(an_id(name))
        assert row is not None
        template = msgspec.structs.replace(row.template, tolerations=(OURS,))
        change(world, name, template=template)
    say(world, {}, {an_id(name).owner_key: Record(toleration=NEW) for name in names})
    nature.settle(world)


def unmark(world: World) -> None:
    take(world, MarkNode)


def take(world: World, *kinds: type[Step]) -> None:
    for step in leftovers(look(world)).steps:
        if isinstance(step, kinds):
            assert server.take(world, step, {}).ok
    nature.settle(world)


def kinds_left(world: World) -> list[str]:
    return sorted({type(step).__name__ for step in leftovers(look(world)).steps})


def goes_without_its_finalizer(world: World) -> None:
    """Nothing is left of what the placement records: its finalizer goes, then the placement."""
    assert kinds_left(world) == ["WritePlacement"]
    take(world, WritePlacement)
    row = world.placement(SPACE)
    assert row is not None
    assert row.finalizers == ()
    assert kinds_left(world) == ["DeletePlacement"]


def ids(*found: WorkloadId) -> list[str]:
    return [id_.name for id_ in found]


def test_with_nothing_of_ours_left_it_says_why_nothing_is_done() -> None:
    world = over()
    unmark(world)
    world.finalize()
    decision = cleaning(look(world), world.now)
    assert (decision.steps, decision.reason) == ((), Reason.ABORTED)


def test_marks_holds_and_placements_are_found_by_themselves() -> None:
    world = over()
    uid = world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    assert server.take(world, HoldBudget(WEB, "web", uid), {}).ok
    say(world, {WEB.owner_key: Turn.HELD})
    assert kinds_left(world) == ["DeletePlacement", "MarkNode", "RestoreBudget"]
    world.end_migration()
    assert kinds_left(world) == ["DeletePlacement", "MarkNode", "RestoreBudget"]
    take(world, MarkNode, RestoreBudget, DeletePlacement)
    assert residue(world) == []


def test_the_number_of_things_is_told() -> None:
    world = over()
    decision = cleaning(look(world), world.now)
    assert decision.reason is Reason.CLEANING_UP
    assert decision.message == "4 things of ours are being taken out"


def test_a_surge_is_undone_before_its_record_goes() -> None:
    world = over()
    say(world, {}, {WEB.owner_key: Record(surge=Surge(2, 3))})
    change(world, "web", replicas=3)
    nature.settle(world)
    unmark(world)
    assert kinds_left(world) == ["Scale"]
    take(world, Scale)
    goes_without_its_finalizer(world)


def test_a_record_of_somebody_who_is_gone_is_dropped() -> None:
    world = over()
    unmark(world)
    say(world, {}, {"Deployment.ghost": Record(surge=Surge(2, 3))})
    goes_without_its_finalizer(world)


def test_a_record_that_cannot_be_read_stays_with_its_placement_and_is_told() -> None:
    world = over()
    unmark(world)
    say(world, {WEB.owner_key: Turn.HELD}, {WEB.owner_key: Record(surge=Surge(2, 2))})
    spec = said(world)
    assert spec is not None
    world.write_placement(SPACE, msgspec.structs.replace(spec, ledger={DB.owner_key: "{nonsense"}))
    assert kinds_left(world) == ["WritePlacement"]
    take(world, WritePlacement)
    assert kinds_left(world) == []
    assert any("Deployment.db cannot be read" in note for note in cleaning(look(world), world.now).notes)


# --- what fails, or cannot be read ---


def failing(world: World, *kinds: type[Step]) -> Outcomes:
    """These steps were tried, and somebody forbids them."""
    steps = [step for step in leftovers(look(world)).steps if isinstance(step, kinds)]
    failed = [Outcome.failed(step, "forbidden by a policy") for step in steps]
    return Outcomes().remember(failed, world.now)


def test_what_fails_while_cleaning_up_is_told_and_the_rest_goes_on() -> None:
    world = over()
    say(world, {WEB.owner_key: Turn.HELD})
    decision = decide(look(world, failing(world, DeletePlacement)), world.now)
    assert decision.message == (
        "5 things of ours are being taken out; 1 of them failed:"
        " let new pods of shop go anywhere: forbidden by a policy"
    )
    assert "let new pods of shop go anywhere: forbidden by a policy" in decision.notes
    assert (len(decision.steps), decision.stalled) == (4, False)


def test_when_all_that_is_left_fails_somebody_has_to_act() -> None:
    world = over()
    say(world, {WEB.owner_key: Turn.HELD})
    unmark(world)
    decision = decide(look(world, failing(world, DeletePlacement)), world.now)
    assert (decision.steps, decision.stalled, decision.reason) == ((), True, Reason.CLEANING_UP)
    assert "forbidden by a policy" in decision.message


def test_a_migration_that_cannot_be_read_keeps_nothing_from_being_undone_by_hand() -> None:
    world = over()
    say(world, {WEB.owner_key: Turn.HELD})
    world.end_migration()
    world.spoil(kinds.WORKLOAD_MIGRATION, "cluster", "not a list", "")
    view = look(world)
    assert decide(view, world.now).steps == ()
    assert len(undone(view, world.now).steps) == 5


def test_before_the_abort_is_seen_nothing_is_undone_by_hand() -> None:
    world = under_way((DEPLOYMENT, "web", 2))
    decision = undone(look(world), world.now)
    assert (decision.steps, decision.reason) == ((), Reason.CLEANING_UP)


def test_the_record_of_a_workload_that_cannot_be_read_stays_and_is_told() -> None:
    world = over()
    unmark(world)
    say(world, {}, {WEB.owner_key: Record(surge=Surge(2, 3))})
    row = world.row_of(WEB)
    assert row is not None
    world.remove(row)
    world.spoil(kinds.DEPLOYMENT, "web", "not a list")
    decision = cleaning(look(world), world.now)
    assert decision.steps == ()
    assert (decision.reason, decision.stalled) == (Reason.UNREADABLE, True)
    assert decision.message.startswith("Deployment shop/web cannot be read")


# --- tolerations ---


def test_taints_go_before_tolerations() -> None:
    world = over(Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE)
    tolerate(world, "web")
    assert "SetTolerations" not in kinds_left(world)
    unmark(world)
    assert kinds_left(world) == ["SetTolerations"]


def test_left_inert_a_toleration_is_recorded_with_its_template_and_told() -> None:
    world = over(Mode.TEMPLATE)
    tolerate(world, "web")
    unmark(world)
    assert kinds_left(world) == ["WritePlacement"]
    take(world, WritePlacement)
    found = leftovers(look(world))
    assert (found.steps, ids(*found.inert)) == ((), ["web"])
    notes = cleaning(look(world), world.now).notes
    assert notes == (
        "Deployment shop/web keeps an inert toleration until its owner changes its template"
        " (`rollout restart` is no such change); WorkloadPlacement shiplift of the namespace says so",
    )


@pytest.mark.parametrize(
    ("many", "begins"),
    [
        (
            2,
            "Deployment shop/w0, Deployment shop/w1 keep an inert toleration until their owners change their",
        ),
        (11, "Deployment shop/w7 and 3 more keep an inert toleration until their owners change their"),
    ],
)
def test_many_that_keep_a_toleration_have_one_note(many: int, begins: str) -> None:
    (note,) = kept([an_id(f"w{number}") for number in range(many)])
    assert begins in note


def test_with_the_owners_next_rollout_it_comes_off() -> None:
    world = over(Mode.TEMPLATE)
    tolerate(world, "web")
    unmark(world)
    take(world, WritePlacement)
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, priority=7))
    assert kinds_left(world) == ["SetTolerations"]
    take(world, SetTolerations)
    assert kinds_left(world) == ["DeletePlacement"]


def test_a_toleration_that_the_owner_took_off_needs_nothing_more() -> None:
    world = over(Mode.TEMPLATE)
    tolerate(world, "web")
    unmark(world)
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, tolerations=()))
    goes_without_its_finalizer(world)


def test_at_once_means_in_dependency_order_and_nobody_is_called_inert() -> None:
    world = over(Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE)
    world.order("order", [(WEB, DB)])
    tolerate(world, "web", "db")
    unmark(world)
    found = leftovers(look(world))
    assert [step.workload.name for step in found.steps if isinstance(step, SetTolerations)] == ["db"]
    assert (ids(*found.inert), "web" in ids(*found.waiting)) == ([], True)
    take(world, SetTolerations, WritePlacement)
    take(world, SetTolerations, WritePlacement)
    assert [
        step.workload.name for step in leftovers(look(world)).steps if isinstance(step, SetTolerations)
    ] == ["web"]


def test_those_of_a_cycle_lose_theirs_too() -> None:
    world = over(Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE, on_cycle=OnCycle.COLLAPSE)
    world.order("order", [(WEB, DB), (DB, WEB)])
    tolerate(world, "web", "db")
    finish(world)
    assert residue(world) == []


# --- records of other releases ---

OF_0_1_0 = f'{{"toleration":"{NEW}","template":"5cc99ff1c36de173"}}'
OF_ANOTHER_VERSION = f'{{"toleration":"{NEW}","inert":"0:5cc99ff1c36de173"}}'
OF_A_LATER_RELEASE = f'{{"toleration":"{NEW}","since":"then","surge":null}}'


@pytest.mark.parametrize("text", [OF_0_1_0, OF_ANOTHER_VERSION, OF_A_LATER_RELEASE])
def test_a_record_of_another_release_is_made_anew_and_nothing_comes_off(text: str) -> None:
    world = left_by_another_release(text)
    found = leftovers(look(world))
    assert [type(step) for step in found.steps] == [WritePlacement]
    assert (ids(*found.inert), found.waiting) == (["web"], ())
    take(world, WritePlacement)
    assert leftovers(look(world)).steps == ()
    row, spec = world.row_of(WEB), said(world)
    assert row is not None
    assert spec is not None
    assert spec.ledger == {WEB.owner_key: f'{{"toleration":"{NEW}","inert":"{digest(row)}"}}'}


def test_after_that_the_owners_next_rollout_takes_it_off_as_ever() -> None:
    world = left_by_another_release(OF_0_1_0)
    take(world, WritePlacement)
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, priority=7))
    assert kinds_left(world) == ["SetTolerations"]


def test_at_once_means_at_once_whoever_made_the_record() -> None:
    world = left_by_another_release(OF_0_1_0, cleanup=Cleanup.IMMEDIATE)
    assert "SetTolerations" in kinds_left(world)


def left_by_another_release(record: str, **spec: Any) -> World:
    """`web` carries our toleration, and that is on record as another release of ours writes it."""
    world = over(Mode.TEMPLATE, **spec)
    tolerate(world, "web")
    unmark(world)
    placement = said(world)
    assert placement is not None
    world.write_placement(SPACE, msgspec.structs.replace(placement, ledger={WEB.owner_key: record}))
    return world


def test_done_twice_nothing_changes() -> None:
    world = over()
    say(world, {WEB.owner_key: Turn.HELD})
    finish(world)
    before = world.changes
    assert leftovers(look(world)).steps == ()
    assert world.changes == before
    assert not world.all(PodDisruptionBudget)
    assert world.migration is not None
    assert world.migration.status.state is WorkloadMigrationStatus().state


def test_what_may_be_ours_and_cannot_be_read_is_named_when_all_else_is_out() -> None:
    world = over()
    finish(world)
    assert not cleaning(look(world), world.now).stalled
    world.spoil(kinds.WORKLOAD_PLACEMENT, PLACEMENT, "no turns")
    decision = cleaning(look(world), world.now)
    assert (decision.reason, decision.stalled) == (Reason.UNREADABLE, True)
    assert f"WorkloadPlacement {SPACE}/{PLACEMENT} cannot be read (no turns)" in decision.message
