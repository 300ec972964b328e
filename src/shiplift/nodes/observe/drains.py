"""What is left to do before a node is empty: the pure part of the package `drain`, asked about one node of a
snapshot. Pods that the layer `workloads` holds or moves are not evicted here, and none of a StatefulSet whose
binary a quorum service swaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import NodeRolloutSpec, NodeState, NodeStatus
from shiplift.api.placements import Turn
from shiplift.api.values import duration
from shiplift.drain.blocking import Refusal, is_free
from shiplift.drain.filters import Around, judge_all, of_daemon_set
from shiplift.drain.holds import MIGRATION, by_quorum
from shiplift.drain.model import Hold, Judgement, Presence, Settings, Wait, Why
from shiplift.drain.own import ALONE, Own
from shiplift.drain.plan import Plan, Scene, blockers, plan, spending
from shiplift.drain.volumes import Volume, attached, claims_that_stay
from shiplift.engine.barrier import Gone
from shiplift.engine.retries import pause
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import POD
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from shiplift.facts.workloads import DaemonSet, PodDisruptionBudget, StatefulSet
from shiplift.kube.store import Snapshot
from shiplift.nodes.model import Drain, Evictable, Noted
from shiplift.nodes.observe.holding import Moving

_EVICT, _FORCE = "evict ", "force "
"""How the keys of steps that end a pod begin; its uid follows."""
_BY_BUDGET = (
    Why.TWO_BUDGETS,
    Why.BUDGET_NOT_COUNTED,
    Why.NEVER_EVICTABLE,
    Why.BUDGET_EXHAUSTED,
)
"""What only a budget keeps: not who waits for others that it lets go, and not whom a webhook keeps."""
DRAINED = (NodeState.CORDONED, NodeState.DRAINING)
"""The states in which pods of a node are evicted."""
IN_FLIGHT = (*DRAINED, NodeState.WAITING, NodeState.CHANGING, NodeState.REVERTING, NodeState.VERIFYING)
"""The states in which it matters which pods a node has."""
_MOVED = Hold(MIGRATION.by, "it is being moved", "it goes when there is room for it on a node of the target")


class Asked(NamedTuple):
    """One node that is drained, and for what."""

    node: Node
    record: NodeStatus
    spec: NodeRolloutSpec
    cordoned: datetime | None = None
    """When this operator has cordoned it, where it has."""


class Drains:
    """Tells of nodes in one snapshot, at one moment.

    `is_gone` asks the API server whether the DaemonSet of a pod is gone; `own` are the operator's own pods,
    where it has some; `is_operator` knows pods of any operator of ours by their marks.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        outcomes: Outcomes,
        moving: Moving | None,
        now: datetime,
        is_gone: Callable[[Pod], bool | None],
        own: Own,
        is_operator: Callable[[Pod], bool],
    ) -> None:
        self._snapshot, self._moving, self._now = snapshot, moving, now
        self._is_gone, self._own, self._is_operator = is_gone, own, is_operator
        self.evicting = being_evicted(outcomes)
        """Pods, by uid, that are being evicted."""
        self._refusals = dict(_refusals(outcomes))
        self._taken: Counter[str] = Counter()
        """What the nodes that were asked about so far take of budgets."""
        self._noted: set[str] = set()
        """Pods, by uid, that budgets have to forget, of nodes that were asked about so far."""

    @cached_property
    def _budgets(self) -> dict[str, list[PodDisruptionBudget]]:
        """By namespace."""
        found: dict[str, list[PodDisruptionBudget]] = {}
        for row in self._snapshot.all(PodDisruptionBudget):
            found.setdefault(row.namespace, []).append(row)
        return found

    @cached_property
    def _leaving(self) -> list[tuple[str, str]]:
        """What evictions that are under way take of budgets, by node."""
        return [
            (pod.node, budgets[0].uid)
            for uid in self.evicting
            if (pod := self._snapshot.by_uid(Pod, uid)) is not None
            and len(budgets := self.covering(pod)) == 1
            and not is_free(pod, budgets)
        ]

    def of(self, asked: Asked) -> Drain:
        settings, late = settings_of(asked.spec), _came_late(asked)
        around = Around(settings, self._daemon_set, self._seconds, late, self._is_ours)
        judged = judge_all(self._snapshot.pods_on(asked.node.name), around)
        scene = Scene(
            judged=judged,
            covering=self.covering,
            now=self._now.timestamp(),
            taken=lambda budget: [one.name for one in self._counted_as_going(budget)],
            hold=lambda pod: self._hold(asked.node, pod),
            evicting=self.evicting,
            spent=self._spent(asked.node.name),
            refusals=self._refusals,
            goes_last=self._own.rank,
            volumes=self._attached(asked.node, judged),
        )
        found = plan(scene)
        if asked.record.state not in DRAINED:
            return self._told(found)
        self._taken.update(spending(found))
        return msgspec.structs.replace(self._told(found), noted=tuple(self._to_forget(found)))

    def _told(self, found: Plan) -> Drain:
        return msgspec.structs.replace(_drain(found, self._seconds), own=_of_our_own(found, self._own))

    def _to_forget(self, found: Plan) -> Iterator[Noted]:
        """What budgets that keep pods of this plan have to forget, and no plan before it has asked for."""
        waits = [one for one in found.waits if one.why is Why.BUDGET_EXHAUSTED]
        for budget in {row.uid: row for one in waits for row in self.covering(one.pod)}.values():
            for pod in self._counted_as_going(budget):
                if pod.uid not in self._noted:
                    self._noted.add(pod.uid)
                    yield Noted(budget.namespace, budget.name, budget.uid, pod.name, pod.uid, pod.ready_since)

    def _counted_as_going(self, budget: PodDisruptionBudget) -> list[Pod]:
        """Pods that are there and Ready, that nobody here evicts, and that a budget counts as going."""
        if not budget.disrupted_pods:
            return []
        pods = self._snapshot.pods_matching(budget.namespace, budget.selector)
        named = (pod for pod in pods if pod.name in budget.disrupted_pods)
        return [pod for pod in named if pod.ready and not pod.deleting and pod.uid not in self.evicting]

    def judged(self, node: str, settings: Settings) -> tuple[Judgement, ...]:
        """What would become of the pods of a node that is not begun yet, as far as the store knows: nothing
        is asked for it."""
        around = Around(settings, self._daemon_set_seen, self._seconds, ours=self._is_ours)
        return judge_all(self._snapshot.pods_on(node), around)

    def _is_ours(self, pod: Pod) -> bool:
        return self._own.rank(pod) > 0 or self._is_operator(pod)

    def _spent(self, node: str) -> Counter[str]:
        """What all other nodes take of budgets."""
        return self._taken + Counter(budget for one, budget in self._leaving if one != node)

    @property
    def _seconds(self) -> int:
        return int(self._now.timestamp())

    @property
    def budgets(self) -> Iterator[PodDisruptionBudget]:
        return chain.from_iterable(self._budgets.values())

    @property
    def leaving(self) -> Counter[str]:
        """What evictions that are under way take of budgets."""
        return Counter(budget for _, budget in self._leaving)

    def covering(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that a pod counts for."""
        return [row for row in self._budgets.get(pod.namespace, ()) if row.selects(pod.labels)]

    def _hold(self, node: Node, pod: Pod) -> Hold | None:
        return self._by_quorum(pod) or self._by_migration(node, pod) or self._own.hold(pod)

    def _by_quorum(self, pod: Pod) -> Hold | None:
        owner = pod.controller
        row = self._snapshot.by_uid(StatefulSet, owner.uid) if owner else None
        return None if row is None else by_quorum(pod, row.annotations)

    def _by_migration(self, node: Node, pod: Pod) -> Hold | None:
        if self._moving is None or self._moving.is_target(node):
            return None
        turn = self._moving.turn(pod)
        return None if turn is None else _MOVED if turn is Turn.RELEASED else MIGRATION

    def _daemon_set_seen(self, pod: Pod) -> Presence:
        owner = pod.controller
        found = self._snapshot.by_uid(DaemonSet, owner.uid) if owner else None
        return Presence.GONE if found is None else Presence.THERE

    def _daemon_set(self, pod: Pod) -> Presence:
        """The store may not have it yet: that it is gone, the API server has to say."""
        if self._daemon_set_seen(pod) is Presence.THERE:
            return Presence.THERE
        gone = self._is_gone(pod) if of_daemon_set(pod) else None
        return Presence.UNKNOWN if gone is None else Presence.GONE if gone else Presence.THERE

    def _attached(self, node: Node, judged: tuple[Judgement, ...]) -> tuple[str, ...]:
        """The volumes of pods that go."""
        staying = [
            found
            for claim in claims_that_stay(judged)
            if (found := self._volume(claim.namespace, claim.name)) is not None
        ]
        return attached(node, self._snapshot.all(VolumeAttachment), staying)

    def _volume(self, namespace: str, name: str) -> Volume | None:
        claim = self._snapshot.find(PersistentVolumeClaim, name, namespace)
        row = self._snapshot.find(PersistentVolume, claim.volume) if claim and claim.volume else None
        return Volume(row.name, row.driver, row.handle) if row else None


def settings_of(spec: NodeRolloutSpec) -> Settings:
    """What whoever made the rollout has decided about pods."""
    grace = int(duration(spec.pod_grace_period).total_seconds()) if spec.pod_grace_period else None
    return Settings(spec.delete_empty_dir_data, spec.evict_unmanaged, grace)


def _came_late(asked: Asked) -> Callable[[Pod], bool]:
    """What was made since our cordon was there: nobody evicts such a pod, which tolerates it, for ever. Pods
    tell their second only: one that was made within that of the cordon counts as late."""
    since = asked.record.drain_start_time or asked.cordoned
    return lambda pod: since is not None and pod.created >= int(since.timestamp())


def being_evicted(outcomes: Outcomes) -> frozenset[str]:
    """Pods, by uid, that go and do not look like it."""
    return frozenset(_being_evicted(outcomes))


def _being_evicted(outcomes: Outcomes) -> Iterator[str]:
    for key in outcomes.running:
        if key.startswith((_EVICT, _FORCE)):
            yield key.removeprefix(_EVICT).removeprefix(_FORCE)
    for barrier in outcomes.unsettled:
        if isinstance(barrier, Gone) and barrier.kind == POD:
            yield barrier.uid


def _refusals(outcomes: Outcomes) -> Iterator[tuple[str, Refusal]]:
    """By uid, what was answered to evictions that did not happen, and when they are tried again."""
    for key, last in outcomes.last.items():
        if key.startswith(_EVICT) and not last.ok and last.at is not None:
            again = (last.at + pause(last)).timestamp()
            yield key.removeprefix(_EVICT), Refusal(last.message, again)


def _drain(found: Plan, now: int) -> Drain:
    blocked = (one for one in found.waits if one.why in _BY_BUDGET)
    return Drain(
        left=found.to_go,
        now=tuple(_evictable(one.pod, one.lane) for one in found.evictions),
        blockers=blockers(found, now),
        never=_never(found),
        must_not=_told(found.cannot[0]) if found.cannot else "",
        detaching=len(found.volumes),
        blocked=tuple(_evictable(one.pod) for one in blocked),
        only_late=not found.waits and not found.cannot,
    )


def _evictable(pod: Pod, budget: str = "") -> Evictable:
    return Evictable(pod.namespace, pod.name, pod.uid, pod.resource_version, budget)


def _of_our_own(found: Plan, own: Own) -> str:
    """What it means that a pod of the operator itself is to go; empty where none is."""
    kept = [one.pod for one in (*found.waits, *found.evictions) if own.rank(one.pod)]
    if not kept:
        return ""
    pod = kept[-1]
    words = ALONE if own.alone else "is the operator's own, and goes last"
    return f"pod {pod.namespace}/{pod.name} {words}"


def _never(found: Plan) -> str:
    """Why no wait helps: the first pod that somebody has to decide about."""
    first = next(iter(found.for_ever), None) or next(iter(found.cannot), None)
    return _told(first) if first is not None else ""


def _told(one: Wait | Judgement) -> str:
    words = f"{one.message}; {one.unblocks}" if isinstance(one, Wait) else one.words
    return f"pod {one.pod.namespace}/{one.pod.name}: {words}"
