"""Operator processes on a cluster with our manifests: with the account and the rights that we print."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.fence import EPOCH, HOME
from shiplift.kube.lease import NOT_ACTING
from shiplift.kube.manifests import kind_of
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from shiplift.operator import install
from tests.operator.driver import STAMP, STAMPER, WANTED
from tests.until import until

SPACE = "shiplift-system"


class Process:
    """One operator, its log read line by line."""

    def __init__(self, kubeconfig: Path, folder: Path, number: int, *settings: str) -> None:
        self.log = folder / f"operator-{number}.log"
        username = install.names(SPACE).username
        command = [sys.executable, "-m", "tests.operator.driver", str(kubeconfig), SPACE, username, *settings]
        with self.log.open("wb") as stderr:
            self._process = subprocess.Popen(command, stderr=stderr, stdin=subprocess.DEVNULL)

    def said(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if line["event"] == event]

    def get(self, path: str) -> tuple[int, str]:
        address = until(lambda: self.said("started"))[0]["address"]
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    @property
    def epochs(self) -> list[str]:
        """Of its terms, the first one first: on a starved computer there may be more than a test asks for."""
        return [str(line["epoch"]) for line in self.said("leading")]

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(60)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait()


class Rig:
    """A cluster with our manifests installed, and operators on it."""

    def __init__(self, cluster: Cluster, client: Client, folder: Path) -> None:
        self.cluster, self.client, self._folder = cluster, client, folder
        self.processes: list[Process] = []
        for manifest in install.manifests(SPACE, [STAMPER]):
            client.create(kind_of(manifest), manifest)
        account = Account(SPACE, install.ACCOUNT)
        self.kubeconfig = kubeconfig_of(account, cluster.kubeconfig, folder / "account")

    def start(self, prove_every: int = 1, hanging: int = 0, lease: int = 15) -> Process:
        """Its Lease lapses late, unless the test is about that: else a busy computer ends terms, too."""
        settings = [str(prove_every), str(hanging), str(lease)]
        self.processes.append(Process(self.kubeconfig, self._folder, len(self.processes), *settings))
        return self.processes[-1]

    def ask_for_a_stamp(self, name: str) -> None:
        about = {"name": name, "annotations": {WANTED: "yes"}}
        self.client.create(kinds.NAMESPACE, {"metadata": about})

    def stamp(self, name: str) -> str:
        return self.client.get(kinds.NAMESPACE, name)["metadata"]["annotations"].get(STAMP, "")

    def holder(self) -> str:
        return self.lease()["spec"].get("holderIdentity") or ""

    def lease(self) -> dict[str, Any]:
        return self.client.get(kinds.LEASE, "shiplift", SPACE)

    def why_it_does_not_act(self) -> str:
        return (self.lease()["metadata"].get("annotations") or {}).get(NOT_ACTING, "")

    def edit_the_lease(self, transitions: int) -> None:
        patch = {"spec": {"leaseTransitions": transitions}}
        self.client.patch(kinds.LEASE, "shiplift", patch, SPACE, uid=self.lease()["metadata"]["uid"])

    def edit_the_fence(self, epoch: str) -> None:
        uid = self.client.get(HOME, "shiplift-fence", SPACE)["metadata"]["uid"]
        patch = {"metadata": {"annotations": {EPOCH: epoch}}}
        self.client.patch(HOME, "shiplift-fence", patch, SPACE, uid=uid)

    def strip_the_fence(self) -> None:
        """As GitOps does that puts back what it knows: an account without annotations."""
        home = self.client.get(HOME, "shiplift-fence", SPACE)
        bare = home | {"metadata": home["metadata"] | {"annotations": {}}}
        self.client.update(HOME, bare)

    def remove(self, kind: Kind, name: str = "shiplift-fence", namespace: str = "") -> None:
        uid = self.client.get(kind, name, namespace)["metadata"]["uid"]
        self.client.delete(kind, name, namespace, uid=uid)

    def install(self, kind: Kind) -> None:
        """What an administrator applies again of what was removed."""
        for one in install.manifests(SPACE, [STAMPER]):
            if (one["kind"], one["metadata"]["name"]) == (kind.kind, "shiplift-fence"):
                self.client.create(kind, one)


@contextmanager
def operators(cluster: Cluster, folder: Path) -> Generator[Rig]:
    """A rig whose processes end with the block."""
    with cluster.client() as client:
        rig = Rig(cluster, client, folder)
        try:
            yield rig
        finally:
            for process in rig.processes:
                process.end()
