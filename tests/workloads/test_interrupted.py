"""From any state that can be reached, wherever the operator was interrupted, the end is the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.api.workloads import MigrationState, Mode, WorkloadKind
from tests.examples import tries
from tests.model import nature
from tests.workloads.edits import Edit, Wishes, edits, uncordon_all
from tests.workloads.players import Operator, budgets_of, finish, normal, residue
from tests.workloads.sketches import (
    Cover,
    Moment,
    Part,
    Sketch,
    play,
    scripts,
    sketches,
    stage,
    until_it_evicts,
)
from tests.workloads.world import OLD, Pace


@given(sketches(), scripts)
@settings(max_examples=tries(120))
def test_every_interrupted_prefix_comes_to_the_same_end(sketch: Sketch, script: list[Moment]) -> None:
    calm = stage(sketch)
    finish(calm.world, calm.judge)
    rough = stage(sketch)
    play(rough, script).die()
    finish(rough.world, rough.judge)
    assert normal(rough.world, rough.ids) == normal(calm.world, calm.ids)


@given(sketches(movable=True), scripts)
@settings(max_examples=tries(60))
def test_who_can_move_arrives_and_nothing_of_ours_is_left(sketch: Sketch, script: list[Moment]) -> None:
    staged = stage(sketch)
    before = budgets_of(staged.world), staged.replicas()
    play(staged, script).die()
    finish(staged.world, staged.judge)
    assert staged.off_target() == []
    assert residue(staged.world) == []
    assert (budgets_of(staged.world), staged.replicas()) == before
    assert staged.state is MigrationState.NO_UPGRADE


@given(sketches(movable=True))
@settings(max_examples=tries(40))
def test_left_in_peace_no_eviction_is_refused_and_each_pod_moves_once(sketch: Sketch) -> None:
    staged = stage(sketch)
    pods = sum(len(staged.world.pods(id_)) for id_ in staged.ids)
    finish(staged.world, staged.judge)
    assert staged.judge.refusals == []
    assert len(staged.judge.evicted) == (pods if sketch.mode is Mode.INJECT else 0)


def test_budgets_forget_pods_that_were_back_before_the_controller_looked() -> None:
    database = Part(WorkloadKind.STATEFUL_SET, 3, Cover.ONE_AWAY)
    staged = stage(Sketch((database,), needs=(), mode=Mode.INJECT))
    began = staged.world.now
    operator = Operator(staged.world, staged.judge)
    while staged.off_target():
        operator.round()
        nature.tick(staged.world)
    assert sorted(staged.judge.forgotten) == ["w0-1", "w0-2"]
    assert (staged.world.now - began).total_seconds() < 60
    operator.die()


@given(sketches(movable=True), scripts)
@settings(max_examples=tries(80))
def test_evictions_that_take_their_time_are_counted_from_the_moment_they_are_sent(
    sketch: Sketch, script: list[Moment]
) -> None:
    calm = stage(sketch)
    finish(calm.world, calm.judge)
    slow = stage(sketch)
    play(slow, script).die()
    finish(slow.world, slow.judge, slow=True)
    assert normal(slow.world, slow.ids) == normal(calm.world, calm.ids)
    assert slow.judge.refusals == []


@given(sketches(movable=True), scripts)
@settings(max_examples=tries(80))
def test_news_that_comes_late_changes_nothing(sketch: Sketch, script: list[Moment]) -> None:
    calm = stage(sketch)
    finish(calm.world, calm.judge)
    late = stage(sketch)
    operator = play(late, script, late=True)
    finish(late.world, late.judge, operator=operator)
    assert normal(late.world, late.ids) == normal(calm.world, calm.ids)
    assert late.judge.refusals == []


@given(sketches(), scripts, st.booleans())
@settings(max_examples=tries(80))
def test_an_abort_undoes_everything_wherever_it_comes(
    sketch: Sketch, script: list[Moment], deleted: bool
) -> None:
    staged = stage(sketch)
    before = budgets_of(staged.world), staged.replicas()
    play(staged, script).die()
    if deleted:
        staged.world.end_migration()
    else:
        staged.world.migrate(abort=True)
    staged.judge.undisturbed = False
    finish(staged.world, staged.judge)
    assert residue(staged.world) == []
    assert (budgets_of(staged.world), staged.replicas()) == before
    assert staged.unready() == []


@given(sketches(movable=True), scripts, scripts)
@settings(max_examples=tries(60))
def test_a_rollback_brings_everybody_back(sketch: Sketch, script: list[Moment], again: list[Moment]) -> None:
    staged = stage(sketch)
    before = budgets_of(staged.world), staged.replicas()
    play(staged, script).die()
    staged.world.migrate(target=OLD)
    staged.judge.undisturbed = False
    play(staged, again).die()
    finish(staged.world, staged.judge)
    assert staged.off_target(OLD) == []
    assert residue(staged.world) == []
    assert (budgets_of(staged.world), staged.replicas()) == before


@given(sketches(movable=True, modes=(Mode.INJECT,)), scripts, scripts, st.booleans())
@settings(max_examples=tries(100))
def test_a_rollback_while_evictions_are_under_way_brings_everybody_back(
    sketch: Sketch, script: list[Moment], again: list[Moment], sent: bool
) -> None:
    pace = {"late" if sent else "slow": True}
    staged = stage(sketch)
    operator = play(staged, script, **pace)
    until_it_evicts(staged, operator)
    staged.world.migrate(target=OLD)
    staged.judge.undisturbed = False
    operator = play(staged, again, operator=operator, **pace)
    finish(staged.world, staged.judge, operator=operator)
    assert staged.off_target(OLD) == []
    assert residue(staged.world) == []


def test_a_rollback_right_after_an_eviction_takes_it_for_nobody_elses_drain() -> None:
    one = Part(WorkloadKind.DEPLOYMENT, 1, Cover.NONE)
    staged = stage(Sketch((one, one, one), needs=((1, 0), (2, 1)), mode=Mode.INJECT, pace=Pace(leave=True)))
    operator = Operator(staged.world, staged.judge)
    for _ in range(30):
        operator.round()
        if not staged.world.pods(staged.ids[2]):  # on its way out
            break
        nature.tick(staged.world)
    staged.world.migrate(target=OLD)
    staged.judge.undisturbed = False
    for _ in range(3):  # written down, marked; the pod is still there
        operator.round()
    view = operator.decision.view if operator.decision else None
    assert view is not None
    assert view.tallies[staged.ids[2]].evicted
    assert staged.ids[2] not in view.order.open
    finish(staged.world, staged.judge, operator=operator)
    assert staged.off_target(OLD) == []
    assert staged.judge.held == []


@given(sketches(), st.lists(st.tuples(scripts, edits, st.integers(0, 50)), min_size=1, max_size=3))
@settings(max_examples=tries(80))
def test_what_users_did_meanwhile_stays_and_nothing_of_ours_does(
    sketch: Sketch, acts: list[tuple[list[Moment], Edit, int]]
) -> None:
    staged = stage(sketch)
    wishes = Wishes(staged)
    staged.judge.undisturbed = False
    for script, edit, number in acts:
        play(staged, script).die()
        edit(staged, wishes, number)
    finish(staged.world, staged.judge)
    uncordon_all(staged.world)
    staged.world.migrate(abort=True)
    finish(staged.world, staged.judge)
    assert residue(staged.world) == []
    assert (budgets_of(staged.world), staged.replicas()) == (wishes.budgets, wishes.replicas)
    assert staged.unready() == []
