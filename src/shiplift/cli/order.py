"""`shiplift order check`: whether declared orders can be followed in this cluster, before anything moves."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.facts.custom import Custom
    from shiplift.kube.store import Snapshot
    from shiplift.kube.watch import Watch
    from shiplift.workloads.face.order_check import Checked

app = App(name="order", help="Check which workload waits for which, before anything moves.")
_MOST_BYTES = 8_000_000
Json = dict[str, Any]


@app.command
def check(
    file: Annotated[Path | None, Parameter(show_default=False, allow_leading_hyphen=True)] = None,
    /,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], show_default=False)] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Check WorkloadOrders against the cluster: names that are not there, and cycles.

    Exit 0: all can be followed. Exit 1: something cannot. Other objects in a file are left alone.

    Parameters
    ----------
    file
        YAML or JSON with WorkloadOrders, `-` is stdin. Without one: those of the cluster.
    namespace
        Only the cluster's orders of this namespace; of a file, where orders without one are meant for.
    """
    from shiplift.workloads.face import order_check
    from shiplift.workloads.face.links import declared

    with access.client_of(kubeconfig, context) as client:
        home = namespace or client.credentials.namespace
        given = read(_text(file), home, file) if file else None
        snapshot = access.collected(client.credentials, _watches())
    stored = _stored(snapshot)
    orders = given if given is not None else [row for row in stored if namespace in ("", row.namespace)]
    if not orders:
        raise CommandError(f"there is no WorkloadOrder {f'in {file}' if file else _where(namespace)}", _HOW)
    names = {(row.namespace, row.name) for row in orders}
    others = [row for row in stored if (row.namespace, row.name) not in names]
    _tell(order_check.check(orders, others, declared(snapshot)))


_HOW = "shiplift explain KIND/NAME tells what a workload waits for, wherever that is declared"


def _where(namespace: str) -> str:
    return f"in namespace {namespace}" if namespace else "in this cluster"


def _watches() -> list[Watch]:
    from shiplift.facts import kinds
    from shiplift.kube.watch import Watch

    return [Watch(kind) for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.WORKLOAD_ORDER)]


def _stored(snapshot: Snapshot) -> list[Custom]:
    from shiplift.facts.kinds import WORKLOAD_ORDER

    for name, why in snapshot.undecodable(WORKLOAD_ORDER).items():
        raise CommandError(f"WorkloadOrder {name} cannot be read: {why}", "repair it, or delete it")
    return sorted(snapshot.customs(WORKLOAD_ORDER), key=lambda row: (row.namespace, row.name))


def _text(file: Path) -> bytes:
    if str(file).startswith("-") and str(file) != "-":
        raise CommandError(f"unknown option: {file}", f"a file of that name is ./{file}")
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as source:
            text = source.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"cannot read {file}: {error.strerror}", "name a file with WorkloadOrders"
        ) from error
    if len(text) > _MOST_BYTES:
        raise CommandError(f"{file} is larger than {_MOST_BYTES:,} bytes", "check it in parts")
    return text


def read(text: bytes, namespace: str, file: object = "-") -> list[Custom]:
    """The WorkloadOrders in the text of that file; those that name no namespace are meant for this one."""
    import yaml

    from shiplift.api.registry import UnfitObjectError

    try:
        return [_row(one, namespace, file) for one in _orders(yaml.safe_load_all(text))]
    except yaml.YAMLError as error:
        raise CommandError(f"{_called(file)} is no YAML: {error}", _WANTED) from error
    except UnfitObjectError as error:
        raise CommandError(f"in {_called(file)}: {error}", _EXPLAIN) from error
    except RecursionError as error:
        raise CommandError(
            f"{_called(file)} is nested too deeply, or something in it contains itself", _WANTED
        ) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise CommandError(f"{_called(file)} has what no object can have: {error}", _WANTED) from error


_WANTED = "a file with WorkloadOrders is wanted, as `kubectl apply` takes it"
_EXPLAIN = "kubectl explain workloadorder.spec tells what may stand there"


def _called(file: object) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _row(order: Json, namespace: str, file: object) -> Custom:
    import msgspec

    from shiplift.facts.kinds import WORKLOAD_ORDER
    from shiplift.kube.rows.custom import decoder

    said = order.get("apiVersion")
    if said != WORKLOAD_ORDER.api_version:
        raise CommandError(
            f"in {_called(file)}: apiVersion of a WorkloadOrder is {said!r}",
            f"it has to be {WORKLOAD_ORDER.api_version}",
        )
    return decoder(WORKLOAD_ORDER)(msgspec.json.encode(_placed(order, namespace)))


def _orders(documents: Iterable[Any]) -> list[Json]:
    """Our WorkloadOrders among these objects, those in Lists too."""
    found: list[Json] = []
    for one in documents:
        if not isinstance(one, dict):
            continue
        object_ = cast("Json", one)
        items = object_.get("items")
        if isinstance(items, list):
            found += _orders(cast("list[Any]", items))
        elif object_.get("kind") == "WorkloadOrder" and not _is_of_others(object_):
            found.append(object_)
    return found


def _is_of_others(object_: Json) -> bool:
    """Whether another API group has a kind of that name."""
    from shiplift.facts.kinds import GROUP

    group, slash, _ = str(object_.get("apiVersion", "")).partition("/")
    return bool(slash) and group != GROUP


def _placed(order: Json, namespace: str) -> Json:
    about = order.get("metadata")
    if not isinstance(about, dict):
        return order
    return order | {"metadata": {"namespace": namespace} | cast("Json", about)}


def _tell(checked: list[Checked]) -> None:
    """A line for each order, and one for each thing that is wrong with it."""
    from shiplift.view.values import plain

    wrong = 0
    for one in checked:
        workloads = "1 workload" if one.workloads == 1 else f"{one.workloads} workloads"
        dependencies = "1 dependency" if one.dependencies == 1 else f"{one.dependencies} dependencies"
        line = f"{one.order}: {workloads}, {dependencies}, {_judged(len(one.findings))}"
        sys.stdout.write(plain(line) + "\n")
        for finding in one.findings:
            hint = f"; {finding.hint}" if finding.hint else ""
            sys.stdout.write(f"  {plain(finding.message + hint)}\n")
        wrong += len(one.findings)
    sys.stdout.flush()
    if wrong:
        orders = "1 order" if len(checked) == 1 else f"{len(checked)} orders"
        raise CommandError(f"{_judged(wrong)} in {orders}", "correct the names, then check again")
    say("fine: everything that is named is there, and nothing waits for itself")


def _judged(findings: int) -> str:
    return "fine" if not findings else "1 problem" if findings == 1 else f"{findings} problems"
