"""Preflight: what has to be mended before an upgrade starts, each check a pure function with a stable code.

A Blocker keeps the upgrade from starting; a Warning is told and keeps nothing. More checks go into `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.api.nodes import NodePolicy, OnBlockedDrain
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import Finding, Severity
from shiplift.api.workloads import WorkloadMigration, WorkloadPolicy
from shiplift.engine.versions import KUBELET_MAY_LAG, Order, Version, VersionError, kubelet_fits, parse
from shiplift.facts.nodes import CONTROL_PLANE as ROLES
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.decide.plan import node_policy
from shiplift.upgrade.names import MIGRATION

Check = Callable[[Course], Finding | None]
_MOST_OBJECTS = 32
_NAMED = 3
_LEAVE_OUT = "or leave them out with node.shiplift.dev/skip-rollout: true"


def findings(course: Course) -> tuple[Finding, ...]:
    """What the checks found, the worst first."""
    found = [one for check in CHECKS if (one := check(course)) is not None]
    order = tuple(Severity)
    return tuple(sorted(found, key=lambda one: order.index(one.severity)))


def blockers(found: Sequence[Finding]) -> list[Finding]:
    return [one for one in found if one.severity is Severity.BLOCKER]


def _skew(course: Course) -> Finding | None:
    """A kubelet that stays behind must not be too far behind what comes, nor ahead of what there is."""
    if course.openshift:
        return None
    server = parse(course.target)
    if (runs := parse(course.preceding)).line > server.line:
        server = runs
    behind = [one for one in course.view.machines if not _fits(one.kubelet, server)]
    if not behind:
        return None
    names = [f"node {one.name} ({one.kubelet})" for one in behind]
    return Finding(
        code="SKEW",
        severity=Severity.BLOCKER,
        message=f"kubelets would be more than {KUBELET_MAY_LAG} minors behind an API server of {server},"
        f" or ahead of it: {_listed(names)}",
        hint=f"bring these nodes to v{server.major}.{max(server.minor - KUBELET_MAY_LAG, 0)} or newer first",
        objects=tuple(names[:_MOST_OBJECTS]),
    )


def _fits(kubelet: str, server: Version) -> bool:
    try:
        return kubelet_fits(parse(kubelet), server)
    except VersionError:
        return False


def _upgradeable(course: Course) -> Finding | None:
    """What OpenShift's own operators say against another minor, in their words."""
    found = course.view.cluster_version
    same_minor = course.preceding and parse(course.target).line == parse(course.preceding).line
    if found is None or not found.not_upgradeable or same_minor:
        return None
    return Finding(
        code="UPGRADEABLE",
        severity=Severity.BLOCKER,
        message=f"ClusterVersion version is not upgradeable to another minor: {found.not_upgradeable}",
        hint="do what it says; within the minor it goes on",
        objects=("ClusterVersion version",),
    )


def _pools(course: Course) -> Finding | None:
    """Whoever pauses a pool has a reason; that its machines stay behind is told."""
    paused = [one.id for one in course.view.config_pools if one.paused]
    if not paused:
        return None
    return Finding(
        code="POOLS",
        severity=Severity.WARNING,
        message=f"machines of pools that are paused stay as they are: {_listed(paused)}",
        hint="set spec.paused of each to false to bring them along",
        objects=tuple(paused[:_MOST_OBJECTS]),
    )


def _not_ready(course: Course) -> Finding | None:
    down = [f"node {one.name}" for one in course.takes_part if not one.ready]
    if not down:
        return None
    return Finding(
        code="NODESNOTREADY",
        severity=Severity.WARNING if course.external else Severity.BLOCKER,
        message=f"nodes that take part are not Ready: {_listed(down)}",
        hint=f"repair them, {_LEAVE_OUT}",
        objects=tuple(down[:_MOST_OBJECTS]),
    )


def _roles(course: Course) -> Finding | None:
    """Which part of the cluster a node is of is chosen by its labels; the old one alone is of none."""
    if course.external or course.openshift:
        return None
    nobodys = [f"node {one.name}" for one in course.behind if one.only_master]
    if not nobodys:
        return None
    return Finding(
        code="ROLES",
        severity=Severity.BLOCKER,
        message=f"nodes have the label {ROLES[1]} and not {ROLES[0]}, so that no NodeRollout chooses them:"
        f" {_listed(nobodys)}",
        hint=f"give each {ROLES[0]} too, or neither where it is a worker, {_LEAVE_OUT}",
        objects=tuple(nobodys[:_MOST_OBJECTS]),
    )


def _agents(course: Course) -> Finding | None:
    """Where our own layers change nodes, only an agent on each can."""
    if course.external or course.openshift:
        return None
    silent = [f"node {one.name}" for one in course.takes_part if not one.agent]
    if not silent:
        return None
    return Finding(
        code="AGENTS",
        severity=Severity.WARNING,
        message=f"no agent has spoken on nodes that take part, and they are not changed before:"
        f" {_listed(silent)}",
        hint=f"install the agent there (docs/agent.md), {_LEAVE_OUT}",
        objects=tuple(silent[:_MOST_OBJECTS]),
    )


