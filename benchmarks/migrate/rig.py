"""One real cluster with the plan on its old nodes and as many empty new ones; put back for each contender.

What limits clients of the API server is raised, so that it is not what is measured, and nodes are not called
dead on a busy computer. The audit log holds the requests of the contenders' accounts, and nobody else's.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import yaml

from benchmarks.migrate import manifests
from benchmarks.migrate.plan import Size, Workload, plan
from benchmarks.progress import say
from benchmarks.recipe.base import Json
from benchmarks.server import workspace
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.local import guard
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.local.private import write_private

SYSTEM, LAYER = "shiplift-system", "workloads"
_ACCOUNT = "shiplift"
_GUEST_SPACE, _GUEST = "contenders", "contender"
_KINDS = {
    one.kind: one
    for one in (kinds.NAMESPACE, kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.POD_DISRUPTION_BUDGET)
}
_PATIENCE = 600.0
_MANY = 16
_FLAGS = {
    Component.CONTROLLERS: (
        "--kube-api-qps=5000",
        "--kube-api-burst=10000",
        "--concurrent-deployment-syncs=50",
        "--concurrent-replicaset-syncs=50",
        "--concurrent-statefulset-syncs=50",
        "--node-monitor-grace-period=30m",
    )
}
_ACTORS = (Component.KWOK, Component.SCHEDULER, Component.CONTROLLERS)
"""Who changes objects by itself: stopped while all is put back."""


class Rig:
    """The cluster, what is on it, and the accounts of the contenders."""

    def __init__(self, cluster: Cluster, folder: Path, size: Size) -> None:
        self.cluster, self.folder, self.size = cluster, folder, size
        self.workloads = plan(size)
        self.old = manifests.old_nodes(size.nodes).names()
        self.new = manifests.new_nodes(size.nodes).names()
        self.guest, self.operator = folder / "guest.kubeconfig", folder / "operator.kubeconfig"
        self._saved: dict[str, str] = {}

    @property
    def slots(self) -> int:
        """Free slots on the new nodes at the start."""
        return len(self.new) * manifests.SLOTS_PER_NODE

    @property
    def kubectl(self) -> str:
        return self.cluster.state.programs["kubectl"]

    @property
    def environment(self) -> dict[str, str]:
        """For programs that keep caches at home."""
        return {**os.environ, "HOME": str(self.folder)}

    def fill(self) -> None:
        """All workloads Ready on the old nodes; then the new nodes join, and that is remembered."""
        with self.cluster.client() as client:
            self._make(client, manifests.namespaces(self.workloads))
            self._make(client, map(manifests.workload, self.workloads))
            self._make(client, filter(None, map(manifests.budget, self.workloads)))
            self._make_accounts(client)
            self._wait(lambda: _unready(client, self.workloads), "pods to be ready")
            say("the new nodes join")
            new = manifests.new_nodes(self.size.nodes)
            self.cluster.nodes.add(new)
            self.cluster.nodes.wait_schedulable(new)
            self._install()
            self._wait_settled(client)
        self._saved = self._content()

    def put_back(self) -> None:
        """Everything as it was when it was remembered, to the uid; the controllers begin afresh."""
        for component in _ACTORS:
            self.cluster.stop(component)
        self.cluster.etcd.put_back(self._saved)
        self.cluster.compact()
        self.cluster.up()
        with self.cluster.client() as client:
            self._wait_settled(client)

    def calls(self) -> int:
        """How many requests the contenders' accounts have made so far."""
        with contextlib.suppress(FileNotFoundError), _audit_log(self.folder).open("rb") as lines:
            return sum(1 for _ in lines)
        return 0

    def apply(self, text: bytes) -> None:
        """As a user would."""
        command = [self.kubectl, "--kubeconfig", self.cluster.kubeconfig, "apply", "--server-side", "-f", "-"]
        done = subprocess.run(command, input=text, capture_output=True, env=self.environment, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl apply failed: {done.stderr.decode()[-2000:]}")

    def _install(self) -> None:
        """Our definitions, account, rights and policies, and the order: there for all, used by ours."""
        self.apply(shiplift("crds"))
        self.apply(shiplift("manifests", "--layers", LAYER))
        self.apply(yaml.safe_dump_all(manifests.orders(self.workloads)).encode())
        with self.cluster.client() as client:
            self._write_kubeconfig(client, self.operator, SYSTEM, _ACCOUNT)

    def _make(self, client: Client, objects: Iterable[Json]) -> None:
        with ThreadPoolExecutor(_MANY) as pool:
            for made in [pool.submit(client.create, _KINDS[one["kind"]], one) for one in objects]:
                made.result()

    def _make_accounts(self, client: Client) -> None:
        self.apply(yaml.safe_dump_all(_guest_account()).encode())
        self._write_kubeconfig(client, self.guest, _GUEST_SPACE, _GUEST)

    def _write_kubeconfig(self, client: Client, to: Path, namespace: str, name: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        wanted = {"spec": {"expirationSeconds": 24 * 3600}}
        answer = client.raw("POST", path, body=msgspec.json.encode(wanted))
        config = yaml.safe_load(self.cluster.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": msgspec.json.decode(answer)["status"]["token"]}
        write_private(to, yaml.safe_dump(config).encode())

    def _content(self) -> dict[str, str]:
        for component in _ACTORS:
            self.cluster.stop(component)
        content = self.cluster.etcd.content()
        self.cluster.up()
        return {key: value for key, value in content.items() if not _is_heartbeat(key)}

    def _wait_settled(self, client: Client) -> None:
        self._wait(lambda: _unready(client, self.workloads), "pods to be ready")
        self._wait(lambda: _unsettled_budgets(client), "budgets to be reckoned")

    def _wait(self, left: Callable[[], int], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while now := left():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {_PATIENCE:.0f} s for {what}: {now} left")
            time.sleep(0.5)


@contextlib.contextmanager
def built(size: Size) -> Generator[Rig]:
    """The rig, ready for its first contender; nothing is left of it afterwards, however we end."""
    with workspace() as folder:
        clusters = folder / "clusters"
        clusters.mkdir()
        write_private(folder / "audit-policy.json", msgspec.json.encode(_audit_policy()))
        cluster = Cluster("migrate", clusters)
        guard.own(clusters)
        try:
            guard.start_once(clusters)
            cluster.up(_settings(folder), say, [manifests.old_nodes(size.nodes)])
            rig = Rig(cluster, folder, size)
            say(f"{size.workloads} workloads with {size.pods} pods start")
            rig.fill()
            yield rig
        finally:
            cluster.down()
            guard.stop(clusters)


def shiplift(*words: str) -> bytes:
    """What our command prints."""
    return subprocess.run([program(), *words], capture_output=True, check=True).stdout


def program() -> Path:
    return Path(sys.executable).parent / "shiplift"


def end(process: subprocess.Popen[bytes]) -> None:
    """In good order; if that takes too long, at once."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _settings(folder: Path) -> Settings:
    audit = (f"--audit-log-path={_audit_log(folder)}", f"--audit-policy-file={folder / 'audit-policy.json'}")
    return Settings(extra={**_FLAGS, Component.API_SERVER: audit})


def _audit_log(folder: Path) -> Path:
    return folder / "audit.log"


def _audit_policy() -> Json:
    users = [
        f"system:serviceaccount:{space}:{name}"
        for space, name in ((SYSTEM, _ACCOUNT), (_GUEST_SPACE, _GUEST))
    ]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{"level": "Metadata", "users": users}, {"level": "None"}],
    }


def _guest_account() -> list[Json]:
    """May do everything, as those who drain nodes by hand usually may."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _GUEST_SPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": _GUEST, "namespace": _GUEST_SPACE},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _GUEST},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": _GUEST, "namespace": _GUEST_SPACE}],
        },
    ]


def _is_heartbeat(key: str) -> bool:
    """Put back, they would make a new kwok wait for the end of the old one's leases."""
    return base64.b64decode(key).startswith(b"/registry/leases/kube-node-lease/")


def _unready(client: Client, workloads: Iterable[Workload]) -> int:
    """Pods that are missing or not Ready, as their workloads say."""
    wanted = {(one.kind.value, one.namespace, one.name): one.replicas for one in workloads}
    for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET):
        for found in client.list(kind):
            about, status = found["metadata"], found.get("status", {})
            key = (kind.kind, about["namespace"], about["name"])
            if key in wanted:
                wanted[key] -= status.get("readyReplicas", 0)
    return sum(wanted.values())


def _unsettled_budgets(client: Client) -> int:
    """Budgets that do not allow yet what they will allow."""
    found = client.list(kinds.POD_DISRUPTION_BUDGET)
    return sum(one.get("status", {}).get("disruptionsAllowed", 0) == 0 for one in found)
