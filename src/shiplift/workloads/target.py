"""Where workloads are to be: which nodes take part, which version is the target, in which mode.

The target is latched: once a migration has begun, only the user changes it. A lower version is a target like
any other. Versions are compared whole: v1.36.3 and v1.36.3-gke.12 are different. Where a minor is the target
every node of it, or of a newer one, is a target node: clouds have suffixes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, OFF_TARGET_TAINT, TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.api.values import LabelSelector, Version
from shiplift.api.workloads import MigrationState, Mode, WorkloadMigration
from shiplift.engine import versions
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.nodes import CONTROL_PLANE, Node, Taint, is_closed_control_plane
from shiplift.facts.selectors import Selector
from shiplift.workloads.marks import off_target_taint, upgrade_taint
from shiplift.workloads.model import Reason, Role, Target
from shiplift.workloads.steps import MarkNode

OUR_LABELS = (TARGET_LABEL, OFF_TARGET_LABEL)
OR_INJECT = "set spec.mode of WorkloadMigration cluster to Inject, on Kubernetes 1.36 and newer"
OUR_TAINTS = (UPGRADE_TAINT, OFF_TARGET_TAINT)


def in_scope(node: Node, selector: Selector) -> bool:
    """Whether workloads move off or onto that node; control planes that take no pods are left out."""
    if not selector.matches(node.labels):
        return False
    if not is_closed_control_plane(node):
        return True
    asked = {*selector.labels, *(one.key for one in selector.expressions)}
    return not asked.isdisjoint(CONTROL_PLANE)


def role(node: Node, selector: Selector, target: str) -> Role:
    """What a node is to a migration to that target."""
    if not target or not in_scope(node, selector):
        return Role.OUTSIDE
    return Role.TARGET if versions.reaches(node.kubelet_version, target) else Role.OFF


def target_of(
    migration: WorkloadMigration | None, seen: Mapping[str, int], *, inject: bool | str | None
) -> Target:
    """What is to be done, from what the user wants, what was begun, and which versions nodes run.

    `inject` says whether the admission policies are there; None when that is not known, and why where we may
    not look.
    """
    if migration is None:
        return Target()
    if migration.metadata.deletion_timestamp is not None:
        return Target(reason=Reason.DELETED, message="being deleted: workloads stay where they are")
    if migration.spec.abort:
        return Target(reason=Reason.ABORTED, message="aborted: workloads stay where they are")
    try:
        target = _target(migration, seen)
    except versions.VersionError as error:
        return Target(reason=Reason.NO_VERSION_ORDER, message=_no_order(seen, error), stalled=True)
    return _in_mode(migration, target, inject) if target else _nothing_to_move(migration, seen)


def _no_order(seen: Mapping[str, int], error: versions.VersionError) -> str:
    """Which versions cannot be compared, on how many nodes, and the way out."""
    runs = ", ".join(f"{count} on {version!r}" for version, count in list(seen.items())[:5])
    return f"{error}; nodes: {runs}; set spec.target of WorkloadMigration cluster to one of them"


def _target(migration: WorkloadMigration, seen: Mapping[str, int]) -> str:
    begun = migration.status.state is MigrationState.UPGRADE
    latched = versions.goal(migration.status.target or "") if begun else ""
    if migration.spec.target is None:
        return latched or (_fitting(versions.highest(map(versions.parse, seen))) if len(seen) > 1 else "")
    wanted = versions.goal(migration.spec.target)
    left = any(not versions.reaches(version, wanted) for version in seen)
    return wanted if latched == wanted or left else ""


def _fitting(version: versions.Version) -> str:
    """A version that can be written down as the target; those with very long suffixes cannot."""
    text = str(version)
    if not _is_fit(text):
        raise versions.VersionError(f"{text!r} is too long for a target", "name the target version yourself")
    return text


@lru_cache(64)
def _is_fit(text: str) -> bool:
    try:
        msgspec.convert(text, Version)
    except msgspec.ValidationError:
        return False
    return True


def _nothing_to_move(migration: WorkloadMigration, seen: Mapping[str, int]) -> Target:
    """Where no node takes part nobody may take that for the end."""
    if not seen:
        return Target(reason=Reason.NO_NODES, message=_no_nodes(migration), stalled=True)
    return Target(message=f"all nodes in scope run {next(iter(seen))}")


def _no_nodes(migration: WorkloadMigration) -> str:
    """Why no node takes part, and the way out."""
    if migration.spec.node_selector == LabelSelector():
        return "no node is in scope: there is none but control planes that take no pods; add nodes"
    return (
        "no node is in scope: spec.nodeSelector of WorkloadMigration cluster selects none;"
        " correct it, or add nodes that it selects"
    )


def refused(target: Target, migration: WorkloadMigration | None, daemon_sets: tuple[str, ...]) -> Target:
    """The target, unless something speaks against its start: DaemonSets that do not tolerate the taint of
    mode Template. Then nothing is to be moved, and what was done for another target is undone."""
    if migration is None or not daemon_sets or migration.spec.accept_daemon_set_gaps:
        return target
    named = ", ".join(daemon_sets[:5])
    text = (
        f"DaemonSets would get no new pods on the target nodes: {named};"
        " let them tolerate shiplift.dev/upgrade,"
        f" set spec.acceptDaemonSetGaps of WorkloadMigration cluster to true{_or_inject(migration)}"
    )
    return Target(reason=Reason.DAEMON_SETS, message=text, stalled=True)


def _or_inject(migration: WorkloadMigration) -> str:
    """Where nobody has chosen a mode, Template was taken because the other one is not there."""
    return f", or {OR_INJECT}" if migration.spec.mode is Mode.TEMPLATE else ""


def is_begun(migration: WorkloadMigration | None, target: Target) -> bool:
    """Whether target and mode were written down."""
    status = migration.status if migration else None
    return (
        status is not None
        and status.state is MigrationState.UPGRADE
        and status.target == target.version
        and status.mode is target.mode
    )


def _in_mode(migration: WorkloadMigration, target: str, inject: bool | str | None) -> Target:
    status, wanted = migration.status, migration.spec.mode
    if status.state is MigrationState.UPGRADE and status.mode is not None:
        return Target(target, status.mode, Reason.MOVING)
    if wanted is Mode.TEMPLATE:
        return Target(target, Mode.TEMPLATE, Reason.MOVING)
    if not isinstance(inject, bool):
        return _unseen(inject)
    if inject:
        return Target(target, Mode.INJECT, Reason.MOVING)
    if wanted is Mode.AUTO:
        return Target(target, Mode.TEMPLATE, Reason.MOVING)
    return Target(
        reason=Reason.INJECT_UNAVAILABLE,
        message="mode Inject needs admission policies that are not installed;"
        " on Kubernetes 1.36 or newer apply again what installed shiplift (docs/install.md),"
        " or set spec.mode of WorkloadMigration cluster to Template",
        stalled=True,
    )


def _unseen(why: str | None) -> Target:
    """Whether the policies are there is not known; why where that is for an administrator to change."""
    if why is None:
        return Target(reason=Reason.STARTING, message="it is not known yet whether mode Inject can be used")
    text = (
        f"whether mode Inject can be used may not be looked at: {why};"
        " what installed shiplift grants it when it is applied again,"
        " or set spec.mode of WorkloadMigration cluster to Template"
    )
    return Target(reason=Reason.MISSING_RIGHT, message=text, stalled=True)


def marks(node: Node, own: Role, target: Target, *, emptying: bool, tainted: bool) -> MarkNode | None:
    """What has to change on a node so that it carries the marks of its role, and no other of ours."""
    labels = _labels(own, target.version, emptying=emptying)
    taints = _taints(own, target) if tainted else _kept_taints(node, own, target)
    have = {key: node.labels[key] for key in OUR_LABELS if key in node.labels}
    worn = {(one.key, one.value, one.effect) for one in node.taints if one.key in OUR_TAINTS}
    retaint = worn != {(one.key, one.value, one.effect) for one in taints}
    if have == labels and not retaint:
        return None
    return MarkNode(node.name, node.uid, labels, taints, retaint)


@lru_cache(64)
def _labels(own: Role, target: str, *, emptying: bool) -> Labels:
    if own is Role.OUTSIDE:
        return NO_LABELS
    value = label_value(target)
    keys = OUR_LABELS if emptying else (TARGET_LABEL,) if own is Role.TARGET else (OFF_TARGET_LABEL,)
    return Labels((key, value) for key in keys)


def _taints(own: Role, target: Target) -> tuple[Taint, ...]:
    if target.mode is not Mode.TEMPLATE or own is Role.OUTSIDE:
        return ()
    if own is Role.TARGET:
        return (upgrade_taint(target.version),)
    return (off_target_taint(target.version),)


def _kept_taints(node: Node, own: Role, target: Target) -> tuple[Taint, ...]:
    """Before taints are due: those that are right already stay, the others come off."""
    return tuple([one for one in _taints(own, target) if one in node.taints])


def counted(nodes: Iterable[Node], selector: Selector) -> dict[str, int]:
    """How many nodes in scope run each version."""
    seen: dict[str, int] = {}
    for node in nodes:
        if in_scope(node, selector):
            version = versions.normal(node.kubelet_version)
            seen[version] = seen.get(version, 0) + 1
    return dict(sorted(seen.items()))
