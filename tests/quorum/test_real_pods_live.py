"""A swap of real pods: one machine with a real kubelet and containerd, which pulls from a registry; real DNS,
real addresses of pods, and an operator that pods reach as they do in a cluster."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shiplift.api import crd
from shiplift.api.quorum import MemberState, QuorumService
from shiplift.facts.kinds import CONFIG_MAP, NODE, POD, QUORUM_SERVICE, SECRET, SERVICE, STATEFUL_SET
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
from tests.crash.quorum.process import Process
from tests.minio.keys import Key
from tests.minio.servers import ENDS_WITH_US
from tests.operated import SPACE
from tests.quorum.conftest import Programs
from tests.quorum.images_made import lay_down
from tests.quorum.rig import NEW, OLD, REPOSITORY, image_of
from tests.until import until

Json = dict[str, Any]
STORE = "store"
PORT = 5443
HOST = f"127.0.0.1:{PORT}"
"""Of the registry, as the operator sees it; containerd asks the depot for every image, which has the same."""
USER, PASSWORD = "minio-root", "minio-root-password"
DRIVES = "http://minio-{0...3}.minio.store.svc.cluster.local:9000/data"
LABELS = {"app": "minio"}
SECONDS = 500.0


class Land:
    """The machine, and what runs on it."""

    def __init__(self, machines: Machines, folder: Path, key: Key) -> None:
        self.machines, self.folder, self.key = machines, folder, key
        self.client = Client(load(machines.kubeconfig))
        self.within = (str(tool("ip")), "netns", "exec", machines.state.network.namespace("m1"))

    def image(self, tag: str) -> str:
        return f"{HOST}/{REPOSITORY}:{tag}"

    def service(self) -> QuorumService:
        return msgspec.convert(self.client.get(QUORUM_SERVICE, "store", STORE), QuorumService)

    def pods(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in self.client.list(POD, STORE)}


def is_ready(pod: Json) -> bool:
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or []
    )


@pytest.fixture
def land(
    machine_programs: Path,
    clusters_folder: Path,
    minio_programs: Programs,
    key: Key,
    tmp_path: Path,
) -> Iterator[Land]:
    made = Machines(f"quorum-{uuid.uuid4().hex[:8]}", clusters_folder)
    try:
        made.up(1, kubernetes=kubernetes.NEWEST)
        for tag, program in ((OLD.tag, minio_programs.old), (NEW.tag, minio_programs.new)):
            whole = image_of(program.read_bytes(), key.sign(program), tag)
            for folder in (made.published / "registry", tmp_path / "registry/images"):
                lay_down(whole, folder, REPOSITORY, tag)
        found = Land(made, tmp_path, key)
        with serving(found):
            yield found
        found.client.close()
    finally:
        made.down()


class serving:  # noqa: N801 - a block
    """The registry that the operator asks, in the machine's own network."""

    def __init__(self, land: Land) -> None:
        self._land = land

    def __enter__(self) -> None:
        folder = self._land.folder / "registry"
        pki.write_all(folder)
        (folder / "config.yml").write_text(registries.config(folder, PORT))
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, *self._land.within, registries.program(), "serve", folder / "config.yml"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def installed(land: Land) -> Process:
    """All that an administrator applies, and the operator."""
    client = land.client
    manifests = [*crd.manifests(), *install.manifests(SPACE, (PART,))]
    manifests.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STORE}})
    manifests += grants.quorum(STORE, install.ACCOUNT, SPACE)
    manifests += grants.secret(STORE, "root", install.ACCOUNT, SPACE)
    for manifest in manifests:
        client.create(kind_of(manifest), manifest)
    section = {"quorum": {"cache": str(land.folder / "cache")}}
    client.create(
        CONFIG_MAP, {"metadata": {"name": CONFIG}, "data": {CONFIG_KEY: yaml.safe_dump(section)}}, SPACE
    )
    values = {"accessKey": USER, "secretKey": PASSWORD}
    client.create(SECRET, {"metadata": {"name": "root"}, "stringData": values}, STORE)
    kubeconfig = kubeconfig_of(
        Account(SPACE, install.ACCOUNT), land.machines.kubeconfig, land.folder / "account"
    )
    until(lambda: _served(client), 60)
    return Process(kubeconfig, land.folder, land.folder / "registry/ca.crt", within=land.within)


