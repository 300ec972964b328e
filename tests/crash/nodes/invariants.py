"""What must be true at every moment of a run, found by going through its trace change by change.

Budgets are computed from pods, and what is away from nodes: never from what anybody says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.agent.protocol import Operation, Order, Readiness, Result, current_versions, fits
from shiplift.engine.versions import parse
from tests.crash.facts import Json, healthy, kind, notes
from tests.crash.nodes import facts
from tests.crash.nodes.scenarios import Scenario
from tests.crash.recorder import Change, Key, State, Trace, moments

_CHANGES = frozenset({Operation.PACKAGES, Operation.UPGRADE_APPLY, Operation.UPGRADE_NODE})
API_SERVER = "kube-apiserver"


def broken(scenario: Scenario, trace: Trace) -> list[str]:
    """Each rule that did not hold, at the first moment at which it did not."""
    found: dict[str, str] = {}
    stories = {name: _Story(name) for name in scenario.names}
    before = dict(trace.start)
    for change, state in moments(trace):
        lines = [line for rule in _RULES for line in rule(scenario, change, state)]
        if _is_taken(before.get(change.key), change):
            lines += _too_many_away(scenario, state)
        if change.key.kind == "Node" and change.key.name in stories and not change.gone:
            lines += stories[change.key.name].goes_on(scenario, before[change.key], change.object, state)
        for line in lines:
            found.setdefault(line, f"{line}, at version {change.version}")
        before[change.key] = change.object
    return [*found.values(), *_left_closed(scenario, trace.end())]


# --- of the cluster ---


def _under_budget(scenario: Scenario, change: Change, state: State) -> Iterator[str]:
    if change.key.kind != "Pod":
        return
    for workload in scenario.workloads:
        budget = state.get(Key("PodDisruptionBudget", workload.namespace, workload.name))
        well = sum(map(healthy, facts.pods_of(state, workload)))
        if budget and well < needed(workload.replicas, budget["spec"]):
            yield f"{workload.id} had fewer healthy pods than its budget needs"


def needed(replicas: int, spec: Json) -> int:
    return spec["minAvailable"] if "minAvailable" in spec else replicas - spec["maxUnavailable"]


def _is_taken(before: Json | None, change: Change) -> bool:
    """Whether a node is cordoned by this change: one that goes down by itself is nobody's doing."""
    if change.key.kind != "Node" or change.gone:
        return False
    return facts.marked(change.object) and not (before is not None and facts.marked(before))


def _too_many_away(scenario: Scenario, state: State) -> Iterator[str]:
    """A node that is down when another is cordoned counts."""
    away = [one for one in kind(state, "Node") if facts.marked(one) or not facts.ready(one)]
    planes = [one for one in away if facts.is_control_plane(one)]
    if len(away) - len(planes) > scenario.most_away:
        yield f"{len(away) - len(planes)} workers were away, of at most {scenario.most_away}"
    if len(planes) > 1:
        yield "two control-plane nodes were away"


def _ahead(scenario: Scenario, change: Change, state: State) -> Iterator[str]:
    """A kubelet of a later minor than an API server."""
    if change.key.kind != "Node":
        return
    nodes = list(kind(state, "Node"))
    servers = [current_versions(notes(one)).get(API_SERVER) for one in nodes if facts.is_control_plane(one)]
    lines = [parse(one).line for one in servers if one]
    for one in nodes:
        if lines and parse(facts.version(one)).line > min(lines):
            yield f"the kubelet of node {one['metadata']['name']} was ahead of an API server"


_RULES: tuple[Callable[[Scenario, Change, State], Iterator[str]], ...] = (
    _under_budget,
    _ahead,
)


