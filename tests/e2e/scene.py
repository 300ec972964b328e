"""One plan's machine and rollout: where the node is on its way, what it came to, and back to how it was."""

from __future__ import annotations

import contextlib
import time
from enum import Enum
from typing import Any

from shiplift.agent.protocol import CHANGES_ALLOWED, READY, Operation
from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from shiplift.local.errors import LocalError
from shiplift.local.machines import Host
from tests.machines import traffic
from tests.machines.rig import OLD, PROGRAMS, Rig
from tests.until import until

Json = dict[str, Any]
REVISION = f"{OLD.removeprefix('v')}-1.1"
_CHANGE = ("apt-get", "install", "-q", "-y", "--allow-change-held-packages", "--allow-downgrades")


class Step(Enum):
    """Where a node is on its way, as it can be seen from outside."""

    BEFORE = "before the start"
    PREPARING = "preparing"
    DRAINING = "draining"
    CLAIMED = "claimed"
    INSTALLING = "installing"
    APPLYING = "kubeadm upgrade apply"
    ANSWERED = "answered"


class Scene:
    """A machine that is to be changed, and all that is around it."""

    def __init__(self, rig: Rig, host: Host, name: str) -> None:
        self.rig, self.host, self.name = rig, host, name
        self.struck = False
        """Whether something is wrong on purpose."""
        self._installed = 0

    def begin(self, **spec: Any) -> None:
        self._installed = self._upgrades()
        selector = {"matchLabels": {"kubernetes.io/hostname": self.host.name}}
        self.rig.roll(self.name, nodeSelector=selector, **spec)

    # --- where it is ---

    def reached(self, step: Step) -> bool:
        """Also where it is past it: steps may be short. While nobody answers, nothing is reached."""
        with contextlib.suppress(KubeError, LocalError):
            return self._reached(step)
        return False

    def _reached(self, step: Step) -> bool:
        if step is Step.INSTALLING:
            return self._upgrades() > self._installed
        if step is Step.APPLYING:
            return self.host.run("pgrep", "--full", "^kubeadm upgrade apply", check=False).returncode == 0
        node = self.rig.node(self.host.name)
        notes = node["metadata"].get("annotations") or {}
        order, ready = notes.get(CHANGES_ALLOWED, ""), notes.get(READY, "")
        packages = f'"token":"{Operation.PACKAGES.value}.'
        if step is Step.PREPARING:
            return f'"token":"{Operation.PREPARE.value}.' in order or packages in order
        if step is Step.DRAINING:
            return node["spec"].get("unschedulable", False)
        if step is Step.CLAIMED:
            return packages in order and f" {Operation.PACKAGES.value}." in ready
        return packages in order and ready.startswith(f"true {Operation.PACKAGES.value}.")

    def _upgrades(self) -> int:
        """How often dpkg has begun to replace the kubelet."""
        said = self.host.run("grep", "-c", " upgrade kubelet", "/var/log/dpkg.log", check=False).stdout
        return int(said.strip() or 0)

    # --- what it came to ---

    def status(self) -> Json:
        with contextlib.suppress(KubeError):
            return self.rig.status(self.name)
        return {}

    def record(self) -> Json:
        found = [one for one in self.status().get("nodes", []) if one["name"] == self.host.name]
        return found[0] if found else {}

    def words(self) -> str:
        """All that a person reads of it."""
        status = self.status()
        record = next((one for one in status.get("nodes", []) if one["name"] == self.host.name), {})
        blockers = [f"{one['pod']} {one.get('budget', '')}" for one in record.get("blockers", [])]
        parts = (status.get("phase"), status.get("message"), record.get("state"), record.get("reason"))
        return " | ".join(str(one) for one in (*parts, record.get("message"), *blockers) if one)

    @property
    def stands_still(self) -> bool:
        """Whether it goes on only if somebody helps."""
        conditions = {one["type"]: one["status"] for one in self.status().get("conditions", [])}
        return conditions.get("Stalled") == "True"

    @property
    def cordoned(self) -> bool:
        return self.rig.cordoned(self.host.name)

    def installed(self, *packages: str) -> dict[str, str]:
        """Their versions, of those that are installed whole."""
        form = "${Package} ${Version} ${db:Status-Status}\n"
        lines = self.host.run("dpkg-query", "-W", "-f", form, *packages, check=False).stdout.splitlines()
        return {name: version for name, version, status in map(str.split, lines) if status == "installed"}

    # --- back ---

    def restore(self) -> None:
        """The next plan finds the machine as this one did; a control plane does not become older."""
        self.rig.forget(self.name)
        self.uncordon()
        if self.host != self.rig.made.hosts[0]:
            self._put_back()
        traffic.spread(self.rig.client)

    def _put_back(self) -> None:
        self.host.run("dpkg", "--configure", "-a")
        there = self.host.run("dpkg-query", "-W", "-f", "${Version} ", *PROGRAMS).stdout.split()
        if there != [REVISION] * len(PROGRAMS):
            self.host.run(*_CHANGE, *(f"{name}={REVISION}" for name in PROGRAMS))
            self.host.run("apt-mark", "hold", *PROGRAMS)
        self.host.run("systemctl", "restart", "kubelet", "shiplift-agent")
        until(self._as_before, 120, 0.5)

    def uncordon(self) -> None:
        if self.cordoned:
            uid = self.rig.node(self.host.name)["metadata"]["uid"]
            self.rig.client.patch(kinds.NODE, self.host.name, {"spec": {"unschedulable": None}}, uid=uid)

    def _as_before(self) -> bool:
        node = self.rig.node(self.host.name)
        states = {one["type"]: one["status"] for one in node["status"]["conditions"]}
        told = self.rig.versions(self.host.name).get("kubelet") == REVISION
        return told and states["Ready"] == "True" and node["status"]["nodeInfo"]["kubeletVersion"] == OLD


def wait(seconds: float) -> None:
    """A fault lasts; nothing is waited for in it."""
    time.sleep(seconds)
