"""A real machine, with a kubelet, containerd and DNS of its own, and shiplift installed on it: what it takes
to run MinIO in real pods. Whoever speaks to pods does so in the machine's own network (`within`)."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from shiplift.api import crd
from shiplift.facts.kinds import CONFIG_MAP, NAMESPACE, QUORUM_SERVICE, SECRET, SERVICE, STATEFUL_SET
from shiplift.kube import grants
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.config import KEY as CONFIG_KEY
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.credentials import load
from shiplift.kube.errors import KubeError
from shiplift.kube.manifests import kind_of
from shiplift.local import pki
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.machines import Machines
from shiplift.local.machines import programs as kubernetes
from shiplift.local.machines.tools import tool
from shiplift.operator import install
from shiplift.quorum.controller import PART
from tests import registry as registries
from tests.minio.keys import Key
from tests.operated import SPACE
from tests.parents import ENDS_WITH_US
from tests.quorum.images_made import lay_down
from tests.quorum.kubelet import PASSWORD, USER
from tests.quorum.rig import LABELS, OLD, REPOSITORY, image_of
from tests.until import until

Json = dict[str, Any]
PORT = 5443
HOST = f"127.0.0.1:{PORT}"
"""Of the registry, as the operator sees it; containerd asks the depot for every image, which has the same."""


class Land:
    """The machine, and what runs on it."""

    def __init__(self, machines: Machines, folder: Path, key: Key) -> None:
        self.machines, self.folder, self.key = machines, folder, key
        self.client = Client(load(machines.kubeconfig))
        self.within = (str(tool("ip")), "netns", "exec", machines.state.network.namespace("m1"))

    @property
    def authority(self) -> Path:
        """That the registry's certificate is of."""
        return self.folder / "registry/ca.crt"

    def install(self) -> Path:
        """All that an administrator applies; the kubeconfig of the operator's account."""
        for manifest in [*crd.manifests(), *install.manifests(SPACE, (PART,))]:
            self.client.create(kind_of(manifest), manifest)
        data = {CONFIG_KEY: yaml.safe_dump({"quorum": {"cache": str(self.folder / "cache")}})}
        self.client.create(CONFIG_MAP, {"metadata": {"name": CONFIG}, "data": data}, SPACE)
        until(self._is_served, 60)
        return kubeconfig_of(
            Account(SPACE, install.ACCOUNT), self.machines.kubeconfig, self.folder / "account"
        )

    def _is_served(self) -> bool:
        try:
            list(self.client.list(QUORUM_SERVICE))
        except KubeError:
            return False
        return True


def image_name(tag: str) -> str:
    return f"{HOST}/{REPOSITORY}:{tag}"


@contextmanager
def land(folder: Path, clusters: Path, programs: dict[str, Path]) -> Generator[Land]:
    """Until the end of the block; `programs` are what is in the images, by tag."""
    key = Key()
    made = Machines(f"quorum-{uuid.uuid4().hex[:8]}", clusters)
    try:
        made.up(1, kubernetes=kubernetes.NEWEST)
        for tag, program in programs.items():
            whole = image_of(program.read_bytes(), key.sign(program), tag)
            for place in (made.published / "registry", folder / "registry/images"):
                lay_down(whole, place, REPOSITORY, tag)
        found = Land(made, folder, key)
        with _registry(found):
            yield found
        found.client.close()
    finally:
        made.down()


@contextmanager
def _registry(found: Land) -> Generator[None]:
    """That the operator asks, in the machine's own network."""
    folder = found.folder / "registry"
    pki.write_all(folder)
    (folder / "config.yml").write_text(registries.config(folder, PORT))
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*ENDS_WITH_US, *found.within, registries.program(), "serve", folder / "config.yml"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def make_space(client: Client, space: str) -> None:
    """A namespace in which the operator may swap, and the Secret of an administrator."""
    client.create(NAMESPACE, {"metadata": {"name": space}})
    account = install.ACCOUNT
    for manifest in [*grants.quorum(space, account, SPACE), *grants.secret(space, "root", account, SPACE)]:
        client.create(kind_of(manifest), manifest)
    values = {"accessKey": USER, "secretKey": PASSWORD}
    client.create(SECRET, {"metadata": {"name": "root"}, "stringData": values}, space)


def make_set(client: Client, space: str, key: str, readiness: str = "/minio/health/live") -> None:
    """Four servers of the old release, each with a drive that outlives its pod; `key` is what they trust."""
    environment = {
        "MINIO_ROOT_USER": USER,
        "MINIO_ROOT_PASSWORD": PASSWORD,
        "MINIO_CI_CD": "1",
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE_MINISIGN_PUBKEY": key,
        "GOMAXPROCS": "2",
    }
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    drives = f"http://minio-{{0...3}}.minio.{space}.svc.cluster.local:9000/data"
    container = {
        "name": "minio",
        "image": image_name(OLD.tag),
        "command": ["/usr/bin/minio", "server", "--address", ":9000", drives],
        "env": [name, *({"name": one, "value": value} for one, value in environment.items())],
        "volumeMounts": [{"name": "drives", "mountPath": "/data", "subPathExpr": "$(POD_NAME)"}],
        "readinessProbe": {"httpGet": {"path": readiness, "port": 9000}, "periodSeconds": 1},
    }
    place = {"path": f"/srv/drives/{space}", "type": "DirectoryOrCreate"}
    pod = {
        "containers": [container],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 5,
        "volumes": [{"name": "drives", "hostPath": place}],
    }
    spec = {
        "serviceName": "minio",
        "replicas": 4,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    ports = [{"port": 9000}]
    headless = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": LABELS, "ports": ports}
    client.create(SERVICE, {"metadata": {"name": "minio"}, "spec": headless}, space)
    client.create(STATEFUL_SET, {"metadata": {"name": "minio"}, "spec": spec}, space)


def is_ready(pod: Json) -> bool:
    said: list[Json] = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in said)
