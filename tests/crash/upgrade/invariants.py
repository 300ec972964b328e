"""What must be true at every moment of a run, found by going through its trace change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.api.marks import UPGRADE_LEDGER, UPGRADE_UID
from shiplift.engine.versions import parse
from shiplift.upgrade.names import FINALIZER
from tests.crash.facts import Json, kind, labels, notes
from tests.crash.nodes import facts as nodes
from tests.crash.recorder import Change, Key, State, Trace, moments
from tests.crash.upgrade import facts
from tests.crash.upgrade.scenarios import PATIENT, WORKERS, HalfWay, Scenario

Rule = Callable[[Scenario, Change, State], Iterator[str]]


def broken(scenario: Scenario, trace: Trace) -> list[str]:
    """Each rule that did not hold, at the first moment at which it did not."""
    found: dict[str, str] = {}
    for change, state in moments(trace):
        for line in (line for rule in _RULES for line in rule(scenario, change, state)):
            found.setdefault(line, f"{line}, at version {change.version}")
    return [*found.values(), *_of_the_whole(scenario, trace)]


def _begun_unstored(_: Scenario, change: Change, state: State) -> Iterator[str]:
    """Something of an upgrade is there before it is stored where it goes."""
    if change.gone or not _is_made(change):
        return
    upgrade = facts.upgrade(state)
    if not upgrade:
        return
    if "startTime" not in facts.status(state):
        yield f"{change.key.kind} was there before the start was stored"
    if FINALIZER not in upgrade["metadata"].get("finalizers", []):
        yield f"{change.key.kind} was there without a finalizer on the UpgradeConfig"


def _is_made(change: Change) -> bool:
    return change.key.kind in ("NodeRollout", "WorkloadMigration") and UPGRADE_UID in labels(change.object)


def _out_of_order(_: Scenario, change: Change, state: State) -> Iterator[str]:
    """A worker is changed before the control plane, or before workloads know where to go."""
    if change.key.kind != "NodeRollout" or change.gone or not change.key.name.endswith("workers"):
        return
    version = change.object["spec"]["version"]
    planes = [nodes.version(one) for one in kind(state, "Node") if nodes.is_control_plane(one)]
    if any(one != version for one in planes) and "startTime" not in (change.object.get("status") or {}):
        yield "workers were begun before the control plane was upgraded"


def _held_by_paused(scenario: Scenario, change: Change, _: State) -> Iterator[str]:
    """What is a user's own is never written."""
    if change.gone or change.key.kind not in ("NodeRollout", "WorkloadMigration"):
        return
    if change.object["spec"].get("paused"):
        yield f"paused of {change.key} was written"
    if change.key.kind == "WorkloadMigration" and scenario.migration is not None:
        before = {key: value for key, value in change.object["spec"].items() if key in scenario.migration}
        if not _same(before, scenario.migration):
            yield "a field of the user's migration was changed besides its target"


def _same(found: Json, wanted: Json) -> bool:
    """The server adds defaults: what was asked for is there."""
    return all(
        _same(found.get(key, {}), value) if isinstance(value, dict) else found.get(key) == value
        for key, value in wanted.items()
    )


def _unrecorded(scenario: Scenario, change: Change, _: State) -> Iterator[str]:
    """A target of ours on a user's migration is there with the record of the one from before."""
    if change.key.kind != "WorkloadMigration" or change.gone or scenario.migration is None:
        return
    if "target" in change.object["spec"] and UPGRADE_LEDGER not in notes(change.object):
        yield "the user's migration had our target, and nothing said what it had before"


def _thawed(_: Scenario, change: Change, state: State) -> Iterator[str]:
    """Rollouts of one upgrade go where it goes."""
    if change.key.kind != "NodeRollout" or change.gone:
        return
    frozen, version = facts.status(state).get("targetVersion"), change.object["spec"]["version"]
    goes = "deletionTimestamp" in change.object["metadata"]
    if frozen and version != frozen and not goes:
        yield f"a NodeRollout went to {version} in an upgrade to {frozen}"


_RULES: tuple[Rule, ...] = (_begun_unstored, _out_of_order, _held_by_paused, _unrecorded, _thawed)


def _of_the_whole(scenario: Scenario, trace: Trace) -> Iterator[str]:
    starts = [
        (change.object.get("status") or {}).get("startTime")
        for change in trace.changes
        if change.key.kind == "UpgradeConfig" and not change.gone
    ]
    began = len({one for one in starts if one})
    most = 2 if scenario.half_way is HalfWay.ANOTHER else 1
    if began > most:
        yield f"the upgrade started {began} times"
    if scenario.half_way is HalfWay.STRATEGY and not any(_is_patient(one) for one in trace.changes):
        yield "the strategy was changed half-way, and the NodeRollout of the workers kept the one from before"
    end = trace.end()
    if not scenario.interrupted and facts.versions(end) != {scenario.version}:
        yield f"nodes run {sorted(facts.versions(end))} at the end"
    planes = [nodes.version(one) for one in kind(end, "Node") if nodes.is_control_plane(one)]
    if len({parse(one) for one in planes}) > 1:
        yield "the control plane is left half way"


def _is_patient(change: Change) -> bool:
    """Whether it is the NodeRollout of the workers with the strategy that a user changed to."""
    is_of_workers = change.key == Key("NodeRollout", "", WORKERS) and not change.gone
    return is_of_workers and _same(change.object["spec"], PATIENT["nodes"])
