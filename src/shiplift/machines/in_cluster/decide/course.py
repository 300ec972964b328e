"""What is done for a pool whose machines the cluster makes: each is written down, then its node is made, then
that is waited for. Nothing is removed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from shiplift.api.machines import Provider, Role
from shiplift.api.marks import POOL_LABEL
from shiplift.api.values import duration
from shiplift.engine import retries
from shiplift.engine.step import Step
from shiplift.facts.nodes import CONTROL_PLANE, FAKE, SIMULATED, ZONE, Node
from shiplift.machines.claims import number_of
from shiplift.machines.in_cluster.decide import standing
from shiplift.machines.in_cluster.decide.case import Case, own_node
from shiplift.machines.in_cluster.decide.gates import ROLE_LABELS
from shiplift.machines.in_cluster.model import Kept, Line, Reason, State
from shiplift.machines.in_cluster.steps import MakeMachine, MakeNode
from shiplift.machines.in_cluster.words import counted, some

_TAINT = {"key": CONTROL_PLANE[0], "effect": "NoSchedule"}
"""As kubeadm gives it to control planes."""


def followed(case: Case) -> Line:
    """Where the pool is, and what is done now."""
    line = _followed(case)
    notes = [line.message, *_notes(case)]
    return line._replace(message="; ".join(notes))


def _followed(case: Case) -> Line:
    making = tuple(steps(case))
    if case.spec.paused and making:
        return Line(Reason.PAUSED, f"paused: {_told(case)} not made", State.ON_THE_WAY)
    if failed := next(retries.failures(case.view.outcomes, making), ""):
        return Line(Reason.REFUSED, failed, steps=making)
    if making:
        return Line(Reason.MAKING, f"{_told(case)} being made", State.ON_THE_WAY, making)
    return _waiting(case) or _too_many(case) or _complete(case)


def steps(case: Case) -> Iterator[Step]:
    """Machines first: a node is made for one that is written down, and for no other."""
    for name in case.missing:
        yield MakeMachine(case.name, case.row.uid, name, case.spec.role, case.spec.provider)
    for one in _without_node(case):
        yield _make_node(case, one)


def _without_node(case: Case) -> list[Kept]:
    return [one for one in case.wanted if one.node is None and not one.row.deleting]


def _make_node(case: Case, one: Kept) -> MakeNode:
    kwok, number = case.kwok, number_of(one.name, case.name) or 0
    return MakeNode(
        machine=one.name,
        machine_uid=one.row.uid,
        pool=case.name,
        number=number,
        version=f"v{case.spec.version.removeprefix('v')}",
        labels=_labels(case, number),
        taints=_taints(case),
        cpu=kwok.cpu,
        memory=kwok.memory,
        pods=kwok.pods,
    )


def _labels(case: Case, number: int) -> dict[str, str]:
    zones = case.kwok.zones
    zone = {ZONE: zones[number % len(zones)]} if zones else {}
    return {**case.spec.labels, **zone, ROLE_LABELS[case.spec.role]: "", POOL_LABEL: case.name}


def _taints(case: Case) -> tuple[dict[str, str], ...]:
    given = tuple(
        {"key": one.key, "effect": one.effect.value, **({"value": one.value} if one.value else {})}
        for one in case.spec.taints
    )
    return (*given, _TAINT) if case.spec.role is Role.CONTROL_PLANE else given


def _told(case: Case) -> str:
    """What is to be made, in words."""
    nodes = [one.name for one in _without_node(case)]
    told = [f"{counted(len(case.missing), 'machine')} ({some(case.missing)})"] if case.missing else []
    told += [f"{counted(len(nodes), 'node')} ({some(nodes)})"] if nodes else []
    one = len(case.missing) + len(nodes) == 1
    return f"{' and '.join(told)} {'is' if one else 'are'}"


def _waiting(case: Case) -> Line | None:
    """Machines that are leaving, and nodes that are not Ready."""
    if leaving := [one.name for one in case.wanted if one.row.deleting or _goes(one.node)]:
        message = f"{some(leaving)}: on its way out, and made again when it is gone"
        return Line(Reason.LEAVING, message, State.ON_THE_WAY)
    unready = [one for one in case.wanted if not one.ready]
    if not unready:
        return None
    late = [one.name for one in unready if standing.is_late(case, one)]
    if late:
        return Line(
            Reason.NOT_READY_IN_TIME,
            f"{counted(len(late), 'node')} not Ready in {case.spec.join_timeout}: {some(late)}; does kwok"
            f" run, and does it manage nodes with the annotation {SIMULATED}={FAKE}?",
            due=_due(case, unready),
        )
    message = f"{counted(len(unready), 'node')} not Ready yet: {some([one.name for one in unready])}"
    return Line(Reason.JOINING, message, State.ON_THE_WAY, due=_due(case, unready))


def _goes(node: Node | None) -> bool:
    return node is not None and bool(node.deleting)


def _due(case: Case, unready: list[Kept]) -> datetime | None:
    """When the next of them is late."""
    limit = duration(case.spec.join_timeout)
    times = [standing.since(one, case.now) + limit for one in unready]
    return min((time for time in times if time > case.now), default=None)


def _too_many(case: Case) -> Line | None:
    return Line(Reason.REMOVAL_NOT_DONE, _ready(case)) if case.too_many else None


def _complete(case: Case) -> Line:
    return Line(Reason.COMPLETE, _ready(case), State.READY)


def _ready(case: Case) -> str:
    if not case.spec.replicas:
        return "no machine is asked for"
    return f"{counted(case.spec.replicas, 'machine')} with a node that is Ready"


# --- what is told besides, whatever the pool is doing ---


def _notes(case: Case) -> Iterator[str]:
    if many := [one.name for one in case.too_many]:
        yield (
            f"{counted(len(many), 'machine')} more than asked for: {some(many)}; none is removed by itself"
            f" yet: `shiplift drain {many[0]}`, then `kubectl delete node {many[0]}` and"
            f" `kubectl delete machine {many[0]}` remove one"
        )
    if strays := sorted(_strays(case)):
        yield (
            f"{counted(len(strays), 'node')} of the pool without a machine: {some(strays)}; a new machine"
            " takes its name up, `kubectl delete node` removes it"
        )
    if replaced := [one.name for one in case.kept if one.machine.spec.replace]:
        yield f"{some(replaced)} should be replaced: that is still to come"
    if other := [one.name for one in case.wanted if one.node and _differs(case, one.node)]:
        yield (
            f"labels or taints of the pool are not on {counted(len(other), 'node')}: {some(other)}; a node"
            " gets them when it is made, and later by kubectl"
        )


def _strays(case: Case) -> Iterator[str]:
    """Nodes that were made for machines of it that somebody has deleted."""
    if case.spec.provider is not Provider.KWOK:
        return
    names = {*(one.name for one in case.kept), *case.missing}
    for name, node in case.view.nodes.items():
        if name not in names and own_node(case.view, case.name, name) is node:
            yield name


def _differs(case: Case, node: Node) -> bool:
    labels = any(node.labels.get(key) != value for key, value in case.spec.labels.items())
    taints = {(one.key, one.value, one.effect) for one in node.taints}
    return labels or any((one.key, one.value, one.effect.value) not in taints for one in case.spec.taints)
