"""An operator of real pods: a machine with a real kubelet and containerd, on which two versions of a small
operator keep a ConfigMap for each of its custom resources, one after the other."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts.kinds import APP_TYPE, CONFIG_MAP, POD, Kind
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import KubeError
from shiplift.local.machines import Machines
from shiplift.local.machines import programs as kubernetes
from tests.operators.bundles import GROUP, Written, definition
from tests.operators.rig import Rig, Scene, scene

Json = dict[str, Any]
LIGHT = Kind("Light", "lights", GROUP, "v1")
SECONDS = 300.0
IMAGE = f"registry.k8s.io/kube-proxy:{kubernetes.NEWEST}"
"""Every node has it. What runs in it is the machine's own Python."""
HOME = "/var/run/secrets/kubernetes.io/serviceaccount"
PROGRAM = f"""
import json, os, ssl, time, urllib.error, urllib.request

base = "https://" + os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
trusted, space = ssl.create_default_context(cafile="{HOME}/ca.crt"), open("{HOME}/namespace").read()
lights, maps = f"/apis/{GROUP}/v1/namespaces/{{space}}/lights", f"/api/v1/namespaces/{{space}}/configmaps"

def call(method, path, body=None):
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(base + path, method=method, data=data)
    asked.add_header("Authorization", "Bearer " + open("{HOME}/token").read())
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked, context=trusted, timeout=10) as answer:
        return json.load(answer)

def keep(light, number):
    name = "light-" + light["metadata"]["name"]
    data = {{"by": os.environ["VERSION"], "number": str(number), "seconds": str(light["spec"]["seconds"])}}
    body = {{"metadata": {{"name": name}}, "data": data}}
    try:
        call("PUT", maps + "/" + name, body)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        call("POST", maps, body)

number = 0
while True:
    number += 1
    try:
        for light in call("GET", lights)["items"]:
            keep(light, number)
    except OSError as error:
        print(error, flush=True)
    time.sleep(0.2)
"""


def pod(version: str) -> Json:
    """The machine's own programs and libraries are lent to it."""
    lent = ("usr", "lib", "lib64")
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/bin/python3", "-c", PROGRAM],
        "env": [{"name": "VERSION", "value": version}],
        "volumeMounts": [{"name": one, "mountPath": f"/{one}", "readOnly": True} for one in lent],
    }
    return {
        "containers": [container],
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "volumes": [{"name": one, "hostPath": {"path": f"/{one}"}} for one in lent],
    }


def lights(version: str, replaces: str = "", deployment: str = "lights") -> Written:
    rules = (
        {"apiGroups": [GROUP], "resources": ["lights"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"]},
    )
    return Written(
        package="lights",
        version=version,
        replaces=replaces,
        owned=(definition("lights", seconds={"type": "integer"}),),
        deployment=deployment,
        selects=deployment,
        rules=rules,
        pod=pod(version),
    )


class OnMachines:
    """What a rig asks of a cluster, of one that runs on machines."""

    def __init__(self, machines: Machines) -> None:
        self.kubeconfig = machines.kubeconfig

    def client(self) -> Client:
        return Client(load(self.kubeconfig))


@pytest.fixture
def real(machine_programs: Path, clusters_folder: Path) -> Iterator[Scene]:
    made = Machines(f"operators-{uuid.uuid4().hex[:8]}", clusters_folder)
    try:
        made.up(1, kubernetes=kubernetes.NEWEST)
        rig = Rig(OnMachines(made))  # type: ignore[arg-type]
        with scene(rig) as found:
            yield found
        rig.close()
    finally:
        made.down()


class Witness:
    """Looks, again and again, by whom a light is kept and which pods run."""

    def __init__(self, found: Scene) -> None:
        self._scene, self._over = found, threading.Event()
        self.by: list[str] = []
        self.together: set[frozenset[str]] = set()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _look(self) -> None:
        with self._scene.rig.cluster.client() as client:
            while not self._over.wait(0.1):
                try:
                    self._note(client)
                except KubeError:
                    continue

    def _note(self, client: Client) -> None:
        kept = client.get(CONFIG_MAP, "light-pier", self._scene.space)["data"]["by"]
        if not self.by or self.by[-1] != kept:
            self.by.append(kept)
        running = [one for one in client.list(POD, self._scene.space) if _runs(one)]
        self.together.add(frozenset(one["metadata"]["labels"]["app"] for one in running))


def _runs(one: Json) -> bool:
    states = (one.get("status") or {}).get("containerStatuses") or []
    return any("running" in each.get("state", {}) for each in states)


def kept(found: Scene) -> Json:
    return (found.find(CONFIG_MAP, "light-pier") or {}).get("data") or {}


def test_an_operator_of_real_pods_is_upgraded_with_its_custom_resources_in_place(real: Scene) -> None:
    first = lights("1.0.0")
    second = lights("1.1.0", first.name, "keeper")
    real.offer(first)
    real.ask("lights")
    real.come_to("lights", "1.0.0", SECONDS)
    made = real.client.create(LIGHT, {"metadata": {"name": "pier"}, "spec": {"seconds": 5}}, real.space)
    real.waits(lambda: kept(real).get("by") == "1.0.0", SECONDS)
    before = (real.find(CONFIG_MAP, "light-pier") or {})["metadata"]["uid"]
    with Witness(real) as seen:
        real.offer(first, second)
        real.come_to("lights", "1.1.0", SECONDS)
        real.waits(lambda: kept(real).get("by") == "1.1.0", SECONDS)
        real.change(LIGHT, "pier", {"spec": {"seconds": 7}}, real.space)
        real.waits(lambda: kept(real).get("seconds") == "7", SECONDS)
    assert seen.by == ["1.0.0", "1.1.0"], "one acts, then the other, and never again the first"
    assert frozenset({"lights", "keeper"}) not in seen.together
    assert {frozenset({"lights"}), frozenset({"keeper"})} <= seen.together
    light = real.find(LIGHT, "pier")
    assert light
    assert light["metadata"]["uid"] == made.object["metadata"]["uid"]
    assert (real.find(CONFIG_MAP, "light-pier") or {})["metadata"]["uid"] == before
    real.remove(APP_TYPE, "lights", real.space)
    real.waits(lambda: real.find(APP_TYPE, "lights") is None, SECONDS)
    real.waits(lambda: not list(real.client.list(POD, real.space)), SECONDS)
    assert real.find(LIGHT, "pier"), "custom resources outlive their operator"
