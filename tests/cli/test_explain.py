"""`shiplift explain` against a real API server: it finds the workload that is meant and tells all of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from rich.text import Text

from shiplift.cli.explain import explained, read_name
from shiplift.cli.output import CommandError
from shiplift.face.parts import ExplainPart, FaceError, Question, Reader
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.local.cluster import Cluster
from shiplift.workloads.face.explain import EXPLAIN
from shiplift.workloads.observe.observer import READS
from tests.cli.conftest import Migrate
from tests.cli.test_layout import GOLDEN
from tests.impersonating import as_user
from tests.until import until
from tests.workloads.face.migrations import NEW, OLD, progress, waiting

main = importlib.import_module("shiplift.cli.main")


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("deploy/web", "deploy", "web"),
        ("Deployment/web", "deployment", "web"),
        ("deployments.apps/web", "deployments.apps", "web"),
        ("sts/db", "sts", "db"),
        ("po/db-0", "po", "db-0"),
        ("web", "", "web"),
    ],
)
def test_a_workload_is_named_as_for_kubectl(text: str, kind: str, name: str) -> None:
    assert read_name(text, [EXPLAIN]) == (kind, name)


@pytest.mark.parametrize("text", ["ds/agent", "shop/web", "deploy/", "", "/", "/web", "a/b/c"])
def test_what_names_no_workload_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(CommandError) as refused:
        read_name(text, [EXPLAIN])
    assert "deploy/NAME" in refused.value.hint


def workload(name: str, replicas: int, **annotations: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": "example"}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


class Shop:
    """A shop half-way through a move, as controllers and operator would have written it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self.namespace = client, namespace

    def make(self, kind: Kind, body: dict[str, Any], **status: Any) -> str:
        namespace = self.namespace if kind.namespaced else ""
        made = self._client.create(kind, body, namespace).object
        if status:
            self._client.update(kind, made | {"status": status}, subresource="status")
        return made["metadata"]["uid"]

    def node(self, name: str, version: str) -> None:
        versions = dict.fromkeys(
            ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"), ""
        ) | {"kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"}
        self.make(kinds.NODE, {"metadata": {"name": name}}, nodeInfo=versions | {"kubeletVersion": version})

    def pod(self, name: str, node: str, owner: tuple[str, str, str], ready: bool) -> None:
        kind, owner_name, uid = owner
        owned = {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": uid, "controller": True}
        body = {
            "metadata": {"name": name, "ownerReferences": [owned], "labels": {"app": name.partition("-")[0]}},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example"}]},
        }
        condition = {"type": "Ready", "status": str(ready)}
        self.make(kinds.POD, body, phase="Running", conditions=[condition])


@pytest.fixture(scope="module")
def shop(client: Client) -> dict[str, str]:
    """The uids of the workloads; it stays for all tests of this module."""
    from shiplift.facts.kinds import NAMESPACE
    from shiplift.local.nodes import SERVICE_ACCOUNT

    client.create(NAMESPACE, {"metadata": {"name": "shop"}})
    client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, "shop")
    made = Shop(client, "shop")
    made.node("old-1", OLD)
    made.node("new-1", NEW)
    uids = {
        "db": made.make(kinds.STATEFUL_SET, workload("db", 3)),
        "queue": made.make(kinds.STATEFUL_SET, workload("queue", 1)),
        "web": made.make(
            kinds.DEPLOYMENT,
            workload(
                "web", 2, **{"config.kubernetes.io/depends-on": "apps/namespaces/shop/StatefulSet/queue"}
            ),
        ),
        "front": made.make(
            kinds.DEPLOYMENT,
            workload(
                "front", 1, **{"config.kubernetes.io/depends-on": "apps/namespaces/shop/Deployment/web"}
            ),
        ),
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": uids["web"],
        "controller": True,
    }
    replica_set = workload("web-1", 2) | {"metadata": {"name": "web-1", "ownerReferences": [owner]}}
    del replica_set["spec"]["serviceName"]
    uids["web-1"] = made.make(kinds.REPLICA_SET, replica_set)
    made.pod("web-1-a", "old-1", ("ReplicaSet", "web-1", uids["web-1"]), ready=True)
    made.pod("web-1-b", "new-1", ("ReplicaSet", "web-1", uids["web-1"]), ready=False)
    refs = [{"kind": "StatefulSet", "name": "db"}, {"kind": "Deployment", "name": "nowhere"}]
    order = [{"kind": "Deployment", "name": "web", "dependsOn": refs}]
    made.make(kinds.WORKLOAD_ORDER, {"metadata": {"name": "order"}, "spec": {"workloads": order}})
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    made.make(
        kinds.POD_DISRUPTION_BUDGET,
        {"metadata": {"name": "web"}, "spec": budget},
        disruptionsAllowed=0,
        currentHealthy=1,
        desiredHealthy=2,
        expectedPods=2,
        observedGeneration=1,
    )
    turns = {"Deployment.web": "Held"}
    placement = {"metadata": {"name": "shiplift"}, "spec": {"target": NEW, "turns": turns}}
    made.make(kinds.WORKLOAD_PLACEMENT, placement)
    return uids