def _served(client: Client) -> bool:
    try:
        list(client.list(QUORUM_SERVICE))
    except KubeError:
        return False
    return True


def make_set(land: Land) -> None:
    environment = {
        "MINIO_ROOT_USER": USER,
        "MINIO_ROOT_PASSWORD": PASSWORD,
        "MINIO_CI_CD": "1",
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE_MINISIGN_PUBKEY": land.key.public,
        "GOMAXPROCS": "2",
    }
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    container = {
        "name": "minio",
        "image": land.image(OLD.tag),
        "command": ["/usr/bin/minio", "server", "--address", ":9000", DRIVES],
        "env": [name, *({"name": key, "value": value} for key, value in environment.items())],
        "volumeMounts": [{"name": "drives", "mountPath": "/data", "subPathExpr": "$(POD_NAME)"}],
        "readinessProbe": {"httpGet": {"path": "/minio/health/live", "port": 9000}, "periodSeconds": 1},
    }
    pod = {
        "containers": [container],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 5,
        "volumes": [{"name": "drives", "hostPath": {"path": "/srv/drives", "type": "DirectoryOrCreate"}}],
    }
    spec = {
        "serviceName": "minio",
        "replicas": 4,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    headless = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": LABELS,
        "ports": [{"port": 9000}],
    }
    land.client.create(SERVICE, {"metadata": {"name": "minio"}, "spec": headless}, STORE)
    land.client.create(STATEFUL_SET, {"metadata": {"name": "minio"}, "spec": spec}, STORE)


def test_real_pods_are_swapped_in_place_and_then_made_anew(land: Land) -> None:
    operator = installed(land)
    make_set(land)
    until(lambda: len(land.pods()) == 4 and all(map(is_ready, land.pods().values())), SECONDS, 1)
    before = {name: pod["metadata"]["uid"] for name, pod in land.pods().items()}
    spec = {
        "statefulSets": ["minio"],
        "image": land.image(NEW.tag),
        "credentialsSecret": "root",
        "trust": {"minisignKey": land.key.public},
    }
    land.client.create(QUORUM_SERVICE, {"metadata": {"name": "store"}, "spec": spec}, STORE)
    operator.start()
    try:
        switched = until(lambda: _switched(land), SECONDS, 0.2)
        # the switch is through: all run the new version, in the containers that ran the old one
        assert switched == before
        until(lambda: land.service().status.reason == "AtTarget", SECONDS, 0.5)
    except AssertionError as error:
        raise AssertionError(
            f"{error}\n{land.service().status}\n{operator.log.read_text()[-3000:]}"
        ) from None
    finally:
        operator.kill()
    status = land.service().status
    assert {one.state for one in status.members} == {MemberState.RECREATED}
    assert {one.version for one in status.members} == {NEW.time}
    live = land.client.get(STATEFUL_SET, "minio", STORE)
    assert live["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    pods = land.pods()
    assert all(pod["metadata"]["uid"] != before[name] for name, pod in pods.items())
    assert all(pod["status"]["containerStatuses"][0]["restartCount"] == 0 for pod in pods.values())
    [node] = land.client.list(NODE)
    assert node["metadata"]["name"] == "m1"


def _switched(land: Land) -> dict[str, str] | None:
    """The uids of the pods, once all their servers are new."""
    status = land.service().status
    new = [one for one in status.members if one.version == NEW.time]
    if len(new) != 4:
        return None
    return {one.pod: one.uid or "" for one in status.members}
