"""What must hold at every moment of a run, judged from the objects alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.crash.facts import kind, terminating
from tests.crash.operators import facts
from tests.crash.operators.scenarios import SPACE, Scenario
from tests.crash.recorder import Change, Key, State, Trace, moments

Json = dict[str, Any]
_STAYS = ("CustomResourceDefinition",)


def broken(scenario: Scenario, trace: Trace) -> list[str]:
    """Each thing once, however often it was so."""
    found: dict[str, None] = {}
    before = dict(trace.start)
    for change, state in moments(trace):
        for line in _broken(scenario, change, before, state):
            found[line] = None
        before = dict(state)
    return list(found)


def _broken(scenario: Scenario, change: Change, before: State, state: State) -> Iterator[str]:
    if change.gone:
        yield from _lost(scenario, change, before)
    else:
        yield from _owners(change, state)
    if change.key.kind == "OperatorVersion":
        yield from _versions(change, before, state)
    if _is_of_nets(change) and not any("boats" in key.name for key in state if key.kind in _STAYS):
        yield f"{change.key} is there without what it requires"
    if not scenario.overlaps and change.key.kind == "Deployment":
        yield from _both_act(state)


def _is_of_nets(change: Change) -> bool:
    """Something that is installed of the operator that requires another's definition."""
    ours = change.key.kind not in ("AppType", "OperatorVersion", "Pod")
    return ours and change.key.namespace == SPACE and change.key.name.startswith("nets")


def _owners(change: Change, state: State) -> Iterator[str]:
    """Never without an owner, never with two that control it, never an owner that is deadly."""
    references = change.object["metadata"].get("ownerReferences") or []
    ours = [one for one in references if one["kind"] == "OperatorVersion"]
    if sum(bool(one.get("controller")) for one in references) > 1:
        yield f"{change.key} has two controllers"
    if ours and change.key.namespace != SPACE:
        yield f"{change.key} has an owner in another namespace"
    staying = {one["metadata"]["uid"] for one in kind(state, "OperatorVersion") if not terminating(one)}
    marked = facts.owner_uid(change.object) in staying and not terminating(change.object)
    if marked and change.key.namespace == SPACE and not ours:
        yield f"{change.key} belongs to a version and has no owner"


def _lost(scenario: Scenario, change: Change, before: State) -> Iterator[str]:
    if change.key.kind in _STAYS and "harbour.example" in change.key.name:
        yield f"{change.key} was deleted"
    keeps = not any(act.delete for act in scenario.acts)
    if change.key == Key("ConfigMap", SPACE, "settings"):
        yield f"{change.key} was deleted, and somebody used it"
    if change.key == Key("Deployment", SPACE, "boats") and keeps and scenario.overlaps:
        yield f"{change.key} was deleted, though the next version has it too"
    if change.key.kind == "OperatorVersion":
        uid = change.object["metadata"]["uid"]
        left = [str(key) for key, one in facts.owned(before) if facts.owner_uid(one) == uid]
        if left:
            yield f"{change.key} went while {left[0]} belonged to it"


def _versions(change: Change, before: State, state: State) -> Iterator[str]:
    """At most two of an AppType, and none that somebody has vetoed or whose turn it is not."""
    name = change.object["spec"]["appType"]
    there = facts.versions(state, name)
    if len([one for one in there if not terminating(one)]) > 2:
        yield f"AppType {name} has more than two versions at once"
    if change.key in before or change.gone:
        return
    vetoed = [
        one
        for one in facts.versions(before, name)
        if facts.condition(one, "Upgradeable").get("status") == "False"
    ]
    if vetoed:
        yield f"{change.key} was made though {vetoed[0]['metadata']['name']} must not be replaced"
    for one in kind(before, "UpgradeConfig"):
        done = facts.condition(one, "ControlPlaneUpgraded").get("status") == "True"
        if facts.status(one).get("targetVersion") and not done:
            yield f"{change.key} was made while the control plane was upgraded"


def _both_act(state: State) -> Iterator[str]:
    running = [
        one["metadata"]["name"]
        for one in kind(state, "Deployment")
        if one["metadata"]["namespace"] == SPACE and facts.status(one).get("replicas")
    ]
    if len(running) > 1:
        yield f"Deployments {' and '.join(sorted(running))} run at once"
