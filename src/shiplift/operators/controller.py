"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import cast

import msgspec

from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.cluster import CustomResourceDefinition
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.workloads import Deployment
from shiplift.kube import api_servers, authors, served
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.rbac import GROUP as RBAC
from shiplift.kube.rbac import rule
from shiplift.kube.watch import Watch
from shiplift.operators.act.actor import Actor
from shiplift.operators.decide.decision import decide
from shiplift.operators.model import (
    About,
    AppView,
    CrdView,
    Decided,
    InstallView,
    Key,
    Loop,
    OwnedView,
    RequirementView,
    View,
)
from shiplift.operators.names import BUNDLE, NAME, REQUIRED, UPGRADE
from shiplift.operators.observe.checks import Checks
from shiplift.operators.observe.observer import OF_APP_TYPE, OF_VERSION, READS, Observer, matters_to_turn
from shiplift.operators.observe.shelf import Shelf
from shiplift.operators.rows import holds
from shiplift.operators.tell.metrics import OperatorsCollector
from shiplift.operators.tell.publish import Publisher


class Operators:
    """The layer, for one term of leading."""

    def __init__(self, context: Context, now: Callable[[], datetime] = clock.now) -> None:
        client, store = context.client, context.store
        checks = Checks()
        self._now, self._changes = now, contested.Memory()
        self._shelf = shelf = Shelf(client, store, context.probing, now)
        self._observer = Observer(store, client, shelf, checks, lambda: _version(client))
        self._actor = Actor(client, shelf, checks, f"term-{context.epoch}")
        self._publisher = Publisher(client, context.recorder, context.wake)

    def observe(self, key: Key, outcomes: Outcomes) -> tuple[Loop, View]:
        seen = self._observer.observe(key, outcomes)
        if isinstance(seen, InstallView | AppView | OwnedView | RequirementView | CrdView):
            seen = msgspec.structs.replace(seen, changes=dict(self._changes.changes))
        return key.loop, seen

    def decide(self, view: tuple[Loop, View], now: datetime) -> Decided:
        loop, seen = view
        return decide(seen, now, loop)

    def act(self, step: Step) -> Outcome:
        outcome = self._actor.act(step)
        if outcome.ok:
            self._changes.note(step, self._now())
        return outcome

    def publish(self, key: Key, decision: Decided) -> Iterable[Barrier | Requeue]:
        yield from self._publisher.publish(decision)
        if decision.news:
            self._shelf.spread(key.name, decision.news)


def _version(client: Client) -> str:
    """Of the server that answers; empty where none does."""
    try:
        return served.version(client)
    except KubeError:
        return ""


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    """What changes is looked at; where it may matter to others, so are they."""
    row = new or old
    if row is None:
        return (Key(Loop.USHER),)
    match kind:
        case kinds.APP_TYPE:
            return _of_ours(OF_APP_TYPE, old, new, row)
        case kinds.OPERATOR_VERSION:
            return _of_ours(OF_VERSION, old, new, row)
        case kinds.OPERATOR_CATALOG:
            return (Key(Loop.SOURCE, "", row.name), *((Key(Loop.USHER),) if new is None else ()))
        case kinds.CUSTOM_RESOURCE_DEFINITION:
            return _of_crd(old, new, row)
        case _:
            return _of_others(kind, old, new, row)


def _of_ours(loops: tuple[Loop, ...], old: Row | None, new: Row | None, row: Row) -> list[Key]:
    keys = [Key(loop, row.namespace, row.name) for loop in loops]
    if old is None or new is None:
        return [*keys, Key(Loop.USHER)]
    if _essence(old) != _essence(new):
        keys.append(Key(Loop.USHER, row.namespace, row.name))
    if _runs(old) != _runs(new):
        keys.append(Key(Loop.USHER))
    return keys


def _runs(row: Row) -> bool:
    """What operators that require it wait for."""
    return holds(cast("Custom", row), About.INSTALLED)


def _essence(row: Row) -> object:
    """What decisions about other objects depend on."""
    custom = cast("Custom", row)
    said = tuple((one.type, one.status, one.reason) for one in custom.object.status.conditions)
    return custom.object.spec, row.deleting, row.finalizers, row.annotations, said


