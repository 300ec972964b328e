"""Who was where, and when: every pod that was bound to a node, told from the cluster's own history.

The clock is the API server's resourceVersion, which counts all writes of all kinds in one row: that a pod was
bound before another was gone is then a matter of fact, not of whose thread was faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tests.crash import facts
from tests.crash.recorder import Change, Recorder, State, Trace, moments

_KINDS = ("Deployment", "StatefulSet")


class Incarnation(msgspec.Struct):
    """One pod of a workload (`namespace/name`), from its binding to its end; 0 means not yet."""

    workload: str
    pod: str
    uid: str
    node: str
    bound: int
    ready: int = 0
    gone: int = 0
    first: bool = False
    """It was there when the watching began."""

    @property
    def pool(self) -> str:
        return self.node.partition("-")[0]


class Observer:
    """Watches from its making on; `begin` forgets what was before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        recorder.begin()

    def begin(self) -> None:
        self._recorder.begin()

    def history(self) -> History:
        return History(self._recorder.end())


class History:
    """What happened between two moments."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.pods = tuple(_incarnations(trace))

    def of(self, workload: str) -> list[Incarnation]:
        return [one for one in self.pods if one.workload == workload]

    def moves(self, *workloads: str) -> float:
        """How many pods were bound for each that was there at the start."""
        found = [one for workload in workloads for one in self.of(workload)]
        there = sum(one.first for one in found)
        return (len(found) - there) / there

    def early(self, after: Mapping[str, Iterable[str]], pool: str = "new") -> list[str]:
        """Pods that were bound to a node of the pool before all that they come after had settled there.

        With an empty pool what counts is not where pods are but that they are not those of the start.
        """
        order = _Order({name: set(others) for name, others in after.items()}, self.trace, pool)
        bound = {key for key, thing in self.trace.start.items() if key.kind == "Pod" and _node(thing)}
        for change, state in moments(self.trace):
            if change.key.kind != "Pod":
                continue
            new = change.key not in bound and not change.gone and bool(_node(change.object))
            order.see(change, state, new=new)
            (bound.discard if change.gone or not _node(change.object) else bound.add)(change.key)
        return order.found


class _Order:
    """Who has settled so far, and who came before those that it comes after."""

    def __init__(self, after: Mapping[str, set[str]], trace: Trace, pool: str) -> None:
        self._after, self._pool = after, pool
        self._others = {one for names in after.values() for one in names}
        self._first = {thing["metadata"]["uid"] for key, thing in trace.start.items() if key.kind == "Pod"}
        self._settled: set[str] = set()
        self.found: list[str] = []

    def see(self, change: Change, state: State, *, new: bool) -> None:
        owner = facts.owner(change.object)
        missing = self._after.get(owner, set()) - self._settled
        if new and missing and self._is_settled(change.object):
            self.found.append(f"{change.key} was bound to {_node(change.object)} before {sorted(missing)}")
        self._settled |= {one for one in self._others - self._settled if self._all_settled(state, one)}

    def _is_settled(self, pod: facts.Json) -> bool:
        if self._pool:
            return _node(pod).partition("-")[0] == self._pool
        return pod["metadata"]["uid"] not in self._first

    def _all_settled(self, state: State, workload: str) -> bool:
        pods = [pod for pod in facts.kind(state, "Pod") if facts.owner(pod) == workload]
        return len(pods) == _replicas(state, workload) and all(
            facts.healthy(pod) and self._is_settled(pod) for pod in pods
        )


def _incarnations(trace: Trace) -> Iterator[Incarnation]:
    found: dict[str, Incarnation] = {}
    for key, thing in trace.start.items():
        if key.kind == "Pod":
            _note(found, thing, 0, first=True)
    for change in trace.changes:
        if change.key.kind == "Pod":
            _note(found, change.object, change.version, gone=change.gone)
    yield from found.values()


def _note(
    found: dict[str, Incarnation], pod: facts.Json, version: int, *, first: bool = False, gone: bool = False
) -> None:
    uid = pod["metadata"]["uid"]
    if uid not in found and _node(pod):
        name = pod["metadata"]["name"]
        found[uid] = Incarnation(facts.owner(pod), name, uid, _node(pod), version, first=first)
    if (known := found.get(uid)) is None:
        return
    if not known.ready and facts.ready(pod):
        known.ready = version
    if gone:
        known.gone = version


def _node(pod: facts.Json) -> str:
    return pod["spec"].get("nodeName", "")


def _replicas(state: State, workload: str) -> int:
    namespace, _, name = workload.partition("/")
    owners = [
        thing
        for key, thing in state.items()
        if key.kind in _KINDS and (key.namespace, key.name) == (namespace, name)
    ]
    return owners[0]["spec"]["replicas"] if owners else -1
