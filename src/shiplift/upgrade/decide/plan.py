"""The plan of an upgrade: its steps in words, and the digest that an approval is bound to.

The digest is of what would be done (path, steps, settings) and never of how many nodes or pods there are, nor
of how far the upgrade is. So an approval, a pause or a retry leaves it as it is, and a setting that changes
what is done does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from shiplift.api.nodes import NodePolicy, OnBlockedDrain
from shiplift.api.upgrade import UpgradeConfigSpec, UpgradeType
from shiplift.api.workloads import Mode
from shiplift.engine.versions import parse
from shiplift.facts.kinds import APP_TYPE, QUORUM_SERVICE
from shiplift.upgrade.model import Later, Stage
from shiplift.upgrade.names import CONTROL_PLANE, WORKERS, rollout_name

_KNOWS_INJECT = 36
_INSTALLS = "what installed shiplift (`helm upgrade`, or `shiplift manifests`)"


class PlannedStep(msgspec.Struct, frozen=True):
    """One step in words."""

    stage: Stage
    text: str


class Planned(msgspec.Struct, frozen=True):
    """What is going to happen."""

    version: str
    path: tuple[str, ...]
    steps: tuple[PlannedStep, ...]
    digest: str

    @property
    def summary(self) -> str:
        return "; ".join(one.text for one in self.steps)


def plan_of(
    spec: UpgradeConfigSpec,
    target: str,
    path: tuple[str, ...],
    later: Sequence[Later] = (),
    preceding: str = "",
) -> Planned:
    """The same for the same wishes, at every moment of the upgrade; `later` is what comes after the
    workloads, in its order."""
    steps = (*_steps(spec, target, path, preceding), *_later(later))
    return Planned(target, path, steps, _digest(spec, target, path, steps))


def node_policy(spec: UpgradeConfigSpec) -> NodePolicy:
    """How nodes are changed: the strategy, with the original's one field for drains in its place."""
    minutes, policy = spec.pdb_force_drain_timeout, spec.strategy.nodes
    if minutes is None:
        return policy
    return msgspec.structs.replace(policy, drain_timeout=f"{minutes}m", on_blocked=OnBlockedDrain.FORCE)


def _steps(
    spec: UpgradeConfigSpec, target: str, path: tuple[str, ...], preceding: str
) -> Iterator[PlannedStep]:
    policy = node_policy(spec)
    if spec.type is UpgradeType.EXTERNAL:
        yield from _by_others(target, path)
        yield _workloads(spec, target, preceding)
        return
    if spec.type is UpgradeType.OPENSHIFT:
        channel = f", from channel {spec.desired.channel}" if spec.desired.channel else ""
        text = (
            f"control plane and nodes to {target.removeprefix('v')}{channel}, by the cluster-version operator"
        )
        yield PlannedStep(Stage.CONTROL_PLANE, text)
        return
    if path:
        name = rollout_name(target, CONTROL_PLANE)
        yield PlannedStep(
            Stage.CONTROL_PLANE,
            f"control plane to {' then '.join(path)}, one node at a time (NodeRollout {name})",
        )
    yield PlannedStep(
        Stage.NODES,
        f"nodes to {target}, at most {policy.max_unavailable} unavailable, {_blocked(policy)}"
        f" (NodeRollout {rollout_name(target, WORKERS)})",
    )
    yield _workloads(spec, target, preceding)


def _by_others(target: str, path: tuple[str, ...]) -> Iterator[PlannedStep]:
    """Somebody else changes control plane and nodes; workloads are ours."""
    if path:
        yield PlannedStep(Stage.CONTROL_PLANE, f"control plane to {target}, by somebody else")
    yield PlannedStep(Stage.NODES, f"nodes to {target}, by somebody else, pool by pool")


def _workloads(spec: UpgradeConfigSpec, target: str, preceding: str) -> PlannedStep:
    text = f"workloads to nodes of {target}, in their order (WorkloadMigration cluster)"
    if _comes_to_inject(target, preceding) and spec.strategy.workloads.mode is not Mode.TEMPLATE:
        text += f", in mode Inject where {_INSTALLS} is applied again once the control plane is upgraded"
        granted = ", else in mode Template, where that is granted"
        text += granted if spec.strategy.workloads.mode is Mode.AUTO else ""
    return PlannedStep(Stage.WORKLOADS, text)


def _comes_to_inject(target: str, preceding: str) -> bool:
    """Whether the control plane is brought from a minor that does not know the policies of mode Inject to
    one that does."""
    if not preceding:
        return False
    before, after = parse(preceding), parse(target)
    return before.major == after.major == 1 and before.minor < _KNOWS_INJECT <= after.minor


def _later(later: Sequence[Later]) -> Iterator[PlannedStep]:
    for stage, kind in ((Stage.SERVICES, QUORUM_SERVICE), (Stage.OPERATORS, APP_TYPE)):
        if wishes := [f"{one.id} to {one.wants}" for one in later if one.kind == kind and one.wants]:
            yield PlannedStep(stage, f"then {'; '.join(wishes)}")


def _blocked(policy: NodePolicy) -> str:
    after = policy.drain_timeout or "30m"
    match policy.on_blocked or OnBlockedDrain.WAIT:
        case OnBlockedDrain.FORCE:
            return f"after {after} of a drain budgets are ignored"
        case OnBlockedDrain.QUARANTINE:
            return f"a node that is not empty after {after} is left out"
        case OnBlockedDrain.STOP:
            return f"it stops where a node is not empty after {after}"
        case _:
            return "budgets are waited for"


def _digest(
    spec: UpgradeConfigSpec, target: str, path: tuple[str, ...], steps: tuple[PlannedStep, ...]
) -> str:
    done: dict[str, Any] = {
        "type": spec.type,
        "version": target,
        "path": path,
        "steps": [one.text for one in steps],
        "nodes": node_policy(spec),
        "workloads": spec.strategy.workloads,
        "capacityReservation": spec.capacity_reservation,
    }
    text = msgspec.json.encode(done, order="deterministic")
    return f"sha256:{hashlib.sha256(text).hexdigest()}"
