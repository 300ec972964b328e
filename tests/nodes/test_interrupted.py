"""From any state that can be reached, wherever the operator was interrupted, the end is the same."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.agent.protocol import CHANGES_ALLOWED
from shiplift.api.marks import CORDONED_BY, SKIP_ROLLOUT
from shiplift.api.nodes import NodeState, RolloutPhase
from tests.examples import tries
from tests.nodes.players import FAILS, NEVER_READY, REFUSES, SILENT, STUCK, WRONG
from tests.nodes.stage import Script, Stage, scripts
from tests.nodes.world import NEW, OLD, Machine

WAYS = (FAILS, NEVER_READY, REFUSES, SILENT, STUCK, WRONG)


@given(scripts, st.integers(1, 4), st.sampled_from((1, 2, "50%")))
@settings(max_examples=tries(50))
def test_workers_come_to_the_same_end_wherever_the_operator_was_interrupted(
    script: Script, workers: int, budget: int | str
) -> None:
    stage = Stage(workers, budget=budget)
    stage.play(script)
    stage.finish()
    stage.well()


@given(scripts, st.sampled_from((1, 3)), st.booleans())
@settings(max_examples=tries(40))
def test_a_control_plane_comes_to_the_same_end_wherever_the_operator_was_interrupted(
    script: Script, control_planes: int, minor: bool
) -> None:
    stage = Stage(2, control_planes, minor=minor)
    stage.play(script)
    stage.finish()
    stage.well()
    applied = [one for one in stage.judge.ordered if one.startswith("UpgradeApply")]
    assert {one.split()[1] for one in applied} == {"cp-0"}
    assert stage.world.rollouts["next"].status.snapshot is not None


@given(scripts, st.booleans(), st.integers(0, 3))
@settings(max_examples=tries(40))
def test_an_abort_or_a_deletion_gives_every_node_back(
    script: Script, deleted: bool, control_planes: int
) -> None:
    stage = Stage(2, control_planes, budget=2)
    stage.play(script)
    if deleted:
        stage.world.delete()
    else:
        stage.world.change(abort=True)
    stage.finish()
    assert (stage.judge.residue(), stage.judge.closed()) == ([], [])
    assert stage.judge.records() == []
    assert deleted == (not stage.world.rollouts)
    assert {kubelet for kubelet, _ in stage.versions().values()} <= {OLD, NEW}


# --- what others do meanwhile ---


def _uncordons(node: Machine) -> None:
    node.unschedulable = False


def _strips_the_mark(node: Machine) -> None:
    node.annotations.pop(CORDONED_BY, None)


def _strips_the_order(node: Machine) -> None:
    node.annotations.pop(CHANGES_ALLOWED, None)


def _goes_down(node: Machine) -> None:
    node.ready = False


def _comes_up(node: Machine) -> None:
    node.ready = True


def _drifts(node: Machine) -> None:
    if not node.work:
        node.kubelet, node.packages["kubelet"] = OLD, OLD[1:]


ACTS = (_uncordons, _strips_the_mark, _strips_the_order, _goes_down, _comes_up, _drifts)
acts = st.tuples(scripts, st.sampled_from(ACTS), st.sampled_from(("w-0", "w-1", "cp-0", "cp-1")))


@given(st.lists(acts, min_size=1, max_size=3))
@settings(max_examples=tries(40))
def test_whatever_bystanders_do_the_nodes_get_there(
    done: list[tuple[Script, Callable[[Machine], None], str]],
) -> None:
    stage = Stage(2, 2)
    for script, act, name in done:
        stage.play(script)
        node = stage.node(name)
        if act is not _strips_the_mark or _is_draining(stage, node):
            act(node)
            stage.world.touched(node)
        stage.judge.down_before |= {one.uid for one in stage.world.nodes.values() if not one.ready}
    for node in stage.world.nodes.values():
        _comes_up(node)
        stage.world.touched(node)
    stage.finish()
    stage.world.change(paused=True)
    stage.finish()
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def _is_draining(stage: Stage, node: Machine) -> bool:
    """Whether it is written down that the cordon is ours: before, one without a mark is anybody's."""
    records = stage.world.rollouts["next"].status.nodes
    return any(one.uid == node.uid and one.state.value not in {"Waiting", "Cordoned"} for one in records)


@given(scripts, st.lists(st.sampled_from(("", *WAYS)), min_size=5, max_size=5), st.booleans())
@settings(max_examples=tries(40))
def test_every_node_that_fails_is_given_back_or_quarantined_and_named(
    script: Script, ways: list[str], minor: bool
) -> None:
    stage = Stage(3, 2, minor=minor, max_failures=9)
    nodes = list(stage.world.nodes.values())
    for node, way in zip(nodes, ways, strict=True):
        node.fails = way
    stage.play(script)
    stage.finish()
    held = {one.name for one in stage.told.nodes if one.state in (NodeState.CHANGING, NodeState.QUARANTINED)}
    assert set(stage.judge.closed()) <= held
    for node in nodes:
        node.fails, node.ready = "", True
        stage.world.touched(node)
    stage.finish()
    stage.world.change(paused=True)
    stage.finish()
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


@given(scripts, scripts)
@settings(max_examples=tries(20))
def test_a_node_that_is_replaced_under_its_name_is_taken_up(script: Script, again: Script) -> None:
    stage = Stage(3)
    stage.play(script)
    old = stage.world.nodes["w-1"]
    stage.world.pods = {uid: pod for uid, pod in stage.world.pods.items() if pod.node != "w-1"}
    new = stage.world.add_node("w-1")
    assert new.uid != old.uid
    stage.play(again)
    stage.finish()
    stage.well()


@given(scripts, scripts)
@settings(max_examples=tries(20))
def test_a_node_that_opts_out_is_given_back_and_left_alone(script: Script, again: Script) -> None:
    stage = Stage(3)
    stage.play(script)
    node = stage.world.nodes["w-1"]
    node.annotations[SKIP_ROLLOUT] = "true"
    stage.world.touched(node)
    stage.play(again)
    stage.finish()
    assert stage.judge.residue() == []
    assert stage.judge.closed() == []
    assert stage.judge.records() == ["w-1 Skipped OptedOut"]
    assert stage.phase() is RolloutPhase.COMPLETE


@given(scripts)
@settings(max_examples=tries(20))
def test_a_node_that_was_cordoned_by_hand_stays_so(script: Script) -> None:
    stage = Stage(3)
    stage.world.nodes["w-1"].unschedulable = True
    stage.play(script)
    stage.finish()
    assert stage.judge.closed() == ["w-1"]
    assert stage.judge.residue() == []
    assert stage.phase() is RolloutPhase.COMPLETE
