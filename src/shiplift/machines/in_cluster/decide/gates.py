"""Why nothing is made for a pool, in this order: what comes first is told. Each names the thing, and what
would help; none has a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from shiplift.api.machines import Provider, Role
from shiplift.api.marks import POOL_LABEL
from shiplift.api.values import duration
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import GROUP, MACHINE, NODE
from shiplift.facts.nodes import CONTROL_PLANE, GIVEN_LABELS, WORKER, ZONE, is_simulated
from shiplift.facts.quantities import parse
from shiplift.machines.in_cluster.decide.case import Case, own_node
from shiplift.machines.in_cluster.model import Line, Reason, State, machine_of
from shiplift.machines.names import LABEL_KEY

LONGEST_NAME = 58
"""A node's name is a label's value too, of 63 characters; the number of a machine takes up to five."""
MOST = 10_000
"""Simulated machines of all pools together."""
_LARGEST = {"cpu": "1024", "memory": "64Ti"}
_KUBERNETES = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")
_ROLES = "node-role.kubernetes.io/"


def _deleted(case: Case) -> Line | None:
    if not case.row.deleting:
        return None
    stays = f"its nodes stay until `kubectl delete nodes -l {POOL_LABEL}={case.name}`" if case.kept else ""
    message = f"being deleted: nothing is made for it{'; ' if stays else ''}{stays}"
    return Line(Reason.DELETED, message, State.ON_THE_WAY)


def _claimed_twice(case: Case) -> Line | None:
    if not case.claims:
        return None
    return Line(Reason.CLAIMED_TWICE, f"{case.claims[0]}: nothing is done; leave it to one of them")


def _led_by_laptop(case: Case) -> Line | None:
    if case.spec.provider is not Provider.STATIC:
        return None
    return Line(
        Reason.LAPTOP_LEADS,
        "whoever runs `shiplift bootstrap` leads these machines: that adds them, and the cluster does nothing"
        " to them; that the cluster takes over is still to come",
        State.NOT_OURS,
    )


def _to_come(case: Case) -> Line | None:
    if case.spec.provider is Provider.KWOK:
        return None
    return Line(
        Reason.PROVIDER_TO_COME,
        f"no machines can be made with provider {case.spec.provider.value} yet: nothing is done;"
        " `shiplift bootstrap` takes hosts that are there, with provider Static",
    )


def _too_long(case: Case) -> Line | None:
    if len(case.name) <= LONGEST_NAME:
        return None
    return Line(
        Reason.NAME_TOO_LONG,
        f"the pool's name has {len(case.name)} characters, and a node's name would have more than a label"
        f" takes: at most {LONGEST_NAME}; nothing is made",
    )


def _too_large(case: Case) -> Line | None:
    for what, given in (("cpu", case.kwok.cpu), ("memory", case.kwok.memory)):
        if parse(given) > parse(most := _LARGEST[what]):
            return Line(
                Reason.TOO_LARGE,
                f"kwok.{what} is {given}, and no machine has that much: at most {most}; nothing is made",
            )
    if case.spec.replicas and (asked := case.before + case.spec.replicas) > MOST:
        return Line(
            Reason.TOO_LARGE,
            f"with {case.before} simulated machines of older pools that makes {asked}: at most {MOST};"
            " nothing is made, lower its replicas",
        )
    return None


def _refused_label(case: Case) -> Line | None:
    """Neither what shiplift or every node itself gives, nor what no node can have."""
    given = [("label", key) for key in sorted(case.spec.labels)]
    given += [("taint", one.key) for one in case.spec.taints]
    for what, key in given:
        if why := _wrong(case, key, of_label=what == "label"):
            place = f"spec.{what}s"
            return Line(Reason.LABEL_REFUSED, f"{what} {key}: {why}; nothing is made, take it out of {place}")
    return None


def _wrong(case: Case, key: str, *, of_label: bool) -> str:
    domain = key.rpartition("/")[0]
    if not LABEL_KEY.fullmatch(key):
        return "no node can have that"
    if domain == GROUP or domain.endswith(f".{GROUP}"):
        return "shiplift's own are for shiplift to give"
    if of_label and (key in GIVEN_LABELS or (key == ZONE and case.kwok.zones)):
        return "every node is given that already"
    if not of_label and domain in _KUBERNETES:
        return "Kubernetes itself gives and takes that"
    if key.startswith(_ROLES) and (of_label or key in CONTROL_PLANE):
        return "the role of a machine is said by role"
    return ""


def _unreadable(case: Case) -> Line | None:
    for name in _names(case):
        for kind in (MACHINE, NODE):
            if why := case.view.unreadable.get((kind, name)):
                return Line(Reason.UNREADABLE, f"{kind} {name} cannot be read: {why}; nothing is made")
    return None


def _leaving(case: Case) -> Line | None:
    """An earlier pool of this name had a machine of that name, and the garbage collector is about to come."""
    for name in case.missing:
        row = case.view.machines.get(name)
        if row is not None and _is_of_earlier(case, row):
            message = f"Machine {name} is of an earlier pool of this name, and still to be collected"
            since = datetime.fromtimestamp(max(row.deleting, case.row.created), UTC)
            due = since + duration(case.spec.join_timeout)
            if case.now < due:
                return Line(Reason.LEAVING, message, State.ON_THE_WAY, due=due)
            held = f"finalizer {row.finalizers[0]} holds it" if row.finalizers else "nobody collects it"
            return Line(Reason.LEAVING, f"{message}; {held}")
    return None


def _taken(case: Case) -> Line | None:
    for name in case.missing:
        if (row := case.view.machines.get(name)) is not None:
            return Line(
                Reason.NAME_TAKEN,
                f"Machine {name} is there and {_whose(row)}: nothing is made; delete it, or give this pool"
                " another name",
            )
    for name in _names(case):
        if name in case.view.nodes and own_node(case.view, case.name, name) is None:
            return Line(Reason.NAME_TAKEN, _not_ours(case, name))
    return None


def _not_ours(case: Case, name: str) -> str:
    """Of a node with a name of ours: somebody may have taken our label off it."""
    told = f"Node {name} is there and is not a simulated one of this pool: nothing is made"
    ours = any(one.name == name for one in case.kept) and is_simulated(case.view.nodes[name])
    label = f"`kubectl label --overwrite node {name} {POOL_LABEL}={case.name}` gives it back its label"
    return f"{told}; {label if ours else 'give this pool another name'}"


def _names(case: Case) -> Iterator[str]:
    """Of all machines that it asks for."""
    yield from (one.name for one in case.wanted)
    yield from case.missing


def _is_of_earlier(case: Case, row: Custom) -> bool:
    owner = row.controller
    return owner is not None and owner.name == case.name and machine_of(row).spec.pool == case.name


def _whose(row: Custom) -> str:
    owner = row.controller
    return f"belongs to {owner.kind} {owner.name}" if owner else "belongs to no pool"


GATES: tuple[Callable[[Case], Line | None], ...] = (
    _deleted,
    _claimed_twice,
    _led_by_laptop,
    _to_come,
    _too_long,
    _too_large,
    _refused_label,
    _unreadable,
    _leaving,
    _taken,
)


def stopped(case: Case) -> Line | None:
    """The first reason why nothing is made."""
    return next((line for gate in GATES if (line := gate(case)) is not None), None)


ROLE_LABELS = {Role.CONTROL_PLANE: CONTROL_PLANE[0], Role.WORKER: WORKER}
"""The label by which a node says its role."""
