"""One real cluster, put back for each contender as it was when it was remembered.

What limits clients of the API server is raised, so that it is not what is measured, and nodes are not called
dead on a busy computer. What is on the cluster is the benchmark's own.
"""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from benchmarks.progress import say
from benchmarks.recipe.base import Json
from benchmarks.rig import identities
from benchmarks.rig.audit import Audit, Request
from benchmarks.rig.programs import shiplift
from benchmarks.server import workspace
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.local import guard
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.local.nodes import Pool

_PATIENCE = 600.0
_TOKEN_SECONDS = 24 * 3600
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
    """The cluster, and the kubeconfigs of the contenders' accounts."""

    def __init__(self, cluster: Cluster, folder: Path, audit: Audit) -> None:
        self.cluster, self.folder = cluster, folder
        self.guest, self.operator = folder / "guest.kubeconfig", folder / "operator.kubeconfig"
        self._audit = audit
        self._saved: dict[str, str] = {}

    @property
    def kubectl(self) -> str:
        return self.cluster.state.programs["kubectl"]

    @property
    def environment(self) -> dict[str, str]:
        """For programs that keep caches at home."""
        return {**os.environ, "HOME": str(self.folder)}

    def calls(self) -> int:
        """How many requests the contenders' accounts have made so far."""
        return self._audit.calls()

    def requests(self, account: Account) -> Iterator[Request]:
        """What an account has asked for so far."""
        return self._audit.requests(account)

    def make(self, client: Client, objects: Iterable[Json]) -> None:
        with ThreadPoolExecutor(_MANY) as pool:
            for made in [pool.submit(client.create, kind_of(one), one) for one in objects]:
                made.result()

    def apply(self, text: bytes) -> None:
        """As a user would."""
        command = [self.kubectl, "--kubeconfig", self.cluster.kubeconfig, "apply", "--server-side", "-f", "-"]
        done = subprocess.run(command, input=text, capture_output=True, env=self.environment, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl apply failed: {done.stderr.decode()[-2000:]}")

    def admit_guest(self) -> None:
        """The account of those who are not our operator."""
        self.apply(yaml.safe_dump_all(identities.guest()).encode())
        kubeconfig_of(identities.GUEST, self.cluster.kubeconfig, self.guest, _TOKEN_SECONDS)

    def install(self, *layers: str) -> None:
        """Our definitions, account, rights and policies: there for all, used by ours."""
        self.apply(shiplift("crds"))
        self.apply(
            shiplift("manifests", "--layers", ",".join(layers), "--kubeconfig", str(self.cluster.kubeconfig))
        )
        kubeconfig_of(identities.OPERATOR, self.cluster.kubeconfig, self.operator, _TOKEN_SECONDS)

    def remember(self) -> None:
        """Everything as it is now, for `put_back`."""
        for component in _ACTORS:
            self.cluster.stop(component)
        content = self.cluster.etcd.content()
        self.cluster.up()
        self._saved = {key: value for key, value in content.items() if not _is_heartbeat(key)}

    def put_back(self) -> None:
        """Everything as it was when it was remembered, to the uid; the controllers begin afresh."""
        for component in _ACTORS:
            self.cluster.stop(component)
        self.cluster.etcd.put_back(self._saved)
        self.cluster.compact()
        self.cluster.up()


@contextlib.contextmanager
def built(name: str, pools: Sequence[Pool], environment: Mapping[str, str] | None = None) -> Generator[Rig]:
    """The rig, with these nodes and nothing else; nothing is left of it afterwards, however we end.

    `environment` is of the control plane's programs.
    """
    with workspace() as folder:
        clusters = folder / "clusters"
        clusters.mkdir()
        audit = Audit(folder, identities.ALL)
        cluster = Cluster(name, clusters)
        guard.own(clusters)
        try:
            guard.start_once(clusters)
            flags = {**_FLAGS, Component.API_SERVER: audit.flags}
            cluster.up(Settings(extra=flags, environment=dict(environment or {})), say, pools)
            yield Rig(cluster, folder, audit)
        finally:
            cluster.down()
            guard.stop(clusters)


def wait_until_none(left: Callable[[], int], what: str) -> None:
    """Until nothing is left of what we wait for."""
    deadline = time.monotonic() + _PATIENCE
    while now := left():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_PATIENCE:.0f} s for {what}: {now} left")
        time.sleep(0.5)


def _is_heartbeat(key: str) -> bool:
    """Put back, they would make a new kwok wait for the end of the old one's leases."""
    return base64.b64decode(key).startswith(b"/registry/leases/kube-node-lease/")