@pytest.fixture
def explain(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        code = main.run(["explain", *words, "--kubeconfig", str(api_server.kubeconfig)])
        return code, *capsys.readouterr()

    return run


def test_all_about_a_workload_is_told(
    explain: Callable[..., tuple[int, str, str]], shop: dict[str, str], migrate: Migrate
) -> None:
    held = waiting("web", "Held", "StatefulSet shop/db", since=None, pods=progress(1, 2))
    moving = waiting("db", "Moving", pods=progress(1, 3))
    migrate(
        {
            "observedGeneration": 1,
            "state": "Upgrade",
            "target": NEW,
            "workloads": [{key: value for key, value in held.items() if value is not None}, moving],
            "met": [shop["queue"]],
        }
    )
    code, said, errors = explain("deploy/web")
    assert (code, errors) == (0, "")
    assert said == (GOLDEN / "explain-real.txt").read_text()


def test_a_pod_is_told_of_with_its_workload(
    explain: Callable[..., tuple[int, str, str]], shop: dict[str, str]
) -> None:
    _, told, _ = explain("deploy/web", "-n", "shop")
    code, said, errors = explain("pod/web-1-b")
    assert (code, errors) == (0, "")
    first, rest = said.split("\n", 1)
    assert first == "Pod         shop/web-1-b, starting on node new-1, v1.36.3"
    assert rest == f"{told}\nNothing to pass  there is no migration\n"
    assert explain("po/web-1-b", "-n", "shop")[1] == said


def test_a_pod_that_is_not_there_or_that_nobody_moves_is_named(
    explain: Callable[..., tuple[int, str, str]], shop: dict[str, str], client: Client
) -> None:
    assert explain("pod/web-1-c")[2] == (
        "error: there is no Pod web-1-c\nhint: kubectl get pods -A lists them\n"
    )
    alone = {"metadata": {"name": "alone"}, "spec": {"containers": [{"name": "main", "image": "example"}]}}
    client.create(kinds.POD, alone, "shop")
    assert explain("pod/alone")[2] == (
        "error: pod shop/alone is of no workload that is moved: nothing controls it\n"
        "hint: only pods of Deployments and StatefulSets are moved\n"
    )


def test_before_there_is_a_migration_the_order_can_be_looked_at(
    explain: Callable[..., tuple[int, str, str]], shop: dict[str, str]
) -> None:
    code, said, _ = explain("sts/db", "-n", "shop")
    assert code == 0
    assert "there is no migration" in said
    assert "Deployment shop/web  -      WorkloadOrder shop/order\n" in said


def test_a_slip_is_answered_from_what_is_there(
    explain: Callable[..., tuple[int, str, str]], shop: dict[str, str]
) -> None:
    assert explain("deploy/wbe") == (
        1,
        "",
        "error: there is no Deployment wbe\nhint: did you mean deploy/web -n shop?\n",
    )


HALFWAY = """\
GATE         WHAT Deployment shop/web HAS TO PASS
open         everything in its namespace can be read
closed       all that it depends on have moved
             WaitsForDependency: waits for StatefulSet shop/db, 0 of 3 pods moved (said by WorkloadOrder \
shop/order) and 1 more
not reached  nobody keeps it from its turn
"""


def test_who_may_only_read_is_told_what_a_pod_has_to_pass(
    api_server: Cluster,
    client: Client,
    shop: dict[str, str],
    migrate: Migrate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    moving = {"observedGeneration": 1, "state": "Upgrade", "target": NEW, "mode": "Inject"}
    migrate(moving | {"met": [shop["queue"]]})
    allow_to_read(client, "reader", READS)
    command = ["--kubeconfig", str(as_user(api_server, tmp_path, "reader"))]
    until(lambda: main.run(["explain", "pod/web-1-a", *command]) == 0)
    capsys.readouterr()
    assert main.run(["explain", "pod/web-1-a", *command]) == 0
    assert HALFWAY in capsys.readouterr().out
    assert main.run(["explain", "pod/web-1-b", *command]) == 0
    assert capsys.readouterr().out.endswith("\nNothing to pass  it is on a target node already, new-1\n")


def test_what_may_not_be_read_is_named_and_the_rest_is_told(
    api_server: Cluster,
    client: Client,
    shop: dict[str, str],
    migrate: Migrate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    migrate({"observedGeneration": 1, "state": "Upgrade", "target": NEW, "mode": "Inject"})
    allow_to_read(client, "guest", [kind for kind in READS if kind != kinds.PERSISTENT_VOLUME])
    command = ["explain", "pod/web-1-a", "--kubeconfig", str(as_user(api_server, tmp_path, "guest"))]
    named = "what it has to pass is not known: cannot read persistentvolumes: 403 "
    until(lambda: main.run(command) == 0 and named in capsys.readouterr().out)


def allow_to_list_migrations(client: Client, user: str) -> None:
    rule = {"apiGroups": ["shiplift.dev"], "resources": ["workloadmigrations"], "verbs": ["list"]}
    allow(client, user, rule)


def allow_to_read(client: Client, user: str, of: Iterable[Kind]) -> None:
    allow(
        client,
        user,
        *({"apiGroups": [one.group], "resources": [one.plural], "verbs": ["list", "watch"]} for one in of),
    )


def allow(client: Client, user: str, *rules: dict[str, Any]) -> None:
    group = "rbac.authorization.k8s.io"
    about = {"name": f"explains-{user}"}
    role = Kind("ClusterRole", "clusterroles", group, namespaced=False)
    binding = Kind("ClusterRoleBinding", "clusterrolebindings", group, namespaced=False)
    client.create(role, {"metadata": about, "rules": list(rules)})
    ref = {"apiGroup": group, "kind": "ClusterRole", "name": about["name"]}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    client.create(binding, {"metadata": about, "roleRef": ref, "subjects": subjects})


def test_who_may_not_read_is_told_at_once(
    api_server: Cluster,
    client: Client,
    shop: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["explain", "deploy/web", "--kubeconfig", str(as_user(api_server, tmp_path, "nobody"))]

    assert main.run(command) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert 'User "nobody" cannot list resource "workloadmigrations"' in first
    assert second == "hint: kubectl auth can-i --list tells what you may do"

    allow_to_list_migrations(client, "nobody")
    until(lambda: main.run(command) == 1 and "cannot read " in capsys.readouterr().err)


NOT_READ = Forbidden("machines is forbidden", status=403)
NOT_THERE = FaceError("there is no node one", "look")


@pytest.mark.parametrize("refusal", [NOT_READ, NOT_THERE])
def test_what_one_layer_may_not_read_keeps_another_from_nothing(refusal: Exception) -> None:
    asked = {"silent": part(refusal), "tells": part(None)}
    assert [str(one) for one in explained(NOBODY, Question("node", "one", ""), asked)] == ["told"]
    with pytest.raises(type(refusal)):
        explained(NOBODY, Question("node", "one", ""), {"silent": part(refusal)})


NOBODY: Any = None
"""No layer of these reads anything."""


def part(refusal: Exception | None) -> ExplainPart[str]:
    def told(_reader: Reader, _question: Question, _now: int) -> str:
        if refusal is not None:
            raise refusal
        return "told"

    def drawn(what: str) -> RenderableType:
        return Text(what)

    return ExplainPart(frozenset({"node"}), ("node/NAME",), "node", told, drawn)
