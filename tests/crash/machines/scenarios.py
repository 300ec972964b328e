"""What is asked for: a cluster out of bare machines, and one that grows by control planes and a worker."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tests.crash.suite import Scenario as Any

VERSION = "1.36.3"
DISK = {"example.com/disk": "ssd"}
NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pod-network, namespace: kube-system}\n"


class Scenario(Any, frozen=True, kw_only=True):
    """Machines by name, and those of them that are a cluster already."""

    planes: tuple[str, ...]
    workers: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """Control planes that are there when bootstrap is started."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.planes, *self.workers)

    @property
    def fresh(self) -> tuple[str, ...]:
        """Machines that are bare."""
        return tuple(name for name in self.names if name not in self.before)


INIT = Scenario(name="init", planes=("cp-1",), workers=("w-1",))
JOIN = Scenario(
    name="join", planes=("cp-2", "cp-1", "cp-3"), workers=("w-1",), before=("cp-1",), repeats="init"
)
"""The machine that is the cluster already does not come first in the file: there a new one would begin."""
ALL = (INIT, JOIN)
MACHINES = tuple(dict.fromkeys(name for one in ALL for name in one.names))


class Way(msgspec.Struct, frozen=True):
    """How a machine is reached, and known."""

    port: int
    host_key: str


def pools(planes: tuple[str, ...], workers: tuple[str, ...], ways: Mapping[str, Way], endpoint: str) -> str:
    """The file that bootstrap is given."""
    text = _pool("control-plane", "ControlPlane", planes, ways)
    text += _pool("workers", "Worker", workers, ways) if workers else ""
    cluster = "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
    return f"{text}{cluster}controlPlaneEndpoint: {endpoint}\n"


def _pool(name: str, role: str, hosts: tuple[str, ...], ways: Mapping[str, Way]) -> str:
    labels = f"  labels: {msgspec.json.encode(DISK).decode()}\n" if role == "Worker" else ""
    lines = "".join(
        f"    - {{name: {one}, address: 127.0.0.1, port: {ways[one].port}, hostKey: {ways[one].host_key}}}\n"
        for one in hosts
    )
    return (
        f"---\napiVersion: shiplift.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {name}}}\nspec:\n"
        f"  role: {role}\n  provider: Static\n  replicas: {len(hosts)}\n  version: {VERSION}\n{labels}"
        f"  static:\n    sshKeySecret: key\n    hosts:\n{lines}"
    )
