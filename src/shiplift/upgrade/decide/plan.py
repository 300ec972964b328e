"""The plan of an upgrade: its steps in words, and the digest that an approval is bound to.

The digest is of what would be done (path, steps, settings) and never of how many nodes or pods there are, nor
of how far the upgrade is. So an approval, a pause or a retry leaves it as it is, and a setting that changes
what is done does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from shiplift.api.nodes import NodePolicy, OnBlockedDrain
from shiplift.api.upgrade import UpgradeConfigSpec, UpgradeType
from shiplift.upgrade.model import Stage
from shiplift.upgrade.names import CONTROL_PLANE, WORKERS, rollout_name


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


def plan_of(spec: UpgradeConfigSpec, target: str, path: tuple[str, ...]) -> Planned:
    """The same for the same wishes, at every moment of the upgrade."""
    steps = tuple(_steps(spec, target, path))
    return Planned(target, path, steps, _digest(spec, target, path, steps))


def node_policy(spec: UpgradeConfigSpec) -> NodePolicy:
    """How nodes are changed: the strategy, with the original's one field for drains in its place."""
    minutes, policy = spec.pdb_force_drain_timeout, spec.strategy.nodes
    if minutes is None:
        return policy
    return msgspec.structs.replace(policy, drain_timeout=f"{minutes}m", on_blocked=OnBlockedDrain.FORCE)


def _steps(spec: UpgradeConfigSpec, target: str, path: tuple[str, ...]) -> Iterator[PlannedStep]:
    policy = node_policy(spec)
    if spec.type is UpgradeType.EXTERNAL:
        yield from _by_others(target, path)
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
    yield PlannedStep(
        Stage.WORKLOADS, f"workloads to nodes of {target}, in their order (WorkloadMigration cluster)"
    )


def _by_others(target: str, path: tuple[str, ...]) -> Iterator[PlannedStep]:
    """Somebody else changes control plane and nodes; workloads are ours."""
    if path:
        yield PlannedStep(Stage.CONTROL_PLANE, f"control plane to {target}, by somebody else")
    yield PlannedStep(Stage.NODES, f"nodes to {target}, by somebody else, pool by pool")
    yield PlannedStep(
        Stage.WORKLOADS, f"workloads to nodes of {target}, in their order (WorkloadMigration cluster)"
    )


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
