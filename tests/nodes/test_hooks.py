"""Hooks around a node."""

from __future__ import annotations

from shiplift.api.nodes import Hooks, NodeState
from shiplift.api.values import Hook
from shiplift.nodes.model import Reason
from tests.nodes.stage import Stage
from tests.nodes.world import OLD


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
