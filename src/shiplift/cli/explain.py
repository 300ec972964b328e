"""`shiplift explain deploy/x`: one workload, what it waits for and who waits for it; no operator needed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError

if TYPE_CHECKING:
    from shiplift.api.workloads import WorkloadMigration
    from shiplift.facts.meta import Row
    from shiplift.kube.client import Client
    from shiplift.kube.store import Snapshot
    from shiplift.view.explanation import Explanation, Known, Workload

app = App(name="explain", help="Say what a workload waits for, and who waits for it.")
_DEPLOYMENT, _STATEFUL_SET = "Deployment", "StatefulSet"
_KINDS = {
    **dict.fromkeys(
        ("deploy", "deployment", "deployments", "deployment.apps", "deployments.apps"), _DEPLOYMENT
    ),
    **dict.fromkeys(
        ("sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps"), _STATEFUL_SET
    ),
}
_MOST_CHOICES = 5
R = TypeVar("R", bound="Row")
Key = tuple[str, str, str]
"""Kind, namespace, name."""


@app.default
def explain(
    what: str,
    /,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], show_default=False)] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what a workload waits for, and who waits for it.

    Parameters
    ----------
    what
        The workload: deploy/NAME or sts/NAME.
    namespace
        Where it is. Default: the kubeconfig's, or the only one that has it.
    """
    from shiplift.cli.migration_layout import explanation

    kind, name = read_name(what)
    with access.client_of(kubeconfig, context) as client:
        explained = _explained(client, Wanted(kind, name, namespace))
    access.show(access.terminal(), explanation(explained))


class Wanted(NamedTuple):
    """What was asked for; where kind or namespace is empty, any will do."""

    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.kind or 'workload'} {self.name}{where}"


def read_name(text: str) -> tuple[str, str]:
    """The kind (none where none was given) and the name that `deploy/web` or `web` mean."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in _KINDS:
        raise CommandError(
            f"{kind!r} is no kind of workload that is moved", "deploy/NAME or sts/NAME, and -n NAMESPACE"
        )
    if not name:
        raise CommandError(f"{text!r} names no workload", "deploy/NAME or sts/NAME")
    return _KINDS[kind.lower()] if slash else "", name


def resolve(wanted: Wanted, here: str, there: Collection[Key]) -> Key:
    """The one workload of those there that is meant; without a namespace, one that is `here` comes first."""
    named = [key for key in there if key[2] == wanted.name]
    fitting = [key for key in named if key[0] == (wanted.kind or key[0])]
    if wanted.namespace:
        fitting = [key for key in fitting if key[1] == wanted.namespace]
    fitting = [key for key in fitting if key[1] == here and not wanted.namespace] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise CommandError(f"there are {len(fitting)} of {wanted}", f"one of {_choices(fitting)}")
    raise CommandError(f"there is no {wanted}", _near(wanted, named, there))


def _near(wanted: Wanted, named: list[Key], there: Collection[Key]) -> str:
    """The same name elsewhere, or one that is nearly the same."""
    import difflib  # only after a slip

    close = difflib.get_close_matches(wanted.name, {key[2] for key in there}, n=_MOST_CHOICES)
    similar = [key for name in close for key in there if key[2] == name]
    at_home = [key for key in similar if key[1] == wanted.namespace]
    if found := named or at_home or similar:
        return f"did you mean {_choices(found)}?"
    return "kubectl get deployments,statefulsets -A lists them"


def _choices(keys: list[Key]) -> str:
    from shiplift.view.migration import SHORT_KINDS

    shown = [f"{SHORT_KINDS[kind]}/{name} -n {space}" for kind, space, name in keys[:_MOST_CHOICES]]
    more = len(keys) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


def _explained(client: Client, wanted: Wanted) -> Explanation:
    from shiplift.facts import kinds
    from shiplift.kube.watch import Watch
    from shiplift.view.explanation import explanation, key_of

    migration = access.find_migration(client)
    orders = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.WORKLOAD_ORDER)
    workloads = access.collected(client.credentials, map(Watch, orders))
    there = {key_of(row): row for row in _all_workloads(workloads)}
    key = resolve(wanted, client.credentials.namespace, there)
    near = (kinds.POD, kinds.REPLICA_SET, kinds.POD_DISRUPTION_BUDGET, kinds.WORKLOAD_PLACEMENT)
    rest = access.collected(
        client.credentials, [Watch(kinds.NODE), *(Watch(kind, namespace=key[1]) for kind in near)]
    )
    known = _known(there[key], migration, workloads, rest)
    return explanation(_Rows(workloads, rest), there[key], known, int(time.time()))


class _Rows:
    """Workloads of the whole cluster, the rest of one namespace."""

    def __init__(self, workloads: Snapshot, rest: Snapshot) -> None:
        self._workloads, self._rest = workloads, rest

    def all(self, rows: type[R]) -> Iterable[R]:
        whole = rows.__name__ in (_DEPLOYMENT, _STATEFUL_SET)
        return (self._workloads if whole else self._rest).all(rows)


def _all_workloads(snapshot: Snapshot) -> Iterator[Workload]:
    from shiplift.facts.workloads import Deployment, StatefulSet

    yield from snapshot.all(Deployment)
    yield from snapshot.all(StatefulSet)


def _known(
    workload: Workload, migration: WorkloadMigration | None, workloads: Snapshot, rest: Snapshot
) -> Known:
    from shiplift.facts.kinds import WORKLOAD_ORDER, WORKLOAD_PLACEMENT
    from shiplift.facts.workloads import PodDisruptionBudget
    from shiplift.view.explanation import Known, Link, key_of
    from shiplift.workloads import names
    from shiplift.workloads.decide import holds
    from shiplift.workloads.identity import WorkloadId
    from shiplift.workloads.observe.dependencies import Declared, gather

    declared = (
        Declared(WorkloadId(*key_of(row)), row.annotations, row.labels) for row in _all_workloads(workloads)
    )
    edges = gather(declared, workloads.customs(WORKLOAD_ORDER)).edges
    placement = rest.custom(WORKLOAD_PLACEMENT, names.PLACEMENT, workload.namespace)
    return Known(
        links=tuple(Link(one.dependent, one.dependency, one.origin, one.soft) for one in edges),
        migration=migration,
        placement=placement.object if placement else None,
        opted_out=frozenset(
            key_of(row) for row in _all_workloads(workloads) if row.annotations.get(names.SKIP) == "true"
        ),
        holds=frozenset(budget.name for budget in rest.all(PodDisruptionBudget) if holds.is_hold(budget)),
    )