def _budgets(course: Course) -> Finding | None:
    never = course.view.never_allowed
    if not never:
        return None
    ours = not course.external and not course.openshift
    forced = ours and node_policy(course.spec).on_blocked is OnBlockedDrain.FORCE
    return Finding(
        code="BUDGETS",
        severity=Severity.WARNING if forced else Severity.BLOCKER,
        message=f"PodDisruptionBudgets keep nodes from ever being empty: {_listed(never, '; ')}",
        hint="let each allow one pod to be away, or add replicas",
        objects=tuple(one[:256] for one in never[:_MOST_OBJECTS]),
    )


def _operators(course: Course) -> Finding | None:
    """An operator that says up to which Kubernetes it runs is brought to a version that runs on the next."""
    target = _kubernetes(course)
    if target is None:
        return None
    blocking = [one for one in course.view.operators if _ends_before(one, target)]
    if not blocking:
        return None
    names = [f"OperatorVersion {one.metadata.namespace}/{one.metadata.name}" for one in blocking]
    most = blocking[0].spec.max_kubernetes_version
    return Finding(
        code="OPERATORS",
        severity=Severity.BLOCKER,
        message=f"operators do not run on {target}: {_listed(names)}; the first ends with {most}",
        hint="upgrade them first: shiplift status says what each waits for",
        objects=tuple(one[:256] for one in names[:_MOST_OBJECTS]),
    )


def _kubernetes(course: Course) -> Version | None:
    """The Kubernetes that comes. Of OpenShift a release does not say it: kubelets do what runs now, and each
    minor of a release brings the next one. None where nobody says it."""
    target = parse(course.target)
    if not course.openshift:
        return target
    lines = [found.line for one in course.view.machines if (found := _version(one.kubelet)) is not None]
    if not lines:
        return None
    major, minor = max(lines)
    comes = minor + max(target.minor - parse(course.preceding).minor, 0)
    return parse(f"v{major}.{comes}")


def _version(said: str) -> Version | None:
    try:
        return parse(said)
    except VersionError:
        return None


def _ends_before(one: OperatorVersion, target: Version) -> bool:
    """A limit that cannot be read is one: unknown is not fine."""
    most = one.spec.max_kubernetes_version
    if most is None:
        return False
    try:
        return parse(most).compare(target) in (Order.LOWER, Order.NONE)
    except VersionError:
        return True


def _quorum(course: Course) -> Finding | None:
    """A swap that is half way is finished first: its servers must stay where they are."""
    under_way = [one.id for one in course.view.services if one.under_way]
    if not under_way:
        return None
    return Finding(
        code="QUORUM",
        severity=Severity.BLOCKER,
        message=f"the binary of a quorum service is being swapped: {_listed(under_way)}",
        hint="it is finished first: shiplift status says what it waits for",
        objects=tuple(one[:256] for one in under_way[:_MOST_OBJECTS]),
    )


def _capacity(course: Course) -> Finding | None:
    if not course.spec.capacity_reservation:
        return None
    return Finding(
        code="CAPACITY",
        severity=Severity.WARNING,
        message="spec.capacityReservation of UpgradeConfig cluster is passed over: no pool of ours grows",
        hint="add a node to each pool yourself where pods need the room",
    )


def _no_effect(course: Course) -> Finding | None:
    """What is asked for, and nobody does where somebody else changes the nodes."""
    fields = [field for field, given in _passed_over(course) if given]
    if not fields:
        return None
    who = "the cluster-version operator" if course.openshift else "somebody else"
    return Finding(
        code="NOEFFECT",
        severity=Severity.WARNING,
        message=f"UpgradeConfig cluster has fields without effect where {who} changes the nodes:"
        f" {_listed([f'spec.{field}' for field in fields])}",
        hint=f"take them out{_there(course)}; type {course.spec.type} knows nothing of them",
        objects=("UpgradeConfig cluster",),
    )


def _there(course: Course) -> str:
    """Where a field is taken out that a provider of policies would put back."""
    provider = course.upgrade.metadata.labels.get(PROVIDER_LABEL)
    if provider is None or course.spec.pdb_force_drain_timeout is None:
        return ""
    return f" (PDBForceDrainTimeout comes from provider {provider}, and may stay)"


def _passed_over(course: Course) -> Iterator[tuple[str, bool]]:
    spec = course.spec
    if not course.external and not course.openshift:
        return
    yield "PDBForceDrainTimeout", spec.pdb_force_drain_timeout is not None
    yield "strategy.nodes", spec.strategy.nodes != NodePolicy()
    moves_none = course.openshift and spec.strategy.workloads != WorkloadPolicy()
    yield "strategy.workloads", moves_none


def _migration(course: Course) -> Finding | None:
    migration = course.view.migration
    if migration is None or not is_given_up(migration):
        return None
    return Finding(
        code="MIGRATION",
        severity=Severity.BLOCKER,
        message=f"WorkloadMigration {MIGRATION} is aborted or being deleted: workloads would not be moved",
        hint=f"kubectl delete workloadmigration {MIGRATION}; a new one is made for the upgrade",
        objects=(f"WorkloadMigration {MIGRATION}",),
    )


def is_given_up(migration: WorkloadMigration) -> bool:
    return migration.spec.abort or migration.metadata.deletion_timestamp is not None


def _listed(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


CHECKS: tuple[Check, ...] = (
    _skew,
    _upgradeable,
    _pools,
    _roles,
    _not_ready,
    _agents,
    _budgets,
    _migration,
    _operators,
    _quorum,
    _capacity,
    _no_effect,
)
