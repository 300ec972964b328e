"""`shiplift order check`: a slip in an order is found before anything moves."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiplift.cli.order import read
from shiplift.cli.output import CommandError
from shiplift.facts.kinds import DEPLOYMENT, WORKLOAD_ORDER
from shiplift.facts.meta import Labels
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.workloads.face.order_check import check
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.dependencies import DEPENDS_ON, Declared

main = importlib.import_module("shiplift.cli.main")


def order(about: str, dependent: str, dependency: str) -> str:
    return f"""
apiVersion: shiplift.dev/v1alpha1
kind: WorkloadOrder
metadata: {about}
spec:
  workloads:
  - {{kind: Deployment, name: {dependent}, dependsOn: [{{kind: Deployment, name: {dependency}}}]}}
"""


FINE = order("{name: shop, namespace: shop}", "web", "api")
BACK = order("{name: back, namespace: shop}", "api", "web")
SLIPS = order("{name: shop}", "webb", "db")
AN_ORDER = b"apiVersion: shiplift.dev/v1alpha1\nkind: WorkloadOrder\n"
ROUND = """
apiVersion: v1
kind: List
items:
- apiVersion: shiplift.dev/v1alpha1
  kind: WorkloadOrder
  metadata: {name: there, namespace: shop}
  spec: {workloads: [{kind: Deployment, name: web, dependsOn: [{kind: Deployment, name: api}]}]}
- kind: ConfigMap
  metadata: {name: something-else}
