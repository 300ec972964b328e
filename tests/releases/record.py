"""Records what the shiplift that is installed here stores in a cluster, for tests of all later releases.

usage: python -m tests.releases.record

Its operator runs as a process of its own on a local cluster and is killed at each of the moments below, so
that nothing is tidied up; what is stored then goes to `tests/releases/<version>/<situation>.yaml`, beside
what `shiplift crds` and `shiplift manifests` print. Run it once for each release, with that release's code
first on PYTHONPATH, and never again: a recording says what was, not what should have been.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import yaml

from shiplift import __version__
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import SERVICE_ACCOUNT
from tests.crash import facts
from tests.crash.workloads.scenarios import Scenario
from tests.crash.workloads.shape import NEW_POOL, OLD_POOL
from tests.releases.application import APPLICATION, Json, in_mode
from tests.releases.situation import FOLDER, SPACE, save, stored
from tests.until import until

_LAYER = "workloads"
_KINDS = (kinds.WORKLOAD_MIGRATION, kinds.WORKLOAD_ORDER, kinds.WORKLOAD_PLACEMENT)
_SHIPLIFT = [sys.executable, "-c", "from shiplift.cli import main; main()"]

Moment = Callable[[Client], bool]


class Situation(msgspec.Struct, frozen=True):
    """One recording: what runs, and when its operator is killed."""

    name: str
    application: Scenario
    reached: Moment
    old_nodes_go: bool = False
    """Whether somebody takes the old nodes away once everybody has moved."""


def _status(client: Client) -> Json:
    return client.get(kinds.WORKLOAD_MIGRATION, "cluster").get("status") or {}


def _line(client: Client, name: str) -> Json:
    return next((one for one in _status(client).get("workloads", []) if one["name"] == name), {})


def _half_way(client: Client) -> bool:
    """Two workloads have moved and the third moves: some of its pods are there, others are not."""
    pods = _line(client, "api").get("pods", {})
    return len(_status(client).get("met", [])) == 2 and 0 < pods.get("done", 0) < pods["total"]


def _records(client: Client) -> list[Json]:
    placements = client.list(kinds.WORKLOAD_PLACEMENT)
    return [json.loads(text) for one in placements for text in one["spec"].get("ledger", {}).values()]


def _surging(client: Client) -> bool:
    """A replica more is asked for, and on record."""
    mail = client.get(kinds.DEPLOYMENT, "mail", "shop")
    return mail["spec"]["replicas"] == 2 and any("surge" in one for one in _records(client))


def _all_moved(client: Client) -> bool:
    progress = _status(client).get("progress", {})
    return progress.get("done", 0) == len(APPLICATION.workloads)


def _finished(client: Client) -> bool:
    """Over, and every toleration that is left is on record."""
    status = _status(client)
    inert = status.get("inertTolerations", [])
    return status.get("state") == "NoUpgrade" and len(inert) == len(APPLICATION.workloads)


SITUATIONS = (
    Situation("inject-half-way", in_mode("Inject"), _half_way),
    Situation("inject-surging", in_mode("Inject"), _surging),
    Situation("template-half-way", in_mode("Template"), _half_way),
    Situation("template-finished", in_mode("Template"), _finished, old_nodes_go=True),
)


def main() -> None:
    folder = FOLDER / __version__
    crds = _print("crds", *(word for kind in _KINDS for word in ("--kind", kind.kind)))
    manifests = _print("manifests", "--layers", _LAYER, "--template", "--kubernetes", "1.36")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crds.yaml").write_text(crds)
    (folder / "manifests.yaml").write_text(manifests)
    for situation in SITUATIONS:
        with _cluster() as cluster, cluster.client() as client:
            kubectl_apply(cluster, crds)
            kubectl_apply(cluster, manifests)
            build(cluster, client, situation.application)
            _play(cluster, client, situation)
            save(folder / f"{situation.name}.yaml", stored(client))
        sys.stdout.write(f"{situation.name}\n")


def _print(*words: str) -> str:
    return subprocess.run([*_SHIPLIFT, *words], check=True, capture_output=True, text=True).stdout


def kubectl_apply(cluster: Cluster, text: str) -> str:
    """One `kubectl apply -f -`; what it said."""
    command = [cluster.state.programs["kubectl"], "--kubeconfig", str(cluster.kubeconfig), "apply", "-f", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def _cluster() -> Iterator[Cluster]:
    cluster = Cluster(f"record-{uuid.uuid4().hex[:8]}")
    cluster.up()
    try:
        yield cluster
    finally:
        cluster.down()


def build(cluster: Cluster, client: Client, application: Scenario) -> None:
    """The application on old nodes, with new nodes beside them and a migration to those asked for."""
    cluster.nodes.add(OLD_POOL)
    cluster.nodes.wait_schedulable(OLD_POOL)
    for namespace in application.namespaces:
        client.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
        until(lambda namespace=namespace: list(client.list(SERVICE_ACCOUNT, namespace)))
    for manifest in [*application.manifests(), application.migration()]:
        client.create(kind_of(manifest), manifest, manifest["metadata"].get("namespace", ""))
    until(lambda: _at_rest(client), 60)
    cluster.nodes.add(NEW_POOL)
    cluster.nodes.wait_schedulable(NEW_POOL)


def _play(cluster: Cluster, client: Client, situation: Situation) -> None:
    """Until the moment has come; then the operator is killed and its cluster comes to rest without it."""
    with tempfile.TemporaryDirectory() as folder:
        account = _account(cluster, client, Path(folder))
        command = [*_SHIPLIFT, "operator", "--layers", _LAYER, "--listen", "127.0.0.1:0"]
        operator = subprocess.Popen([*command, "--kubeconfig", str(account)], stderr=subprocess.DEVNULL)
        try:
            if situation.old_nodes_go:
                until(lambda: _all_moved(client), 120)
                cluster.nodes.remove(*OLD_POOL.names())
            until(lambda: situation.reached(client), 120, every=0.05)
        finally:
            operator.kill()
            operator.wait()
    until(lambda: _at_rest(client), 60)


def _at_rest(client: Client) -> bool:
    """All pods that are wanted are there and Ready, of the newest template, and no other is."""
    pods = list(client.list(kinds.POD))
    owners = [*client.list(kinds.DEPLOYMENT), *client.list(kinds.STATEFUL_SET)]
    wanted = sum(one["spec"]["replicas"] for one in owners)
    updated = sum((one.get("status") or {}).get("updatedReplicas", 0) for one in owners)
    return len(pods) == wanted == updated and all(map(facts.healthy, pods))


def _account(cluster: Cluster, client: Client, folder: Path) -> Path:
    """A kubeconfig of the operator's own account."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = SERVICE_ACCOUNT.path(SPACE, "shiplift", "token")
    token = json.loads(client.raw("POST", path, body=json.dumps(body).encode()))["status"]["token"]
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"] = [{"name": one["name"], "user": {"token": token}} for one in config["users"]]
    found = folder / "account"
    found.write_text(yaml.safe_dump(config))
    found.chmod(0o600)
    return found


if __name__ == "__main__":
    main()
