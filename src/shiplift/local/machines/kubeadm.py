"""A cluster on machines, made as people make one: packages by apt, `kubeadm init`, `kubeadm join`.

What these machines need beyond kubeadm's defaults is in `documents` and `IGNORED`; no phase is skipped.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from shiplift.local.errors import LocalError
from shiplift.local.machines import packages
from shiplift.local.machines.host import Host
from shiplift.local.progress import Say

# its only complaint here is about version 1 of control groups
IGNORED = "--ignore-preflight-errors=SystemVerification"
ADMIN = "/etc/kubernetes/admin.conf"
PORT = 6443
_CONFIG = "/etc/kubernetes/kubeadm.yaml"
_KUBELET = "/etc/kubernetes/kubelet.conf"
_SOURCE = "/etc/apt/sources.list.d/kubernetes.list"
UPDATE = ("apt-get", "update", "-q", "--error-on=any", "--option=Acquire::Retries=3")
"""apt itself is content where a source does not answer."""
_PROGRAMS = ("kubelet", "kubeadm", "kubectl")
_TIMEOUT = 300.0


def documents(version: str, address: str) -> str:
    """What `kubeadm init --config` reads, for a control plane at that address."""
    return f"""\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {PORT}}}
nodeRegistration: {{criSocket: "unix:///run/containerd/containerd.sock"}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: {version}
controlPlaneEndpoint: "{address}:{PORT}"
networking: {{serviceSubnet: 10.96.0.0/16}}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
evictionHard: {{nodefs.available: "1%", memory.available: 100Mi}}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
conntrack: {{maxPerCore: 0}}
"""


def make(hosts: tuple[Host, ...], repository: str, version: str, say: Say) -> bytes:
    """The first machine is the control plane, the others are workers; returns the admin's kubeconfig.

    Machines that are part of the cluster already stay as they are.
    """
    first, new = hosts[0], [host for host in hosts if not _has_joined(host)]
    if new:
        say(f"installing Kubernetes {version} on {_names(new)}")
        _on_each(new, lambda host: install(host, repository, version))
    if first in new:
        say(f"kubeadm init on {first.name}")
        first.write(_CONFIG, documents(version, first.address).encode())
        first.run("kubeadm", "init", "--config", _CONFIG, IGNORED, timeout=_TIMEOUT)
    if others := [host for host in new if host != first]:
        say(f"kubeadm join on {_names(others)}")
        command = join_command(first)
        _on_each(others, lambda host: host.run(*command, timeout=_TIMEOUT))
    say("waiting for all nodes to be ready")
    nodes = [f"node/{host.name}" for host in hosts]
    # a machine that has joined is a node only a moment later
    _kubectl(first, "wait", "--for=create", *nodes, "--timeout=120s")
    _kubectl(first, "wait", "--for=condition=Ready", *nodes, "--timeout=240s")
    return first.read(ADMIN)


def _has_joined(host: Host) -> bool:
    """kubelet has credentials of its own once a machine is part of a cluster."""
    return host.run("test", "-e", _KUBELET, check=False).returncode == 0


def _names(hosts: Iterable[Host]) -> str:
    return ", ".join(host.name for host in hosts)


def install(host: Host, repository: str, version: str) -> None:
    """kubelet, kubeadm and kubectl of that version, held as they should be; nothing is started."""
    name_source(host, repository, version)
    host.run(*UPDATE)
    wanted = [f"{name}={packages.revision(version)}" for name in _PROGRAMS]
    host.run("apt-get", "install", "-q", "-y", "--allow-downgrades", *wanted)
    host.run("apt-mark", "hold", *_PROGRAMS)


def name_source(host: Host, repository: str, *versions: str) -> None:
    """Its apt finds the packages of those versions at the depot."""
    lines = [f"deb [trusted=yes] {repository}/{packages.channel(one)}/ ./\n" for one in versions]
    host.write(_SOURCE, "".join(lines).encode())


def join_command(control_plane: Host) -> list[str]:
    """For a worker, with a token that is good for a day and the cluster's CA by its hash."""
    said = control_plane.run("kubeadm", "token", "create", "--print-join-command").stdout
    command = shlex.split(said)
    if command[:2] != ["kubeadm", "join"]:
        raise LocalError(f"kubeadm gives no command to join: {said[:200]}", "is the control plane up?")
    return [*command, IGNORED]


def _kubectl(host: Host, *arguments: str) -> str:
    return host.run("kubectl", f"--kubeconfig={ADMIN}", *arguments, timeout=_TIMEOUT).stdout


def _on_each(hosts: Iterable[Host], work: Callable[[Host], object]) -> None:
    """Side by side; the first failure is raised when all have ended."""
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(work, hosts))
