"""From the explanation of one workload to what a terminal shows. Words carry the meaning, colour repeats it.

Names and messages are somebody else's: they are shown as they are, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.api.placements import Turn
from shiplift.face.layout import duration, facts, table
from shiplift.workloads.face.explanation import Explanation, Neighbour, OnNode, PodView, Standing
from shiplift.workloads.face.passage import GateView, Passage, Passing, Said

_STYLES = {Standing.MOVED: "green", Standing.NOT_YET: "yellow", Standing.MISSING: "red"}
_GATES = {Passing.OPEN: "green", Passing.PASSED: "green", Passing.CLOSED: "red", Passing.UNKNOWN: "yellow"}
_TURNS = {
    Turn.HELD: "held: new pods keep off the nodes of the target",
    Turn.RELEASED: "released: new pods go to nodes of the target",
}


def explanation(one: Explanation) -> RenderableType:
    """All about one workload."""
    parts: list[RenderableType] = [facts(_who(one)), Text(), _pods(one.pods)]
    if one.needs:
        parts += [Text(), _neighbours("DEPENDS ON", one.needs)]
    if one.needed_by:
        parts += [Text(), _neighbours("NEEDED BY", one.needed_by)]
    if not (one.needs or one.needed_by):
        parts += [Text(), Text("it depends on nothing, and nothing depends on it")]
    parts += [Text(), _budgets(one)]
    if one.unblocked_by:
        labels = ("Unblocked when", *("and" for _ in one.unblocked_by[1:]))
        parts += [Text(), facts(zip(labels, map(Text, one.unblocked_by), strict=True))]
    if one.passage:
        parts += [Text(), *_passage(one, one.passage)]
    return Group(*parts)


def _who(one: Explanation) -> Iterable[tuple[str, Text]]:
    if one.pod:
        yield "Pod", Text(_pod(one.pod))
    yield one.kind, Text(f"{one.namespace}/{one.name}, {one.ready} of {one.desired} pods ready")
    since = f" for {duration(one.line.seconds)}" if one.line and one.line.seconds is not None else ""
    moved = f", {one.line.pods} pods moved" if one.line else ""
    yield "State", Text(f"{one.phase}{since}{moved}")
    if one.line and one.line.message:
        yield "Why", Text(one.line.message)
    if one.turn:
        yield "Turn", Text(_TURNS[one.turn])


def _pod(pod: PodView) -> str:
    """Where the pod is and how it is. What keeps it there is told of its workload, below."""
    on = f"on node {pod.node}, {pod.version or '-'}{' (target)' * pod.target}" if pod.node else "on no node"
    return f"{pod.namespace}/{pod.name}, {pod.state} {on}" + (f": {pod.note}" if pod.note else "")


def _pods(pods: Iterable[OnNode]) -> RenderableType:
    lines = table("PODS ON", "VERSION", "READY", "NOTE", wraps=("PODS ON", "NOTE"))
    for one in pods:
        version = f"{one.version or '-'}{' (target)' * one.target}"
        lines.add_row(Text(one.node or "no node"), version, f"{one.ready}/{one.total}", Text(one.note))
    return lines if lines.row_count else Text("it has no pods")


def _neighbours(title: str, neighbours: Iterable[Neighbour]) -> Table:
    lines = table(title, "MOVED", "DECLARED BY", wraps=(title, "DECLARED BY"))
    for one in neighbours:
        moved = f"{one.standing}, {one.pods} pods" if one.pods else str(one.standing)
        lines.add_row(
            Text(str(one)),
            Text(moved, style=_STYLES.get(one.standing, "")),
            Text(f"{one.origin} (soft)" if one.soft else one.origin),
        )
    return lines


def _budgets(one: Explanation) -> RenderableType:
    if not one.budgets:
        return Text("no PodDisruptionBudget covers it")
    lines = table("BUDGET", "NEEDS", "HAS", "MAY LOSE", wraps=("BUDGET",))
    for budget in one.budgets:
        name = f"{budget.name} (holds it for us)" if budget.holds else budget.name
        lines.add_row(Text(name), str(budget.needs), str(budget.has), str(budget.allows))
    return lines


def _passage(one: Explanation, way: Passage) -> Iterable[RenderableType]:
    """Gate by gate, of the workload and then of the pod; or why there is none to pass."""
    if way.workload:
        yield _gates(f"WHAT {one.kind} {one.namespace}/{one.name} HAS TO PASS", way.workload)
    if way.pod:
        yield Text()
        yield _gates(f"WHAT POD {way.name} HAS TO PASS", way.pod)
    if told := list(_after(way)):
        if way.workload:
            yield Text()
        yield facts(told)


def _after(way: Passage) -> Iterable[tuple[str, Text]]:
    if way.ahead:
        yield "Before it", Text(f"{way.ahead} other pod{'s' * (way.ahead != 1)} of the workload")
    if way.instead:
        yield "No pod to move" if way.workload else "Nothing to pass", Text(way.instead)
    if way.said:
        yield "All open", Text(_said(way.said))


def _gates(title: str, gates: Iterable[GateView]) -> Table:
    lines = table("GATE", title, wraps=(title,))
    for gate in gates:
        why = _why(gate)
        lines.add_row(
            Text(gate.passing.value, style=_GATES.get(gate.passing, "dim")),
            Text(f"{gate.open}\n{why}" if why else gate.open),
        )
    return lines


def _why(gate: GateView) -> str:
    if gate.said:
        return _said(gate.said)
    if gate.passing is Passing.UNKNOWN:
        return "only the operator knows"
    return f"{gate.reason}: {gate.message}" if gate.reason else ""


def _said(said: Said) -> str:
    since = f" for {duration(said.seconds)}" if said.seconds is not None else ""
    return f"the operator says{since}: {said.reason}: {said.message}"
