"""What is done for a pool whose machines the cluster makes: each is written down, then its node is made, then
that is waited for. Nothing is removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from shiplift.api.machines import Provider, Role
from shiplift.api.marks import POOL_LABEL
from shiplift.api.values import duration
from shiplift.engine import retries, versions
from shiplift.engine.contested import Made
from shiplift.engine.step import Step
from shiplift.facts.nodes import CONTROL_PLANE, FAKE, SIMULATED, ZONE, Node
from shiplift.machines.claims import number_of
from shiplift.machines.in_cluster.decide import standing
from shiplift.machines.in_cluster.decide.case import Case, own_node
from shiplift.machines.in_cluster.decide.gates import ROLE_LABELS
from shiplift.machines.in_cluster.model import Kept, Line, Reason, State
from shiplift.machines.in_cluster.steps import MakeMachine, MakeNode, machine_made, node_made
from shiplift.machines.words import counted, some

_A_FIGHT = 3
"""So often one is deleted, one time soon after the other, before somebody is suspected who always will."""
_CALM = timedelta(minutes=2)
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
    if (fought := _fought(case)) is not None:
        return fought._replace(steps=making)
    if making:
        return Line(Reason.MAKING, f"{_told(case)} being made", State.ON_THE_WAY, making)
    return _waiting(case) or _too_many(case) or _complete(case)


def _fought(case: Case) -> Line | None:
    """Somebody deletes machines or nodes as often as they are made: told until that is over for a while."""
    names = [*(one.name for one in case.wanted), *case.missing]
    machines = _again(case, names, machine_made)
    nodes = _again(case, names, node_made)
    again = [*machines.values(), *nodes.values()]
    if not again:
        return None
    told = [counted(len(machines), "machine")] if machines else []
    told += [counted(len(nodes), "node")] if nodes else []
    times = max(one.times for one in again) - 1
    message = (
        f"{' and '.join(told)} deleted by somebody soon after being made, {times}"
        f" times so far: {some([*dict.fromkeys([*machines, *nodes])])}; made again ever more slowly, and told"
        " until none was deleted for two minutes"
    )
    asked = "; does something look after nodes that knows no simulated ones?" if nodes else ""
    return Line(Reason.DELETED_BY_OTHERS, message + asked, due=min(one.at for one in again) + _CALM)


def _again(case: Case, names: Iterable[str], change: Callable[[str, str], str]) -> Mapping[str, Made]:
    """Of these, what was made again and again a short while ago."""
    made = {name: case.view.changes.get(change(case.row.uid, name)) for name in names}
    return {
        name: one for name, one in made.items() if one and one.times > _A_FIGHT and case.now - one.at < _CALM
    }


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
        pool_uid=case.row.uid,
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
    """Nodes that are not Ready, and machines that are leaving."""
    leaving = [one for one in case.wanted if one.row.deleting or _goes(one.node)]
    unready = [one for one in case.wanted if not one.ready and not (one.row.deleting or _goes(one.node))]
    if leaving and not any(standing.is_late(case, one) for one in unready):
        return _leaving(case, leaving, unready)
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
    lost = [one.name for one in unready if standing.was_ready(one)]
    new = [one.name for one in unready if one.name not in lost]
    told = [f"{counted(len(new), 'node')} not Ready yet: {some(new)}"] if new else []
    told += [f"{counted(len(lost), 'node')} not Ready any more: {some(lost)}"] if lost else []
    return Line(Reason.JOINING, "; ".join(told), State.ON_THE_WAY, due=_due(case, unready))


def _leaving(case: Case, leaving: list[Kept], unready: list[Kept]) -> Line:
    """What takes long to go is held by somebody: that is named."""
    message = f"{some([one.name for one in leaving])}: on its way out, and made again when it is gone"
    since = {one.name: standing.leaves_since(one) for one in leaving}
    limit = duration(case.spec.join_timeout)
    late = [one for one in leaving if case.now >= since[one.name] + limit]
    if late:
        return Line(Reason.LEAVING, f"{message}; {standing.held_by(late[0])}", due=_due(case, unready))
    times = [_due(case, unready), *(time + limit for time in since.values())]
    due = min(time for time in times if time is not None)
    return Line(Reason.LEAVING, message, State.ON_THE_WAY, due=due)


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
            f" yet: {_removing(case.too_many[0])}"
        )
    if strays := sorted(_strays(case)):
        yield (
            f"{counted(len(strays), 'node')} of the pool without a machine: {some(strays)}; a machine that is"
            f" made under such a name takes the node up; `shiplift drain {strays[0]}`, then"
            f" `kubectl delete node {strays[0]}` remove one"
        )
    if old := [one.name for one in case.wanted if one.node and _other_version(case, one.node)]:
        yield (
            f"{counted(len(old), 'node')} of another version than the pool's, {case.spec.version}:"
            f" {some(old)}; a NodeRollout changes nodes, the pool only those that it makes"
        )
    if replaced := [one.name for one in case.kept if one.machine.spec.replace]:
        yield f"{some(replaced)} should be replaced: that is still to come"
    if other := [one.name for one in case.wanted if one.node and _differs(case, one.node)]:
        yield (
            f"labels or taints of the pool are not on {counted(len(other), 'node')}: {some(other)}; a node"
            " gets them when it is made, and later by kubectl"
        )


def _removing(one: Kept) -> str:
    """How somebody removes it."""
    if one.node is None:
        return f"`kubectl delete machine {one.name}` removes one"
    return (
        f"`shiplift drain {one.name}`, then `kubectl delete node {one.name}` and"
        f" `kubectl delete machine {one.name}` remove one"
    )


def _other_version(case: Case, node: Node) -> bool:
    return versions.normal(node.kubelet_version) != versions.normal(case.spec.version)


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