"""


def declared(kind: str, name: str, **annotations: str) -> Declared:
    return Declared(WorkloadId(kind, "shop", name), Labels(annotations), Labels({}))


THERE = [declared("Deployment", "web"), declared("Deployment", "api"), declared("StatefulSet", "db")]


def cycle_of(*names: str) -> list[Declared]:
    """Each waits for the next, the last for the first."""
    return [
        declared("Deployment", name, **{DEPENDS_ON: f"apps/namespaces/shop/Deployment/{other}"})
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    ]


def findings(text: str, *others: str, there: list[Declared] = THERE) -> list[str]:
    more = [row for other in others for row in read(other.encode(), "shop")]
    found = check(read(text.encode(), "shop"), more, there)
    return [f"{one.message}|{one.hint}" for order in found for one in order.findings]


def test_an_order_that_can_be_followed_is_fine() -> None:
    assert findings(FINE) == []


def test_names_that_are_not_there_are_found_with_what_may_be_meant() -> None:
    assert findings(SLIPS) == [
        "Deployment shop/webb does not exist: its dependsOn has no effect|did you mean Deployment shop/web?",
        "Deployment shop/webb waits for Deployment shop/db, which does not exist"
        "|did you mean StatefulSet shop/db?",
    ]


def test_a_cycle_is_found_though_others_declare_the_rest_of_it() -> None:
    back = {DEPENDS_ON: "apps/namespaces/shop/Deployment/web"}
    there = [declared("Deployment", "web"), declared("Deployment", "api", **back)]
    (found,) = findings(ROUND, there=there)
    assert "a cycle: Deployment shop/web -> Deployment shop/api -> Deployment shop/web" in found
    assert "said by WorkloadOrder shop/there, annotation config.kubernetes.io/depends-on" in found


def test_a_cycle_is_found_though_another_order_has_the_rest_of_it() -> None:
    (found,) = findings(FINE, BACK)
    assert "said by WorkloadOrder shop/back, WorkloadOrder shop/shop" in found


def test_a_cycle_of_others_is_theirs() -> None:
    assert findings(FINE, there=[*THERE, *cycle_of("x", "y")]) == []


def test_of_a_long_cycle_the_first_members_are_named() -> None:
    names = ["web", "api", *(f"w{number}" for number in range(7))]
    (found,) = findings(FINE, there=cycle_of(*names))
    assert found.startswith("a cycle: Deployment shop/web -> Deployment shop/api -> Deployment shop/w0 -> ")
    assert "shop/w5 -> … (said by " in found


def test_only_those_are_named_that_the_way_round_leads_through() -> None:
    """api waits for b, and b and web for each other: the way from api leads into that cycle and stays."""
    into = ROUND.replace("name: api", "name: b")
    back = {DEPENDS_ON: "apps/namespaces/shop/Deployment/web,apps/namespaces/shop/Deployment/api"}
    there = [*cycle_of("api", "b")[:1], *THERE[:1], declared("Deployment", "b", **back)]
    (found,) = findings(into, there=there)
    assert found.startswith("a cycle: Deployment shop/b -> Deployment shop/web -> Deployment shop/b (said by")


def test_how_much_an_order_says_is_counted() -> None:
    more = FINE.replace("dependsOn: [", "dependsOn: [{kind: StatefulSet, name: db}, ")
    (found,) = check(read(more.encode(), "shop"), [], THERE)
    assert (found.order, found.workloads, found.dependencies) == ("WorkloadOrder shop/shop", 1, 2)


def test_a_workload_that_waits_for_itself_is_found() -> None:
    assert findings(FINE.replace("name: api", "name: web")) == [
        "Deployment shop/web cannot depend on itself|"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "is no YAML"),
        (SLIPS.replace("name: webb", "name: Webb").encode(), "spec.workloads"),
        (AN_ORDER + b"metadata: {name: x}\n", "WorkloadOrder"),
        (AN_ORDER + b"metadata: {name: a}\nspec: {workloads: [{~: 1}]}\n", "has what no object can have"),
        (AN_ORDER + b"metadata: {name: a, generation: " + b"9" * 5000 + b"}\n", "has what no object can"),
        (AN_ORDER + b'metadata: {name: "\\ud800"}\n', "has what no object can have"),
        (FINE.replace("name: shop,", "name: shop, resourceVersion: x,").encode(), "has what no object can"),
        (b"kind: List\nitems: &a [{kind: List, items: *a}]\n", "contains itself"),
        (b"&a\n" + AN_ORDER + b"metadata: {name: a}\nspec: {x: *a}\n", "contains itself"),
        (b"[" * 600, "nested too deeply"),
        (b"kind: WorkloadOrder\nmetadata: {name: x}\n", "apiVersion of a WorkloadOrder is None"),
        (FINE.replace("v1alpha1", "v9").encode(), "apiVersion of a WorkloadOrder is 'shiplift.dev/v9'"),
        (AN_ORDER + b"metadata: 5\n", "WorkloadOrder"),
    ],
)
def test_what_is_no_order_is_refused_in_a_line_that_names_the_file(text: bytes, message: str) -> None:
    with pytest.raises(CommandError, match=message) as refused:
        read(text, "shop", "orders.yaml")
    assert "orders.yaml" in refused.value.message
    assert refused.value.hint
    with pytest.raises(CommandError, match="standard input"):
        read(text, "shop")


def test_a_kind_of_that_name_in_another_api_group_is_left_alone() -> None:
    assert read(FINE.replace("shiplift.dev/", "example.com/").encode(), "shop") == []


def test_other_objects_in_a_file_are_left_alone() -> None:
    assert [row.name for row in read(ROUND.encode(), "shop")] == ["there"]
    assert read(b"kind: ConfigMap\n---\n[1]\n---\nnull\n", "shop") == []


def test_an_order_is_meant_for_the_namespace_that_it_names() -> None:
    rows = read(f"{FINE}---{SLIPS}".encode(), "elsewhere")
    assert [row.namespace for row in rows] == ["shop", "elsewhere"]


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shiplift.cli.order._MOST_BYTES", len(FINE) - 1)
    file = tmp_path / "order.yaml"
    file.write_text(FINE)
    code = main.run(["order", "check", str(file), "--kubeconfig", str(a_kubeconfig(tmp_path))])
    said = capsys.readouterr().err.splitlines()
    assert (code, said[0]) == (1, f"error: {file} is larger than {len(FINE) - 1:,} bytes")


def test_a_slip_in_an_option_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["order", "check", "--namspace", "--kubeconfig", str(a_kubeconfig(tmp_path))])
    said = capsys.readouterr().err.splitlines()
    assert (code, said) == (
        1,
        ["error: unknown option: --namspace", "hint: a file of that name is ./--namspace"],
    )


def a_kubeconfig(folder: Path) -> Path:
    """Of a cluster that nobody asks."""
    file = folder / "config"
    file.write_text(
        "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: a, user: {}}]}"
    )
    return file


# --- on a cluster ---

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str, str]:
        code = main.run(["order", "check", *words, "--kubeconfig", str(api_server.kubeconfig)])
        return code, *capsys.readouterr()

    return command


def a_deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }


def test_a_file_is_checked_against_the_cluster(
    run: Run, client: Client, space: Callable[[str], str], tmp_path: Path
) -> None:
    shop = space("ordered")
    for name in ("web", "api", "dbs"):
        client.create(DEPLOYMENT, a_deployment(name), shop)
    file = tmp_path / "order.yaml"
    file.write_text(SLIPS)
    code, said, errors = run(str(file), "-n", shop)
    assert code == 1
    assert said.splitlines() == [
        "WorkloadOrder ordered/shop: 1 workload, 1 dependency, 2 problems",
        "  Deployment ordered/webb does not exist: its dependsOn has no effect;"
        " did you mean Deployment ordered/web?",
        "  Deployment ordered/webb waits for Deployment ordered/db, which does not exist;"
        f" did you mean Deployment {shop}/dbs?",
    ]
    assert errors.startswith("error: 2 problems in 1 order\nhint: ")
    file.write_text(FINE.replace("namespace: shop", f"namespace: {shop}"))
    code, said, _ = run(str(file))
    assert (code, said) == (0, "WorkloadOrder ordered/shop: 1 workload, 1 dependency, fine\n")


def test_the_orders_of_a_cluster_are_checked(run: Run, client: Client, space: Callable[[str], str]) -> None:
    shop, other = space("ordered-too"), space("ordered-elsewhere")
    entry = {"kind": "Deployment", "name": "web", "dependsOn": [{"kind": "Deployment", "name": "wbe"}]}
    body = {"metadata": {"name": "order"}, "spec": {"workloads": [entry]}}
    theirs = client.create(WORKLOAD_ORDER, body, other).object
    code, _, errors = run("-n", shop)
    assert (code, errors.splitlines()[0]) == (1, f"error: there is no WorkloadOrder in namespace {shop}")
    client.create(DEPLOYMENT, a_deployment("web"), shop)
    made = client.create(WORKLOAD_ORDER, body, shop).object
    code, said, _ = run("-n", shop)
    assert code == 1
    assert other not in said
    assert f"WorkloadOrder {shop}/order: 1 workload, 1 dependency, 1 problem\n" in said
    assert f"waits for Deployment {shop}/wbe, which does not exist; did you mean" in said
    for one in (made, theirs):
        about = one["metadata"]
        client.delete(WORKLOAD_ORDER, "order", about["namespace"], uid=about["uid"])


def test_a_file_that_is_not_there_is_a_line_and_a_hint(run: Run) -> None:
    code, _, errors = run("/nowhere/order.yaml")
    assert (code, errors.splitlines()[0]) == (
        1,
        "error: cannot read /nowhere/order.yaml: No such file or directory",
    )


def test_standard_input_is_a_file_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SLIPS.encode())))
    code, said, _ = run("-", "-n", "nobody-here")
    told = "WorkloadOrder nobody-here/shop: 1 workload, 1 dependency, 2 problems"
    assert (code, said.splitlines()[0]) == (1, told)
