"""The eyes of a drain: what of a cluster it reads, with the rights of whoever drains. I/O.

What changes all the time is watched (`reads`). DaemonSets, StatefulSets that a quorum service may hold,
claims of pods that stay and the pods that an exhausted budget waits for are read live, by name or selector.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from shiplift.api.placements import Turn, WorkloadPlacement
from shiplift.api.workloads import WorkloadMigration
from shiplift.drain import holds, shortage, volumes
from shiplift.drain.model import Hold, Judgement, Presence, Why
from shiplift.drain.plan import Plan
from shiplift.drain.reads import Reads
from shiplift.drain.shortage import Sibling
from shiplift.drain.volumes import Claim, Volume
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Requirement, Selector
from shiplift.facts.storage import VolumeAttachment
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.answers import cut
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError, NotFound
from shiplift.kube.store import Snapshot, Store

Json = dict[str, Any]
_SIBLINGS = 500
"""So many pods of a budget are looked at."""
_REPLICATED = {"ReplicaSet": kinds.REPLICA_SET, "StatefulSet": kinds.STATEFUL_SET}
"""Owners that say how many pods they ask for."""
_LONGEST = 300
"""Characters of what others say of a pod."""
_SOON, _BETWEEN_LOOKS = 1.0, 5.0
"""Seconds between two looks at the pods of a budget, and at a StatefulSet that may be held."""


class Looking:
    """What a drain of one node sees."""

    def __init__(self, client: Client, store: Store, node: str, found: Reads) -> None:
        self.client, self.node = client, node
        self._store, self._reads = store, found
        self._kinds = {watch.kind for watch in found.watches}
        self._daemon_sets: dict[tuple[str, str], Presence] = {}
        self._volumes: dict[Claim, Volume] = {}
        self._shortages: dict[str, tuple[float, str]] = {}
        """By budget: when its pods were looked at, and whom it waits for."""
        self._replicas: dict[str, tuple[float, int | None]] = {}
        """By budget: when its owners were looked at, and how many pods they ask for."""
        self._taken: dict[str, tuple[float, tuple[Sibling, ...]]] = {}
        """By budget: when its pods were looked at, and which of those it counts as going were there."""
        self._quorum: dict[str, tuple[float, Hold | None]] = {}
        """By owner: when it was looked at, and who holds it."""

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    def daemon_set(self, pod: Pod) -> Presence:
        """Whether the DaemonSet of a pod is there; asked until that is known."""
        owner = pod.controller
        key = pod.namespace, owner.name if owner else ""
        known = self._daemon_sets.get(key, Presence.UNKNOWN)
        if known is Presence.UNKNOWN:
            known = self._daemon_sets[key] = self._presence(*key)
        return known

    def _presence(self, namespace: str, name: str) -> Presence:
        try:
            self.client.get(kinds.DAEMON_SET, name, namespace)
        except NotFound:
            return Presence.GONE
        except KubeError:
            return Presence.UNKNOWN
        return Presence.THERE

    def attached(self, snapshot: Snapshot, node: Node, judged: Iterable[Judgement]) -> tuple[str, ...]:
        """The volumes that are still attached and are of no pod that stays."""
        known = kinds.VOLUME_ATTACHMENT in self._kinds
        attachments = snapshot.all(VolumeAttachment) if known else ()
        if not volumes.attached(node, attachments):
            return ()
        staying = map(self._volume, volumes.claims_that_stay(judged))
        return volumes.attached(node, attachments, staying)

    def _volume(self, claim: Claim) -> Volume:
        """That of a claim; one without a name where it cannot be read."""
        if claim not in self._volumes:
            try:
                self._volumes[claim] = self._read_volume(claim)
            except KubeError:
                return Volume("")
        return self._volumes[claim]

    def _read_volume(self, claim: Claim) -> Volume:
        live = self.client.get(kinds.PERSISTENT_VOLUME_CLAIM, claim.name, claim.namespace)
        name = live["spec"].get("volumeName", "")
        if not name:
            return Volume("")
        csi: Json = self.client.get(kinds.PERSISTENT_VOLUME, name)["spec"].get("csi") or {}
        return Volume(name, csi.get("driver", ""), csi.get("volumeHandle", ""))

    def holds(self, snapshot: Snapshot) -> Callable[[Pod], Hold | None]:
        """Who keeps a pod by a WorkloadPlacement or by the mark of a quorum service. While a migration is
        paused, or undoes what it did, nodes may be drained by hand."""
        turns = self._turns(snapshot)
        return lambda pod: holds.by_placement(pod, turns.get(pod.namespace, {})) or self._marked(pod)

    def _marked(self, pod: Pod) -> Hold | None:
        """As `quorum_hold`, some seconds old."""
        owner = pod.controller
        at, hold = self._quorum.get(owner.uid if owner else "", (float("-inf"), None))
        if owner is not None and time.monotonic() - at >= _BETWEEN_LOOKS:
            with contextlib.suppress(KubeError):
                hold = self.quorum_hold(pod)
            self._quorum[owner.uid] = time.monotonic(), hold
        return hold

    def _turns(self, snapshot: Snapshot) -> dict[str, dict[str, Turn]]:
        if not {kinds.WORKLOAD_PLACEMENT, kinds.WORKLOAD_MIGRATION} <= self._kinds:
            return {}
        if not any(not (one.spec.paused or one.spec.abort) for one in self._migrations(snapshot)):
            return {}
        found = snapshot.customs(kinds.WORKLOAD_PLACEMENT)
        return {
            row.namespace: row.object.spec.turns for row in found if isinstance(row.object, WorkloadPlacement)
        }

    def _migrations(self, snapshot: Snapshot) -> list[WorkloadMigration]:
        found = (row.object for row in snapshot.customs(kinds.WORKLOAD_MIGRATION))
        return [one for one in found if isinstance(one, WorkloadMigration)]

    def quorum_hold(self, pod: Pod) -> Hold | None:
        """Whether a quorum service holds the StatefulSet of a pod; read right before its eviction."""
        owner = pod.controller
        if not self._reads.has_quorum or owner is None or owner.kind != "StatefulSet":
            return None
        try:
            live = self.client.get(kinds.STATEFUL_SET, owner.name, pod.namespace)
        except (NotFound, Forbidden):
            return None
        return holds.by_quorum(pod, live["metadata"].get("annotations") or {})

    def told(self, found: Plan, snapshot: Snapshot) -> Plan:
        """The plan with what exhausted budgets wait for, and when a migration that holds pods may end."""
        short = {one.budgets[0] for one in found.waits if one.why is Why.BUDGET_EXHAUSTED}
        held = any(one.why is Why.HELD for one in found.waits)
        budgets = [row for row in snapshot.all(PodDisruptionBudget) if f"{row.namespace}/{row.name}" in short]
        return shortage.told(
            found,
            {f"{row.namespace}/{row.name}": self._shortage(row) for row in budgets},
            self._migration_ends(snapshot) if held else "",
        )

    def _migration_ends(self, snapshot: Snapshot) -> str:
        if kinds.WORKLOAD_MIGRATION not in self._kinds:
            return ""
        likely = [one.status.eta.likely for one in self._migrations(snapshot) if one.status.eta]
        return f"at {_clock(likely[0])}" if likely else ""

    def _shortage(self, budget: PodDisruptionBudget) -> str:
        at, words = self._shortages.get(budget.uid, (float("-inf"), ""))
        soon = shortage.STARTING in words  # why it does not is not known yet
        if time.monotonic() - at >= (_SOON if soon else _BETWEEN_LOOKS):
            words = shortage.missing(self._siblings(budget))
            self._shortages[budget.uid] = time.monotonic(), words
        return words

    def _siblings(self, budget: PodDisruptionBudget) -> list[Sibling]:
        try:
            return [as_sibling(one) for one in self._covered(budget)]
        except KubeError:
            return []

    def _covered(self, budget: PodDisruptionBudget) -> list[Json]:
        """The pods of a budget, as they are now."""
        if budget.selector is None:
            return []
        text = selector_text(budget.selector)
        found = self.client.list(kinds.POD, budget.namespace, label_selector=text, limit=_SIBLINGS)
        return list(islice(found, _SIBLINGS))

    def taken(self, budget: PodDisruptionBudget) -> tuple[Sibling, ...]:
        """Pods that are there and Ready, and that a budget counts as going."""
        at, found = self._taken.get(budget.uid, (float("-inf"), ()))
        if time.monotonic() - at >= _SOON:
            siblings = (one for one in self._siblings(budget) if one.name in budget.disrupted_pods)
            found = tuple(one for one in siblings if one.ready and not one.leaving)
            self._taken[budget.uid] = time.monotonic(), found
        return found

    def replicas(self, budget: PodDisruptionBudget) -> int | None:
        """How many pods the owners of what a budget covers ask for; None where that may not be read, or where
        one of them does not say so."""
        at, number = self._replicas.get(budget.uid, (float("-inf"), None))
        if time.monotonic() - at >= _BETWEEN_LOOKS:
            number = None
            with contextlib.suppress(KubeError):
                number = self._wanted(budget)
            self._replicas[budget.uid] = time.monotonic(), number
        return number

    def _wanted(self, budget: PodDisruptionBudget) -> int | None:
        pods = [one for one in self._covered(budget) if not as_sibling(one).leaving]
        owners = {(owner["kind"], owner["name"]) for one in pods if (owner := _controller(one))}
        bare = sum(_controller(one) is None for one in pods)
        if len(pods) >= _SIBLINGS or not all(kind in _REPLICATED for kind, _ in owners):
            return None
        found = (self.client.get(_REPLICATED[kind], name, budget.namespace) for kind, name in owners)
        return bare + sum(one["spec"].get("replicas", 1) for one in found)


def _clock(moment: datetime) -> str:
    return moment.astimezone().strftime("%H:%M")


def selector_text(selector: Selector) -> str:
    """A label selector as a query of the API."""
    pairs = [f"{key}={value}" for key, value in selector.labels.items()]
    return ",".join([*pairs, *map(_requirement, selector.expressions)])


def _requirement(one: Requirement) -> str:
    values = f"({','.join(one.values)})"
    match one.operator:
        case "Exists":
            return one.key
        case "DoesNotExist":
            return f"!{one.key}"
        case "NotIn":
            return f"{one.key} notin {values}"
        case _:
            return f"{one.key} in {values}"


def _controller(live: Json) -> Json | None:
    owners: list[Json] = live["metadata"].get("ownerReferences") or []
    return next((one for one in owners if one.get("controller")), None)


def as_sibling(live: Json) -> Sibling:
    """What a pod, as it was read, tells of itself."""
    status: Json = live.get("status") or {}
    conditions: list[Json] = status.get("conditions") or []
    said: dict[str, Json] = {one["type"]: one for one in conditions}
    scheduled = said.get("PodScheduled", {})
    unplaced: str = scheduled.get("message", "") if scheduled.get("status") == "False" else ""
    containers: list[Json] = status.get("containerStatuses") or []
    states: list[Json] = [one.get("state") or {} for one in containers]
    waiting: list[Json] = [one.get("waiting") or {} for one in states]
    leaving = "deletionTimestamp" in live["metadata"] or status.get("phase") in ("Succeeded", "Failed")
    why: str = next((one["reason"] for one in waiting if one.get("reason")), "")
    ready = said.get("Ready", {}).get("status") == "True"
    about = live["metadata"]
    return Sibling(
        about["name"], ready, leaving, cut(unplaced, _LONGEST), cut(why, _LONGEST), about.get("uid", "")
    )
