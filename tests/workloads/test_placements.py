"""Who is held and who is released, and what the placements have to say for that."""

from __future__ import annotations

import msgspec

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode
from shiplift.facts.meta import Labels
from shiplift.workloads.decide import placements
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import SKIP
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import WritePlacement
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, arrive, change, look, say, under_way
from tests.workloads.world import NEW, OLD, SPACE, World

HELD, RELEASED = Turn.HELD, Turn.RELEASED
WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)
NOBODY: frozenset[WorkloadId] = frozenset()


def web_and_db(mode: Mode = Mode.INJECT, *, paused: bool = False) -> World:
    """web waits for db."""
    world = under_way((DEPLOYMENT, "web", 2), (STATEFUL_SET, "db", 1), mode=mode, paused=paused)
    world.order("order", [(WEB, DB)])
    return world


def going(world: World, early: frozenset[WorkloadId] = NOBODY) -> set[str]:
    return {id_.name for id_ in placements.may_move(look(world), early)}


def steps(
    world: World, *names: WorkloadId, changed: dict[WorkloadId, Record] | None = None
) -> list[WritePlacement]:
    return placements.placement_steps(look(world), frozenset(names), changed or {})


# --- who may go ---


def test_who_waits_for_nothing_may_go() -> None:
    assert going(web_and_db()) == {"db"}


def test_who_has_arrived_lets_the_next_go() -> None:
    world = web_and_db()
    arrive(world, "db")
    assert going(world) == {"db", "web"}


def test_a_release_is_kept_whatever_becomes_of_its_dependencies() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED})
    assert going(world) == {"db", "web"}


def test_a_release_for_another_target_is_none() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED}, target=OLD)
    assert going(world) == {"db"}


def test_in_mode_template_the_record_is_the_release() -> None:
    world = web_and_db(Mode.TEMPLATE)
    say(world, {WEB.owner_key: RELEASED}, {DB.owner_key: Record(toleration=NEW)})
    view = look(world)
    assert DB in placements.released(view)
    assert WEB not in placements.released(view)


def test_paused_nobody_new_may_go() -> None:
    world = web_and_db(paused=True)
    assert going(world) == set()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED})
    assert going(world) == {"db"}


def test_who_is_rescued_goes_early() -> None:
    assert going(web_and_db(), frozenset({WEB})) == {"db", "web"}


def test_a_release_of_somebody_who_is_gone_releases_nobody() -> None:
    world = web_and_db()
    say(world, {"Deployment.ghost": RELEASED})
    assert going(world) == {"db"}


# --- what placements say ---


def test_the_first_placement_of_a_namespace_names_everybody() -> None:
    (step,) = steps(web_and_db(), DB)
    assert (step.namespace, step.uid, step.target) == (SPACE, "", NEW)
    assert step.turns == {WEB.owner_key: HELD, DB.owner_key: RELEASED}
    assert step.describe() == (
        "tell the API server where new pods of shop go: StatefulSet.db to target nodes only; 1 held"
    )


def test_a_placement_that_says_so_already_is_left_alone() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED})
    assert steps(world, DB) == []


def test_a_new_release_keeps_the_others_and_is_tied_to_the_version_that_was_seen() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED})
    row = world.placement(SPACE)
    assert row is not None
    (step,) = steps(world, DB, WEB)
    assert step.turns == {WEB.owner_key: RELEASED, DB.owner_key: RELEASED}
    assert (step.uid, step.version) == (row.uid, row.resource_version)
    assert step.news == "Deployment.web to target nodes only"


def test_a_placement_for_another_target_is_written_anew() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED}, target=OLD)
    (step,) = steps(world, DB)
    assert step.target == NEW


def test_who_opted_out_is_not_named() -> None:
    world = web_and_db()
    change(world, "web", annotations=Labels({SKIP: "true"}))
    (step,) = steps(world, DB)
    assert step.turns == {DB.owner_key: RELEASED}


def test_who_is_gone_is_no_longer_named() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED, "Deployment.ghost": HELD})
    (step,) = steps(world, DB)
    assert step.turns == {WEB.owner_key: HELD, DB.owner_key: RELEASED}


def test_each_namespace_has_its_own() -> None:
    world = web_and_db()
    world.workload(DEPLOYMENT, "far", 1, "back")
    world.params = {}
    found = {step.namespace: sorted(step.turns) for step in steps(world, DB)}
    assert found == {SPACE: [WEB.owner_key, DB.owner_key], "back": ["Deployment.far"]}


def test_more_workloads_than_a_placement_may_name_are_cut_off() -> None:
    world = web_and_db()
    for number in range(placements.MOST_NAMED):
        world.workload(DEPLOYMENT, f"w{number:05}", 0)
    (step,) = steps(world, DB)
    assert len(step.turns) == placements.MOST_NAMED


# --- records ---


def test_a_record_is_added_changed_and_taken_out_beside_the_others() -> None:
    world = web_and_db()
    say(world, {WEB.owner_key: HELD, DB.owner_key: RELEASED}, {WEB.owner_key: Record(toleration=NEW)})
    (added,) = steps(world, DB, changed={DB: Record(surge=Surge(1, 2))})
    assert added.ledger[WEB.owner_key] == '{"toleration":"v1.36.3"}'
    assert added.ledger[DB.owner_key] == '{"surge":{"before":1,"after":2}}'
    (taken,) = steps(world, DB, changed={WEB: Record()})
    assert taken.ledger == {}
    assert taken.news == "records"


def test_in_mode_template_only_records_are_written() -> None:
    world = web_and_db(Mode.TEMPLATE)
    assert steps(world, DB) == []
    (step,) = steps(world, DB, changed={DB: Record(toleration=NEW)})
    assert (step.turns, list(step.ledger)) == ({}, [DB.owner_key])


def test_in_mode_template_turns_that_were_left_are_taken_out() -> None:
    world = web_and_db(Mode.TEMPLATE)
    say(world, {WEB.owner_key: HELD}, {DB.owner_key: Record(toleration=NEW)})
    (step,) = steps(world, DB)
    assert (step.turns, list(step.ledger)) == ({}, [DB.owner_key])


# --- proof ---


def test_a_placement_is_in_force_when_its_very_generation_was_seen() -> None:
    world = web_and_db()
    assert not placements.is_in_force(look(world), SPACE)
    say(world, {DB.owner_key: RELEASED})
    assert placements.is_in_force(look(world), SPACE)
    assert not placements.is_in_force(look(world, in_force=False), SPACE)


def test_what_is_not_in_force_is_proven_once_for_each_namespace() -> None:
    world = web_and_db()
    say(world, {DB.owner_key: RELEASED})
    view = look(world, in_force=False)
    (step,) = placements.checks(view, [SPACE, SPACE, "elsewhere"])
    assert (step.namespace, step.generation) == (SPACE, 1)
    assert placements.checks(look(world), [SPACE]) == []


def test_an_older_generation_is_no_proof() -> None:
    world = web_and_db()
    say(world, {DB.owner_key: RELEASED})
    say(world, {DB.owner_key: RELEASED, WEB.owner_key: HELD})
    row = world.placement(SPACE)
    assert row is not None
    view = msgspec.structs.replace(look(world), in_force={row.uid: 1})
    assert not placements.is_in_force(view, SPACE)
