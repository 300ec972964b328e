"""The path is shown, the nodes are prepared, and passes follow each other."""

from __future__ import annotations

from shiplift.api.nodes import NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Software
from shiplift.nodes.decide import undone
from shiplift.nodes.model import Reason
from tests.nodes.players import tick
from tests.nodes.stage import Stage, decided
from tests.nodes.world import NEW, OLD


def test_path_and_finalizer_are_there_before_anything_is_done() -> None:
    stage = Stage(1, 1, minor=True)
    first = decided(stage)
    assert first.describe() == ("put our finalizer on NodeRollout next",)
    assert first.told[0].status.path == ("v1.37.1",)
    assert first.told[0].status.running_pass is None
    stage.until(lambda: stage.told.running_pass is RolloutPass.PREPARE)
    assert stage.judge.steps == ["SetFinalizer"]


def test_passes_follow_each_other_and_are_told_before_their_first_node() -> None:
    stage = Stage(2, 2)
    passes: list[RolloutPass | None] = []
    for _ in range(400):
        stage.operator.round()
        if stage.told.running_pass not in passes[-1:]:
            passes.append(stage.told.running_pass)
        tick(stage.world, stage.judge.look)
        if stage.phase() is RolloutPhase.COMPLETE:
            break
    assert passes == [
        None,
        RolloutPass.PREPARE,
        RolloutPass.CONTROL_PLANE,
        RolloutPass.CONTROL_PLANE_KUBELETS,
        RolloutPass.WORKERS,
        RolloutPass.DONE,
    ]
    assert stage.judge.ordered == [
        "UpgradeApply cp-0",
        "UpgradeNode cp-1",
        "Packages cp-0",
        "Packages cp-1",
        "Packages w-0",
        "Packages w-1",
    ]
    snapshot = stage.told.snapshot
    assert snapshot is not None
    assert (snapshot.machine, snapshot.path) == ("cp-0", "/var/lib/etcd.db")
    assert stage.told.complete_time is not None
    assert stage.told.path == (NEW,), "the whole path, as it was shown before the start"


def test_several_packages_are_one_order_and_need_no_version_of_kubernetes() -> None:
    wanted = (Software(name="containerd", version="1.7.24"), Software(name="runc", version="1.2.1"))
    stage = Stage(2, 1)
    stage.world.rollouts.clear()
    stage.world.roll_out(version=None, software=wanted)
    stage.finish()
    assert stage.judge.ordered == ["Packages cp-0", "Packages w-0", "Packages w-1"]
    for node in stage.world.nodes.values():
        assert (node.packages["containerd"], node.packages["runc"], node.kubelet) == ("1.7.24", "1.2.1", OLD)
    assert (stage.phase(), stage.judge.residue()) == (RolloutPhase.COMPLETE, [])


def test_a_node_that_joins_late_or_drifts_is_taken_up() -> None:
    stage = Stage(2)
    stage.finish()
    stage.well()
    stage.world.add_node("w-9")
    stage.node("w-0").kubelet = OLD
    stage.finish()
    stage.well()
    assert stage.judge.cordoned == ["w-0", "w-1", "w-0", "w-9"]


def test_etcd_is_copied_only_once_it_is_told_that_every_node_is_prepared() -> None:
    stage = Stage(1, 1)
    stage.until(lambda: "every node is prepared" in stage.told.message)
    assert stage.told.running_pass is RolloutPass.CONTROL_PLANE
    orders = stage.judge.steps.count("Allow")
    assert orders == 2, "one Prepare each"


def test_a_node_that_somebody_keeps_changing_back_is_left_to_somebody() -> None:
    stage = Stage(2, max_failures=2)
    stage.finish()
    for _ in range(undone.MOST_AGAIN):
        _change_back(stage)
        stage.well()
    cordons = stage.judge.cordoned.count("w-0")
    _change_back(stage)
    assert stage.judge.cordoned.count("w-0") == cordons == undone.MOST_AGAIN + 1, "it is drained no more"
    assert stage.record("w-0").reason == Reason.CONTESTED
    assert "was changed 6 times and has kubelet v1.36.2 again" in stage.record("w-0").message
    stage.world.change(paused=True)
    stage.until(lambda: stage.record("w-0").state is NodeState.WAITING)
    stage.world.change(paused=False)
    stage.finish()
    stage.well()
    assert stage.judge.cordoned.count("w-0") == cordons + 1, "somebody has looked: it is tried once more"


def _change_back(stage: Stage) -> None:
    node = stage.node("w-0")
    node.kubelet, node.packages["kubelet"] = OLD, OLD.removeprefix("v")
    stage.world.touched(node)
    stage.finish()
