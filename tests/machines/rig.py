"""A cluster that `shiplift bootstrap` has made of real machines, and the operator in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from shiplift.agent.protocol import CHANGES_ALLOWED, current_versions, desired_versions
from shiplift.api.marks import CORDONED_BY
from shiplift.facts import kinds
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.local.machines import Host, Machines
from shiplift.nodes.controller import PART
from tests.machines.bare import ONE, SHIPLIFT, Wanted, asked, publish, run
from tests.operated import install_shiplift
from tests.parents import ENDS_WITH_US
from tests.until import until

Json = dict[str, Any]
OLD, NEW = "v1.36.3", "v1.36.4"
PROGRAMS = ("kubelet", "kubeadm", "kubectl")
_CONTAINERD = "/etc/apt/sources.list.d/containerd.list"


class Rig:
    """The first machine is the control plane, the others are workers."""

    def __init__(self, made: Machines, folder: Path) -> None:
        self.made, self.folder = made, folder
        self.admin = folder / "admin.conf"
        self._operator: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Bare machines become a cluster with an agent on each; shiplift is installed, no operator runs."""
        self.prepare()
        self.bootstrap()
        self.client = Client(credentials.load(self.admin))
        self.account = install_shiplift(self.client, self.admin, self.folder, [PART])
        until(lambda: all(self.versions(host.name).get("kubelet") for host in self.made.hosts), 90, 0.5)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()

    @property
    def wanted(self) -> Wanted:
        """The cluster that is made of the machines."""
        return ONE

    def prepare(self) -> None:
        """What machines find before they are a cluster."""
        publish(self.made)

    def bootstrap(self) -> None:
        workers = [host.name for host in self.made.hosts if host.name not in self.wanted.planes]
        said = run(asked(self.made, workers, self.folder, self.wanted), "--kubeconfig-to", str(self.admin))
        assert said.returncode == 0, said.stderr

    def publish_news(self) -> str:
        """Packages of the next patch, and of a later containerd; returns the version of that."""
        self.made.publish(NEW)
        later = self.made.publish_later_containerd()
        for host in self.made.hosts:
            source = f"deb [trusted=yes] {self.made.repository}/containerd ./\n"
            host.write(_CONTAINERD, source.encode())
        return later

    # --- the operator ---

    @property
    def log(self) -> Path:
        return self.folder / "operator.log"

    def start(self) -> None:
        words = (
            "operator",
            "--layers",
            "nodes",
            "--listen",
            "127.0.0.1:0",
            "--kubeconfig",
            str(self.account),
        )
        with self.log.open("ab") as log:
            self._operator = subprocess.Popen(
                [*ENDS_WITH_US, *SHIPLIFT, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def stop(self) -> None:
        """As a person ends it: it hands its Lease over."""
        self._end(subprocess.Popen.terminate)

    def kill(self) -> None:
        self._end(subprocess.Popen.kill)

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._operator is not None:
            how(self._operator)
            self._operator.wait(60)
        self._operator = None

    # --- rollouts ---

    def roll(self, name: str, **spec: Any) -> None:
        self.client.create(kinds.NODE_ROLLOUT, {"metadata": {"name": name}, "spec": spec})

    def status(self, rollout: str) -> Json:
        return self.client.get(kinds.NODE_ROLLOUT, rollout).get("status") or {}

    def until_phase(self, rollout: str, phase: str, seconds: float) -> Json:
        """Waits for it; the API server may be away meanwhile."""
        seen: Json = {}

        def reached() -> bool:
            with contextlib.suppress(KubeError):
                seen.update(self.status(rollout))
            return seen.get("phase") == phase

        try:
            until(reached, seconds, 0.5)
        except AssertionError:
            raise AssertionError(f"{rollout} is not {phase}: {seen}\n{self.told()}") from None
        return seen

    def told(self) -> str:
        """The end of what the operator said."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def forget(self, rollout: str) -> None:
        uid = self.client.get(kinds.NODE_ROLLOUT, rollout)["metadata"]["uid"]
        self.client.delete(kinds.NODE_ROLLOUT, rollout, uid=uid)
        until(lambda: not self._is_there(rollout), 180, 0.5)

    def _is_there(self, rollout: str) -> bool:
        try:
            self.client.get(kinds.NODE_ROLLOUT, rollout)
        except NotFound:
            return False
        return True

    # --- nodes ---

    def node(self, name: str) -> Json:
        return self.client.get(kinds.NODE, name)

    def notes(self, name: str) -> dict[str, str]:
        return self.node(name)["metadata"].get("annotations") or {}

    def versions(self, name: str) -> dict[str, str]:
        return current_versions(self.notes(name))

    def kubelet(self, name: str) -> str:
        return self.node(name)["status"]["nodeInfo"]["kubeletVersion"]

    def cordoned(self, name: str) -> bool:
        return self.node(name)["spec"].get("unschedulable", False)

    def residue(self) -> list[str]:
        """What of rollouts is on nodes."""
        return [f"{host.name}: {one}" for host in self.made.hosts for one in self._left(host)]

    def _left(self, host: Host) -> list[str]:
        notes = self.notes(host.name)
        left = [key for key in (CHANGES_ALLOWED, CORDONED_BY) if key in notes]
        left += [f"desired {one}" for one in desired_versions(notes)]
        return left + ["cordon"] * self.cordoned(host.name)
