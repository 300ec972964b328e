"""Hooks around a node."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.api.marks import SKIP_ROLLOUT
from shiplift.api.nodes import Hooks, NodeState, RolloutPhase
from shiplift.api.values import Hook
from shiplift.nodes.model import HookState, Reason
from shiplift.nodes.steps import Release
from tests.nodes.players import tick
from tests.nodes.stage import Stage, decided
from tests.nodes.world import NEW, OLD


def _hook(name: str) -> Hook:
    return Hook(name=name, namespace="shop", service_account_name="hooks", job={})


def test_hooks_run_around_each_node_and_are_removed() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"), _hook("tell")), after=(_hook("noout"),)))
    stage.finish()
    made = [one for one in stage.judge.steps if one in {"MakeHook", "Cordon", "Release", "DeleteHook"}]
    assert made == ["MakeHook", "MakeHook", "Cordon", "MakeHook", "Release", *["DeleteHook"] * 3]
    stage.well()


def test_a_hook_that_fails_before_a_node_leaves_it_alone() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"),)))
    stage.world.failing_hooks.add("noout")
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, Reason.HOOK_FAILED)
    assert record.message == "hook noout: failed"
    assert stage.judge.cordoned == []


def test_a_hook_that_fails_after_a_node_puts_it_back() -> None:
    stage = Stage(1, hooks=Hooks(after=(_hook("check"),)))
    stage.world.failing_hooks.add("check")
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, Reason.HOOK_FAILED)
    assert stage.node("w-0").kubelet == OLD
    assert stage.judge.closed() == []


def test_a_job_that_somebody_removes_once_it_has_succeeded_is_not_run_again() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"),), after=(_hook("noout"),)))
    for _ in range(60):
        stage.operator.round()
        done = [key for key, job in stage.world.jobs.items() if job.state is HookState.SUCCEEDED]
        if stage.told.nodes and all(key[1] in stage.told.nodes[0].hooks for key in done):
            for key in done:
                del stage.world.jobs[key]
        tick(stage.world, stage.judge.look)
    stage.finish()
    stage.well()
    assert stage.judge.steps.count("MakeHook") == 2


@pytest.mark.parametrize("ends", ["abort", "delete", "opt out"])
def test_a_node_whose_last_hook_cannot_be_begun_is_named_and_given_back_by_whoever_ends_it(ends: str) -> None:
    stage = Stage(1, hooks=Hooks(after=(_hook("check"),)), node_timeout="30s")
    stage.world.lost_namespaces.add("shop")
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.TIMED_OUT, rounds=200)
    assert "namespace shop is not there" in stage.record("w-0").message
    assert (stage.phase(), stage.judge.closed()) == (RolloutPhase.STOPPED, ["w-0"])
    if ends == "abort":
        stage.world.change(abort=True)
    elif ends == "delete":
        stage.world.delete()
    else:
        stage.node("w-0").annotations[SKIP_ROLLOUT] = "true"
        stage.world.touched(stage.node("w-0"))
    stage.finish()
    assert (stage.judge.closed(), stage.judge.residue()) == ([], [])
    assert stage.node("w-0").kubelet == NEW


def test_a_hook_that_can_be_begun_after_all_ends_the_wait() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"),), after=(_hook("check"),)), node_timeout="30s")
    stage.world.lost_namespaces.add("shop")
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.TIMED_OUT, rounds=200)
    assert stage.phase() is RolloutPhase.STOPPED
    stage.world.lost_namespaces.clear()
    stage.finish()
    stage.well()


def test_an_abort_waits_for_the_last_hook_that_runs() -> None:
    stage = Stage(1, hooks=Hooks(after=(_hook("check"),)))
    stage.until(lambda: stage.world.jobs)
    (key,) = stage.world.jobs
    runs = msgspec.structs.replace(stage.world.jobs[key], state=HookState.RUNNING)
    stage.world.change(abort=True)
    assert not [one for one in decided(stage, hooks={key: runs}).steps if isinstance(one, Release)]
    stage.finish()
    assert (stage.judge.closed(), stage.judge.residue()) == ([], [])


def test_what_keeps_a_job_is_told() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"),)))
    stage.until(lambda: stage.world.jobs)
    (key,) = stage.world.jobs
    waits = msgspec.structs.replace(stage.world.jobs[key], state=HookState.RUNNING, message="it is suspended")
    (told,) = decided(stage, hooks={key: waits}).told[0].status.nodes
    assert told.message == "hook noout runs before it is cordoned: it is suspended"


def test_hooks_of_a_node_that_is_not_begun_after_all_run_again_when_it_is() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("pre"),)))
    stage.world.never["w-0"] = "pod shop/bare: nobody brings it back"
    stage.finish()
    assert (stage.judge.cordoned, stage.judge.residue("none")) == ([], [])
    stage.world.never.clear()
    stage.finish()
    stage.well()
    assert stage.judge.steps.count("MakeHook") == 2
