"""What must be true at every moment of a run, found by going through its trace change by change."""

from __future__ import annotations

from tests.crash.facts import healthy, kind, owner
from tests.crash.recorder import Change, State, Trace, moments
from tests.crash.workloads import facts
from tests.crash.workloads.scenarios import Scenario
from tests.crash.workloads.shape import NEW, NEW_POOL, OLD, OLD_POOL, ROLE, Json, Workload

_POOLS = {NEW: NEW_POOL.name, OLD: OLD_POOL.name}


def under_budget(trace: Trace, scenario: Scenario) -> list[str]:
    """Moments at which a workload had fewer healthy pods than its own budget, or common sense, allows."""
    found: dict[str, str] = {}
    for change, state in moments(trace):
        if change.key.kind != "Pod":
            continue
        for workload in scenario.workloads:
            pods = facts.pods_of(state, workload)
            for labels, limit in _limits(scenario, workload):
                well = sum(healthy(pod) and facts.has(pod, labels) for pod in pods)
                if well < needed(workload, limit) and workload.id not in found:
                    who = " ".join((workload.id, *filter(None, [labels.get(ROLE)])))
                    found[workload.id] = (
                        f"{who} had {well} healthy pods at version {change.version},"
                        f" its budget needs {needed(workload, limit)}: {'; '.join(map(_state, pods))}"
                    )
    return list(found.values())


def _state(pod: Json) -> str:
    """What keeps a pod from being healthy, for whoever has to find out why."""
    name, status = pod["metadata"]["name"], pod.get("status", {})
    if healthy(pod):
        return f"{name} is healthy"
    if "deletionTimestamp" in pod["metadata"]:
        return f"{name} ends"
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    why = " ".join(str(ready[key]) for key in ("status", "reason", "lastTransitionTime") if key in ready)
    where = pod.get("spec", {}).get("nodeName", "no node")
    return f"{name} on {where} is {status.get('phase', 'new')}, Ready {why or 'not told'}"


def _limits(scenario: Scenario, workload: Workload) -> list[tuple[dict[str, str], Json]]:
    """Where the user lets us go past budgets, they do not count: still one pod at a time."""
    return [({}, {})] if scenario.forces else list(workload.limits()) or [({}, {})]


def needed(workload: Workload, limit: Json) -> int:
    """Without a budget one pod at a time may be away."""
    if "minAvailable" in limit:
        return limit["minAvailable"]
    return workload.replicas - limit.get("maxUnavailable", 1)


def two_budgets(trace: Trace) -> list[str]:
    """Pods that more than one PodDisruptionBudget selected: none of them could be evicted any more."""
    found: dict[str, str] = {}
    for change, state in moments(trace):
        if change.key.kind not in ("Pod", "PodDisruptionBudget"):
            continue
        budgets = list(kind(state, "PodDisruptionBudget"))
        for pod in kind(state, "Pod"):
            names = [one["metadata"]["name"] for one in budgets if facts.selects(one, pod)]
            if len(names) > 1:
                found.setdefault(owner(pod), f"a pod of {owner(pod)} had the budgets {names}")
    return list(found.values())


def begun_anew(trace: Trace) -> list[str]:
    """Whether a migration that had ended began once more, though nobody asked for another."""
    states = [
        change.object.get("status", {}).get("state")
        for change in trace.changes
        if change.key.kind == "WorkloadMigration"
    ]
    began = sum(now == "Upgrade" != before for before, now in zip(["", *states], states, strict=False))
    return [f"the migration began {began} times"] if began > 1 else []


class _Order:
    """Who was met so far for the target that is in force, and who came too early."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._before = _dependencies(scenario)
        self._met: set[str] = set()
        self._target = ""
        self._under_way: dict[str, int] = {}
        """How many pods of each were between two nodes when the target changed: they end on either side."""
        self.found: list[str] = []

    def see(self, change: Change, state: State, bound_before: bool) -> None:
        target = _target(state)
        if target != self._target:
            self._target, self._met = target, set()
            self._under_way = {one.id: facts.missing(state, one) for one in self._scenario.workloads}
        if not target:
            return
        if change.key.kind == "Pod" and facts.node_of(change.object) and not change.gone and not bound_before:
            self._bound(change, facts.side(state, change.object))
        for workload in self._scenario.workloads:
            if workload.id not in self._met and facts.all_on(state, workload, target):
                self._met.add(workload.id)

    def _bound(self, change: Change, side: str) -> None:
        id_ = owner(change.object)
        early = self._before.get(id_, set()) - self._met
        if self._under_way.get(id_):
            self._under_way[id_] -= 1
        elif side != self._target:
            # whoever comes back to where it was has not been met, though it looked so
            self._met.discard(id_)
        elif early:
            self.found.append(
                f"{change.key} came to a target node at version {change.version} before {sorted(early)}"
            )


def out_of_order(trace: Trace, scenario: Scenario) -> list[str]:
    """Pods that were bound to a target node before all that they depend on had been met."""
    order = _Order(scenario)
    bound = {key for key, thing in trace.start.items() if key.kind == "Pod" and facts.node_of(thing)}
    for change, state in moments(trace):
        order.see(change, state, change.key in bound)
        if change.key.kind == "Pod":
            (bound.discard if change.gone or not facts.node_of(change.object) else bound.add)(change.key)
    return order.found


def _target(state: State) -> str:
    """The pool that pods are to move to; empty where the user has just changed that, or stopped it all."""
    migration = facts.migration(state)
    spec, status = migration.get("spec", {}), migration.get("status", {})
    begun = status.get("target", NEW) if status.get("state") == "Upgrade" else NEW
    if spec.get("abort") or spec.get("target", begun) != begun:
        return ""
    return _POOLS.get(begun, "")


def _dependencies(scenario: Scenario) -> dict[str, set[str]]:
    """Everything that each workload comes after, less those that also come after it."""
    reached = {one.id: _reach(scenario, one.id) for one in scenario.workloads}
    return {id_: {other for other in after if id_ not in reached[other]} for id_, after in reached.items()}


def _reach(scenario: Scenario, id_: str) -> set[str]:
    found: set[str] = set()
    waiting = list(scenario.workload(id_).after)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += scenario.workload(one).after
    return found
