"""From any state that can be reached, wherever the operator was interrupted, the end is the same."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import tries
from tests.upgrade.players import Fate, Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, OLD, World

fates = st.lists(st.sampled_from((Fate.DONE, Fate.DONE, Fate.LOST, Fate.UNANSWERED)), min_size=1, max_size=4)
moments = st.tuples(fates, st.booleans(), st.booleans(), st.integers(0, 2))
"""The fate of each step, whether the status is told, whether the operator dies, seconds that go by."""
scripts = st.lists(moments, max_size=25)
Script = list[tuple[list[Fate], bool, bool, int]]


def play(world: World, script: Script) -> None:
    operator = Operator(world)
    for fates_, publishes, dies, seconds in script:
        number = count()
        operator.round(lambda _, some=fates_, at=number: some[next(at) % len(some)], publishes=publishes)
        operator = Operator(world) if dies else operator
        for _ in range(seconds):
            world.turn()


@given(scripts, st.integers(0, 3), st.integers(1, 3), st.sampled_from((None, "", OLD, NEW)))
@settings(max_examples=tries(80))
def test_it_comes_to_the_same_end_wherever_the_operator_was_interrupted(
    script: Script, planes: int, workers: int, before: str | None
) -> None:
    world = World.of(planes, workers)
    world.server = OLD if planes else NEW
    if before is not None:
        world.migrate(target=before or None, exclude_namespaces=("kube-system",))
    judge = Judge(world)
    play(world, script)
    finish(world)
    well(world, judge)
    if before is not None:
        assert world.migration is not None
        assert world.migration.spec.exclude_namespaces == ("kube-system",)
        assert world.migration.spec.target == {"": None, OLD: NEW, NEW: NEW}[before]
    else:
        assert world.migration is None


@given(scripts, st.booleans(), st.sampled_from((None, "", OLD)), st.booleans())
@settings(max_examples=tries(80))
def test_an_abort_or_a_deletion_leaves_nothing_behind(
    script: Script, deleted: bool, before: str | None, fails: bool
) -> None:
    world = World.of(2, 2)
    world.hosts["w-1"].fails = fails
    if before is not None:
        world.migrate(target=before or None)
    judge = Judge(world)
    play(world, script)
    if deleted:
        world.delete()
    else:
        world.change(abort=True)
    finish(world)
    assert judge.residue() == []
    assert (world.migration.spec.target or "" if world.migration else None) == before
    planes = {one.api_server for one in world.hosts.values() if one.api_server}
    assert len(planes) == 1, "the control plane is left half way"
    if not deleted:
        assert world.config.metadata.finalizers == ()
        assert world.config.status.reason == "Aborted" or world.config.status.phase == "Upgraded"


def _length() -> int:
    """How many rounds a whole upgrade takes."""
    world, rounds = World.of(2, 2), 0
    operator = Operator(world)
    while not world.config.status.history or world.config.status.history[0].phase != "Upgraded":
        operator.round()
        world.turn()
        rounds += 1
    return rounds


@pytest.mark.parametrize("prefix", range(_length()))
@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
def test_a_new_leader_goes_on_from_every_round_that_was_cut_short(prefix: int, fate: Fate) -> None:
    """The leader dies in that round: its step was lost, or taken and not told, and no status was written."""
    world = World.of(2, 2)
    judge, operator = Judge(world), Operator(world)
    for _ in range(prefix):
        operator.round()
        world.turn()
    operator.round(lambda _: fate, publishes=False)
    finish(world)
    well(world, judge)
    made = [one for one in judge.taken if one.startswith("make NodeRollout")]
    assert len(made) - (fate is Fate.LOST) <= 2


def test_what_was_made_for_an_upgrade_that_is_gone_with_its_finalizer_is_taken_away() -> None:
    world = World.of(1, 2)
    world.migrate(target=None)
    judge = Judge(world)
    until(world, lambda: len(world.rollouts) == 2)
    world.upgrade = None
    finish(world)
    assert judge.residue() == []
    assert world.migration is not None
    assert world.migration.spec.target is None


def test_two_leaders_at_once_make_nothing_twice() -> None:
    world = World.of(1, 2)
    judge = Judge(world)
    one, other = Operator(world), Operator(world)
    for _ in range(60):
        one.round()
        other.round()
        world.turn()
    well(world, judge)


def test_no_step_is_taken_on_what_may_be_old() -> None:
    from shiplift.facts.kinds import NODE

    world = World.of(1, 2)
    until(world, lambda: world.rollouts)
    world.stale = (NODE,)
    before = world.config.status
    decision = Operator(world).round()
    assert decision.steps == ()
    assert world.config.status.reason == before.reason
    assert "may be old" in world.config.status.message