def _of_crd(old: Row | None, new: Row | None, row: Row) -> list[Key]:
    if old is not None and new is not None and _served(old) == _served(new):
        return []
    required = row.labels.get(REQUIRED) == "true"
    changed = old is not None and (new is None or old.generation != new.generation)
    by_name = [Key(Loop.USHER, "", row.name)] if changed else []
    return [Key(Loop.USHER), *([Key(Loop.CRD, "", row.name)] if required else []), *by_name]


def _served(row: Row) -> object:
    crd = cast("CustomResourceDefinition", row)
    said = tuple((one.type, one.status) for one in crd.conditions)
    return crd.versions, said, crd.deleting, crd.labels, crd.annotations, crd.generation


def _of_others(kind: Kind, old: Row | None, new: Row | None, row: Row) -> Iterable[Key]:
    """Deployments of operators, the upgrade of the cluster, and namespaces that go."""
    match kind:
        case kinds.DEPLOYMENT:
            return _of_deployment(old, new)
        case kinds.UPGRADE_CONFIG:
            before, after = (matters_to_turn(cast("Custom", one)) if one else None for one in (old, new))
            return (Key(Loop.USHER),) if before != after else ()
        case kinds.NAMESPACE if new is not None and new.deleting:
            return (Key(Loop.USHER, row.name),)
        case _:
            return ()


def _of_deployment(old: Row | None, new: Row | None) -> Iterable[Key]:
    """That of an operator; and one that says nothing may be one off which somebody took our marks, or that
    was replaced whole."""
    for row in (new, old):
        if row is not None and BUNDLE in row.annotations:
            changed = old is None or new is None or _running(old) != _running(new)
            return (Key(Loop.USHER, row.namespace, row.annotations[BUNDLE]),) if changed else ()
    if new is None or (old is not None and _wanted(old) == _wanted(new)):
        return ()
    return (Key(Loop.USHER, new.namespace),)


def _wanted(row: Row) -> int:
    return cast("Deployment", row).replicas


def _running(row: Row) -> object:
    one = cast("Deployment", row)
    counts = (one.replicas, one.current_replicas, one.updated_replicas, one.available_replicas)
    return counts, one.generation, one.observed_generation, one.annotations, one.deleting


_OURS = [kinds.APP_TYPE.plural, kinds.OPERATOR_VERSION.plural]
_STATUSES = [
    f"{one.plural}/status" for one in (kinds.APP_TYPE, kinds.OPERATOR_VERSION, kinds.OPERATOR_CATALOG)
]
RULES = (
    rule(kinds.GROUP, [kinds.APP_TYPE.plural], ["get", "create", "patch", authors.INSTALL]),
    rule(kinds.GROUP, [kinds.OPERATOR_VERSION.plural], ["get", "create", "patch", "delete"]),
    rule(kinds.GROUP, [f"{one}/finalizers" for one in _OURS], ["update"]),
    rule(kinds.GROUP, [kinds.OPERATOR_CATALOG.plural], ["get"]),
    rule(kinds.GROUP, [kinds.UPGRADE_CONFIG.plural], ["get"], [UPGRADE]),
    rule(kinds.GROUP, _STATUSES, ["patch"]),
    rule("discovery.k8s.io", ["endpointslices"], ["get"], [api_servers.NAME]),
)
"""On our own objects only. What operators consist of is changed as the AppType's account, which an
administrator lets us act as, account by account (`shiplift manifests --account`)."""
_WRITES = ["create", "update", "patch", "delete"]
FENCED = (
    rule("", ["configmaps", "secrets", "services", "serviceaccounts"], _WRITES),
    rule(RBAC, ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], _WRITES),
    rule("apps", ["deployments"], _WRITES),
    rule("batch", ["jobs"], _WRITES),
    rule("policy", ["poddisruptionbudgets"], _WRITES),
    rule("networking.k8s.io", ["networkpolicies"], _WRITES),
    rule("scheduling.k8s.io", ["priorityclasses"], _WRITES),
    rule("apiextensions.k8s.io", ["customresourcedefinitions", "customresourcedefinitions/status"], _WRITES),
)
"""What is written in the name of such accounts: a leader that is over writes none of it. Custom resources are
only written as they were read, which is harmless however late it comes."""

PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    Operators,
    RULES,
    manifests=(*authors.hand_overs(), *authors.installers()),
    collector=OperatorsCollector,
    granted_rules=FENCED,
    undone_without=READS[3:],
    of_others=(kinds.UPGRADE_CONFIG,),
    written_by_people=(kinds.APP_TYPE, kinds.OPERATOR_CATALOG),
)
