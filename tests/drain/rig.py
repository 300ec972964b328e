"""A namespace, a node and what runs on it, in a real cluster; and the command as a person types it."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts.kinds import (
    DEPLOYMENT,
    NAMESPACE,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    STATEFUL_SET,
    Kind,
)
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import POOL_LABEL, SERVICE_ACCOUNT, Pool
from tests.kube.objects import deployment, pod
from tests.until import until

Json = dict[str, Any]
main = importlib.import_module("shiplift.cli.main")
_number = itertools.count()
_PATIENCE = 60.0
COMMAND = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'shiplift'; from shiplift.cli import main; main()",
)


class Said:
    """What a command ended with."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}{self.err}"


class Rig:
    """What a test is about: pods of `space` on `node`, the only node of its pool to begin with."""

    def __init__(self, cluster: Cluster, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self.client, self._capsys = cluster, client, capsys
        self._started: list[subprocess.Popen[str]] = []
        number = next(_number)
        self.space, self._pool = f"drain-{number}", Pool(name=f"pool{number}", count=1)
        (self.node,) = self._pool.names()
        client.create(NAMESPACE, {"metadata": {"name": self.space}})
        with contextlib.suppress(AlreadyExists):
            client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, self.space)
        cluster.nodes.add(self._pool)
        cluster.nodes.wait_schedulable(self._pool)

    def close(self) -> None:
        """Nothing that was started goes on, and the next test has nothing to do with what is left."""
        for process in self._started:
            process.kill()
            process.communicate()
        names = [one["metadata"]["name"] for one in self.client.list(NODE)]
        self.cluster.nodes.remove(*(name for name in names if name.startswith(f"{self._pool.name}-")))
        space = self.client.get(NAMESPACE, self.space)
        self.client.delete(NAMESPACE, self.space, uid=space["metadata"]["uid"])

    def add_node(self) -> str:
        """Another of the same pool: pods of a Deployment may go there."""
        return self.cluster.nodes.add_more(self._pool).names()[0]

    def deployment(self, name: str = "web", replicas: int = 1, **template: Any) -> None:
        """All Ready on the node."""
        body = deployment(name, replicas, nodeSelector={POOL_LABEL: self._pool.name}, **template)
        self.client.create(DEPLOYMENT, body, self.space)
        until(lambda: sum(is_ready(one) for one in self.pods(app=name)) == replicas)

    def stateful_set(self, about: Json) -> None:
        """Of one pod, Ready on the node."""
        body = deployment(about["name"], nodeSelector={POOL_LABEL: self._pool.name})
        spec = body["spec"] | {"serviceName": about["name"]}
        self.client.create(STATEFUL_SET, {"metadata": about, "spec": spec}, self.space)
        until(lambda: [is_ready(one) for one in self.pods(app=about["name"])] == [True])

    def pod(self, name: str, annotations: dict[str, str] | None = None, **more: Any) -> Json:
        """One that nobody owns, running on the node."""
        body = pod(name, node=self.node, **more)
        body["metadata"]["annotations"] = annotations or {}
        made = self.client.create(POD, body, self.space).object
        until(lambda: is_ready(self.client.get(POD, name, self.space)))
        return made

    def budget(self, name: str = "web", app: str = "web", **spec: Any) -> None:
        """Counted by its controller."""
        selector = {"matchLabels": {"app": app}}
        body = {"metadata": {"name": name}, "spec": {"selector": selector, **spec}}
        self.client.create(POD_DISRUPTION_BUDGET, body, self.space)
        until(lambda: self.is_counted(name))

    def is_counted(self, name: str) -> bool:
        status = self.client.get(POD_DISRUPTION_BUDGET, name, self.space).get("status") or {}
        return status.get("observedGeneration", 0) > 0 and status.get("currentHealthy", 0) > 0

    def pods(self, **labels: str) -> list[Json]:
        wanted = ",".join(f"{key}={value}" for key, value in labels.items())
        return list(self.client.list(POD, self.space, label_selector=wanted))

    def here(self) -> set[str]:
        """The names of the pods on the node; those of a DaemonSet by its name."""
        found = [one for one in self.pods() if one["spec"].get("nodeName") == self.node]
        return {one["metadata"]["labels"].get("app") or one["metadata"]["name"] for one in found}

    def is_cordoned(self) -> bool:
        return bool(self.client.get(NODE, self.node)["spec"].get("unschedulable"))

    def cordon(self) -> None:
        uid = self.client.get(NODE, self.node)["metadata"]["uid"]
        self.client.patch(NODE, self.node, {"spec": {"unschedulable": True}}, uid=uid)

    def versions(self) -> Json:
        """Of everything that a drain might change; of the node, which tells how it is all the time, what it
        is asked to be."""
        found = [*self.pods(), *self.client.list(POD_DISRUPTION_BUDGET, self.space)]
        versions = {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in found}
        node = self.client.get(NODE, self.node)
        return versions | {"spec": node["spec"], "annotations": node["metadata"].get("annotations")}

    def drain(self, *words: str, kubeconfig: Path | None = None) -> Said:
        """In this process, for a minute at most."""
        self._capsys.readouterr()
        where = str(kubeconfig or self.cluster.kubeconfig)
        limit = () if "--timeout" in words else ("--timeout", "60s")
        code = main.run(["drain", self.node, "--kubeconfig", where, *limit, *words])
        said = self._capsys.readouterr()
        return Said(code, said.out, said.err)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """In a process of its own, which can be interrupted."""
        environment = os.environ | {"KUBECONFIG": str(self.cluster.kubeconfig)}
        command = [*COMMAND, "drain", self.node, *words]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self._started.append(process)
        return process

    def manifest(self, kind: Kind, body: Json, namespace: str = "") -> Json:
        return self.client.create(kind, body, namespace).object

    def gone(self, kind: Kind, name: str) -> bool:
        try:
            self.client.get(kind, name)
        except NotFound:
            return True
        return False


def is_ready(live: Json) -> bool:
    said = (live.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in said)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What a command writes up to the line that has the text; one that does not write it is ended."""
    assert process.stderr is not None
    found, end = "", threading.Timer(_PATIENCE, process.kill)
    end.start()
    try:
        for line in process.stderr:
            found += line
            if text in line:
                return found
    finally:
        end.cancel()
    raise AssertionError(f"it ended without {text!r}:\n{found}")
