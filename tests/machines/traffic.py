"""Somebody who uses the cluster: a workload of two replicas with a budget and a pause before it ends, and a
client on a machine outside the cluster that asks it all the time."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from shiplift.facts import kinds
from shiplift.facts.nodes import CONTROL_PLANE
from shiplift.kube.client import Client
from shiplift.local.machines import Host
from tests.until import until

SPACE, NAME = "shop", "web"
NODE_PORT = 30080
_LABELS = {"app": NAME}
_IMAGE = "registry.k8s.io/kube-proxy:v1.36.3"
"""Every node has it; what it serves is a file: the name of its pod."""
_SERVE = ("kubectl", "proxy", "--address=0.0.0.0", "--accept-hosts=.*", "--www=/etc", "--www-prefix=/etc/")
_PATH, _PORT = "/etc/hostname", 8001
_LAST = 16
"""Events that say why nobody answered."""
_UNIT, _SCRIPT, _TOLD = "asking", "/var/tmp/asking.py", "/var/tmp/asked.json"
_ASKING = """
import concurrent.futures, json, os, signal, sys, threading, time, urllib.request

url, rate, told = sys.argv[1], float(sys.argv[2]), sys.argv[3]
begun, asked, failed, answered, over, one = time.time(), 0, [], {}, False, threading.Lock()

def stop(*_):
    global over
    over = True

def ask(at):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return at, answer.read().decode().strip(), ""
    except Exception as error:
        return at, "", f"{type(error).__name__}: {error}"

def note(done):
    global asked
    at, pod, error = done.result()
    with one:
        asked += 1
        if error:
            failed.append([at, time.time() - at, error])
        else:
            answered[pod] = answered.get(pod, 0) + 1

def tell():
    with one:
        seen = {"seconds": time.time() - begun, "asked": asked, "failed": failed, "answered": answered}
        text = json.dumps(seen)
    with open(told + ".new", "w") as file:
        file.write(text)
    os.replace(told + ".new", told)

signal.signal(signal.SIGTERM, stop)
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    number = 0
    while not over:
        pool.submit(ask, time.time()).add_done_callback(note)
        number += 1
        if number % int(rate) == 0:
            tell()
        time.sleep(max(0.0, begun + number / rate - time.time()))
tell()
"""


class Asked(msgspec.Struct, frozen=True):
    """What a client has seen."""

    seconds: float
    asked: int
    failed: tuple[tuple[float, float, str], ...]
    """When each was asked, how long it took, and what came of it."""
    answered: dict[str, int]
    """How often each pod has answered."""

    @property
    def rate(self) -> float:
        return self.asked / self.seconds


def serve(client: Client, *, anywhere: bool = False) -> None:
    """The workload, its budget and its door; both replicas are ready when this returns. With `anywhere` they
    may run on control planes, too."""
    client.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
    client.create(kinds.DEPLOYMENT, {"metadata": {"name": NAME}, "spec": _deployment(anywhere)}, SPACE)
    budget = {"selector": {"matchLabels": _LABELS}, "minAvailable": 1}
    client.create(kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": NAME}, "spec": budget}, SPACE)
    ports = [{"port": 80, "targetPort": _PORT, "nodePort": NODE_PORT}]
    door = {"type": "NodePort", "selector": _LABELS, "ports": ports}
    client.create(kinds.SERVICE, {"metadata": {"name": NAME}, "spec": door}, SPACE)
    until(lambda: available(client) == 2, 120, 0.5)


def available(client: Client) -> int:
    return client.get(kinds.DEPLOYMENT, NAME, SPACE).get("status", {}).get("availableReplicas", 0)


def spread(client: Client) -> None:
    """One pod on each of two workers again: where both are on one, one goes, and comes back elsewhere. It is
    deleted, which no budget keeps from, so that the other has to answer first."""
    until(lambda: available(client) == 2, 120, 0.5)
    pods = [one for one in client.list(kinds.POD, SPACE) if "deletionTimestamp" not in one["metadata"]]
    if len({one["spec"].get("nodeName") for one in pods}) == 1:
        about = pods[0]["metadata"]
        client.delete(kinds.POD, about["name"], SPACE, uid=about["uid"])
        until(lambda: about["name"] not in _names(client) and available(client) == 2, 120, 0.5)


def told(client: Client, space: str = SPACE) -> str:
    """What happened to the pods of a namespace last, as a kubelet or a controller tells it."""
    events = sorted(client.list(kinds.EVENT, space), key=_when)
    return "; ".join(
        f"{_when(one)} {one['regarding'].get('name')} {one.get('reason')}: {one.get('note', '')[:120]}"
        for one in events[-_LAST:]
    )


def _when(event: dict[str, Any]) -> str:
    series: dict[str, Any] = event.get("series") or {}
    return series.get("lastObservedTime") or event["metadata"]["creationTimestamp"]


def _names(client: Client) -> set[str]:
    return {one["metadata"]["name"] for one in client.list(kinds.POD, SPACE)}


def _deployment(anywhere: bool) -> dict[str, Any]:
    container = {
        "name": NAME,
        "image": _IMAGE,
        "command": [*_SERVE],
        "readinessProbe": {"httpGet": {"path": _PATH, "port": _PORT}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    }
    pod = {"containers": [container], "automountServiceAccountToken": True}
    if anywhere:
        pod["tolerations"] = [{"key": CONTROL_PLANE[0], "operator": "Exists"}]
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    return {"replicas": 2, "selector": {"matchLabels": _LABELS}, "template": template}


class Asking:
    """A client on a machine; it asks from `start` to `stop`, whatever becomes of who started it."""

    def __init__(self, host: Host, address: str, rate: int = 15) -> None:
        self._host, self._rate = host, rate
        self._url = f"http://{address}:{NODE_PORT}{_PATH}"

    def start(self) -> None:
        """It is answered, and has told so for the first time, when this returns."""
        until(
            lambda: self._host.run("curl", "-sf", "-m", "2", self._url, check=False).returncode == 0, 60, 0.5
        )
        self._host.write(_SCRIPT, _ASKING.encode())
        words = ("python3", _SCRIPT, self._url, str(self._rate), _TOLD)
        self._host.run("rm", "-f", _TOLD)
        self._host.run("systemd-run", f"--unit={_UNIT}", "--collect", "--quiet", *words)
        until(lambda: self._host.run("test", "-e", _TOLD, check=False).returncode == 0, 60, 0.2)

    def stop(self) -> Asked:
        self._host.run("systemctl", "stop", _UNIT)
        return self.so_far()

    def so_far(self) -> Asked:
        return msgspec.convert(json.loads(self._host.read(_TOLD)), Asked, strict=False)
