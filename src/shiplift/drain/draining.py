"""The hands of a drain: reads what a plan depends on, and evicts what the plan says. I/O.

Every eviction names its pod by uid. An answer that is no grant is told apart: what the API server asks for
is waited for, a missing right ends the drain, and a pod that is gone is gone. Nothing is evicted while the
store is behind.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Self

from shiplift.drain.blocking import Refusal
from shiplift.drain.filters import Around, judge_all
from shiplift.drain.looking import Looking
from shiplift.drain.model import Judgement, Settings, full_name
from shiplift.drain.plan import Plan, Scene, plan
from shiplift.engine.backoff import Backoff
from shiplift.engine.workers import Workers
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.errors import ApiError, Forbidden, KubeError, NotFound, PreconditionFailed
from shiplift.kube.store import Snapshot
from shiplift.pdb.index import BudgetIndex

AT_ONCE = 16
"""Evictions side by side."""
_GRANTED_SECONDS = 30.0
"""A pod that shows nothing of a granted eviction for so long is asked again: whoever carried it out was cut
off."""
_AGAIN = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=10), jitter=0.0)
_HELD_SECONDS = 5.0
_TERMINATING = "NamespaceTerminating"


class DrainError(KubeError):
    """The drain cannot go on."""


class Draining:
    """The drain of one node. `look` and `send` are for one thread; evictions run on others."""

    def __init__(
        self,
        looking: Looking,
        settings: Settings,
        goes_last: Callable[[Pod], int],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._looking, self._client, self._name = looking, looking.client, looking.node
        self._settings, self._goes_last, self._clock = settings, goes_last, clock
        self._share = Workers(AT_ONCE).share(AT_ONCE, AT_ONCE)
        self._lock = threading.Lock()
        self._evicting: dict[str, float | None] = {}
        """By uid: when an eviction was granted; None while it is under way."""
        self._refusals: dict[str, Refusal] = {}
        self._attempts = Counter[str]()
        self._failed: KubeError | None = None
        self._first: frozenset[str] | None = None
        """The pods that were there when the node was cordoned."""
        self.stale = False
        """Whether what was looked at last may be old."""
        self._woken = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def begin(self, patience: float = 30.0) -> None:
        """The node is cordoned: when the store shows it, it has to stay so, and pods that come all the same
        come late."""
        deadline = time.monotonic() + patience
        while not self._node(snapshot := self._looking.snapshot()).unschedulable:
            if time.monotonic() > deadline:
                who = f"the cordon of node {self._name} was not seen in {patience:.0f} s"
                raise DrainError(who, hint="try again")
            self.wait(0.2)
        self._first = frozenset(pod.uid for pod in snapshot.pods_on(self._name))

    def look(self) -> Plan:
        """What there is to do, as of now; an error where the drain cannot go on."""
        if self._failed is not None:
            raise self._failed
        snapshot = self._looking.snapshot()
        self.stale = bool(snapshot.stale())
        node = self._node(snapshot)
        judged = self._judged(snapshot)
        self._settle(judged)
        found = plan(self._scene(snapshot, node, judged))
        return self._looking.told(found, snapshot)

    def send(self, found: Plan) -> None:
        """Evict what the plan says; those of one budget one after the other."""
        for one in () if self.stale else found.evictions:
            with self._lock:
                self._evicting[one.pod.uid] = None
            self._share.submit(partial(self._evict, one.pod), one.lane)

    def ask(self, pod: Pod) -> str:
        """What the API server would answer to an eviction; empty where it would grant it. Changes nothing."""
        try:
            self._client.evict(
                pod.name, pod.namespace, uid=pod.uid, dry_run=True, grace=self._settings.pod_grace_period
            )
        except (NotFound, PreconditionFailed):
            return ""
        except ApiError as error:
            return error.message
        return ""

    def wait(self, seconds: float) -> None:
        """Until something has changed, or so long."""
        self._woken.wait(seconds)
        self._woken.clear()

    def wake(self, _kind: Kind, _old: Row | None, _new: Row | None) -> None:
        """Something has changed in the store."""
        self._woken.set()

    def stop(self, seconds: float = 5.0) -> None:
        """Send nothing more; what is on its way gets a moment to be answered."""
        self._share.stop()
        self._share.join(time.monotonic() + seconds)

    def _node(self, snapshot: Snapshot) -> Node:
        node = snapshot.find(Node, self._name)
        if node is None:
            raise DrainError(
                f"node {self._name} is gone", hint="kubectl get nodes lists those that there are"
            )
        if self._first is not None and not node.unschedulable:
            who = f"somebody has uncordoned node {self._name} while it was drained"
            raise DrainError(who, hint="find out who, then drain it again")
        if unreadable := sorted(snapshot.undecodable(kinds.POD)):
            raise DrainError(f"pod {unreadable[0]} cannot be read", hint="a newer shiplift may know how")
        return node

    def _judged(self, snapshot: Snapshot) -> tuple[Judgement, ...]:
        now, daemon_set = int(self._clock()), self._looking.daemon_set
        around = Around(self._settings, daemon_set, now, self._came_late, self._is_ours)
        return judge_all(snapshot.pods_on(self._name), around)

    def _is_ours(self, pod: Pod) -> bool:
        return self._goes_last(pod) > 0

    def _came_late(self, pod: Pod) -> bool:
        return self._first is not None and pod.uid not in self._first

    def _scene(self, snapshot: Snapshot, node: Node, judged: tuple[Judgement, ...]) -> Scene:
        with self._lock:
            evicting, refusals = frozenset(self._evicting), dict(self._refusals)
        return Scene(
            judged=judged,
            covering=_covering(snapshot.all(PodDisruptionBudget)),
            now=self._clock(),
            replicas=self._looking.replicas,
            taken=lambda row: [one.name for one in self._looking.taken(row) if one.uid not in evicting],
            hold=self._looking.holds(snapshot),
            evicting=evicting,
            refusals=refusals,
            goes_last=self._goes_last,
            volumes=self._looking.attached(snapshot, node, judged),
        )

    def _settle(self, judged: Iterable[Judgement]) -> None:
        """Forget evictions that pods show by now, and those that came to nothing."""
        here = {one.pod.uid for one in judged if not one.pod.deleting}
        late = self._clock() - _GRANTED_SECONDS
        with self._lock:
            for uid, granted in list(self._evicting.items()):
                if uid not in here or (granted is not None and granted < late):
                    del self._evicting[uid]

    # on the threads that evict

    def _evict(self, pod: Pod) -> None:
        try:
            if (hold := self._looking.quorum_hold(pod)) is not None:
                self._refused(pod, str(hold), _HELD_SECONDS)
                return
            self._client.evict(pod.name, pod.namespace, uid=pod.uid, grace=self._settings.pod_grace_period)
        except (NotFound, PreconditionFailed):
            self._granted(pod)  # it is gone: the store shows that in a moment
        except KubeError as error:
            self._answered(pod, error)
        else:
            self._granted(pod)
        finally:
            self._woken.set()

    def _answered(self, pod: Pod, error: KubeError) -> None:
        if isinstance(error, Forbidden) and not any(one.reason == _TERMINATING for one in error.causes):
            self._failed = DrainError(
                f"pod {full_name(pod)} may not be evicted: {error.message}",
                hint=f"kubectl auth can-i create pods/eviction -n {pod.namespace} tells whether you may",
            )
            return
        with self._lock:
            self._attempts[pod.uid] += 1
            attempt = self._attempts[pod.uid]
        asked = error.retry_after if isinstance(error, ApiError) else None
        self._refused(pod, error.message, max(asked or 0.0, _AGAIN.delay(attempt, 0.0).total_seconds()))

    def _granted(self, pod: Pod) -> None:
        with self._lock:
            self._evicting[pod.uid] = self._clock()

    def _refused(self, pod: Pod, message: str, seconds: float) -> None:
        with self._lock:
            self._evicting.pop(pod.uid, None)
            self._refusals[pod.uid] = Refusal(message, self._clock() + seconds)


def _covering(budgets: Iterable[PodDisruptionBudget]) -> Callable[[Pod], list[PodDisruptionBudget]]:
    index, rows = BudgetIndex(), {row.uid: row for row in budgets}
    for row in rows.values():
        index.put(row)
    return lambda pod: [rows[uid] for uid in index.selecting(pod.namespace, pod.labels)]