def _left_closed(scenario: Scenario, end: State) -> Iterator[str]:
    """At its end, every node takes pods again, or somebody else had cordoned it, or it is named."""
    if facts.status(end).get("phase") not in facts.ENDED:
        return
    named = {one["name"] for one in facts.records(end) if one["state"] == "Quarantined"}
    closed = {one["metadata"]["name"] for one in kind(end, "Node") if facts.closed(one)}
    for name in sorted(closed - named - set(scenario.by_hand)):
        yield f"node {name} is left cordoned"
    for name in sorted(set(scenario.by_hand) - closed):
        yield f"node {name}, which somebody had cordoned, is uncordoned"


# --- of one node ---


class _Story:
    """What becomes of one node, change by change."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cordons = 0
        self._answered: set[str] = set()
        self._orders: dict[str, Order] = {}
        self._broken = False
        """Whether its change has failed, and it was not put back since."""

    def goes_on(self, scenario: Scenario, before: Json, now: Json, state: State) -> Iterator[str]:
        for rule in (self._ordered, self._withdrawn, self._answers, self._cordoned):
            for line in rule(scenario, before, now, state):
                yield f"node {self._name}: {line}"

    def _ordered(self, _: Scenario, before: Json, now: Json, state: State) -> Iterator[str]:
        order = facts.order(now)
        if order is None or order == facts.order(before):
            return
        self._orders[str(order.token)] = order
        if order.token.operation.wants_cordon:
            if not facts.closed(now) or not facts.marked(now):
                yield "an order was on it, and it was not cordoned by us"
            if facts.pods_on(state, self._name):
                yield "an order was on it, and it was not drained"
        uid = now["metadata"]["uid"]
        if (
            order.token.operation in _CHANGES
            and facts.is_control_plane(now)
            and uid not in facts.claimed_nodes(state)
        ):
            yield "an order was on it, and the control plane was not claimed"

    def _withdrawn(self, _: Scenario, before: Json, now: Json, state: State) -> Iterator[str]:
        claim = facts.readiness(before)
        if claim is None or claim.ready or facts.readiness(now) != claim:
            return
        if facts.order(before) is not None and facts.order(now) is None:
            yield "its order was taken off while its agent was at work"
        if facts.closed(before) and not facts.closed(now):
            yield "it was uncordoned while its agent was at work"

    def _answers(self, _: Scenario, before: Json, now: Json, state: State) -> Iterator[str]:
        said = facts.readiness(now)
        if said is None or said == facts.readiness(before):
            return
        if not said.ready:
            if said.token in self._answered:
                yield "its agent claimed an order once more that it had answered"
            return
        self._answered.add(said.token)
        self._judge(said, now)

    def _judge(self, said: Readiness, now: Json) -> None:
        order, outcome = self._orders.get(said.token), facts.outcome(now)
        if order is None or outcome is None or order.token.operation is not Operation.PACKAGES:
            return
        failed = outcome.result is not Result.DONE
        self._broken = (self._broken and failed) if order.back else failed

    def _cordoned(self, scenario: Scenario, before: Json, now: Json, state: State) -> Iterator[str]:
        self._cordons += facts.marked(now) and not facts.marked(before)
        if self._cordons > 1:
            yield "it was cordoned twice"
        if facts.marked(now) or not facts.marked(before):
            return
        if self._broken:
            yield "it was given back, and its versions from before were not put back"
        order, outcome = self._last(before), facts.outcome(before)
        done = outcome is not None and outcome.result is Result.DONE
        if order is not None and not order.back and done and not has_all(scenario, now):
            yield "it was given back as changed, and it was not"

    def _last(self, node: Json) -> Order | None:
        """The order that the agent has answered last, where that was about packages."""
        outcome = facts.outcome(node)
        order = self._orders.get(outcome.token) if outcome is not None else None
        return order if order is not None and order.token.operation is Operation.PACKAGES else None


def has_all(scenario: Scenario, node: Json) -> bool:
    """Whether a node has what the rollout wants, by its kubelet's word for the kubelet."""
    wanted, current = scenario.spec.get("version"), current_versions(notes(node))
    software = all(
        fits(one["version"], current.get(one["name"], "")) for one in scenario.spec.get("software", [])
    )
    return software and (wanted is None or facts.version(node) == wanted)
