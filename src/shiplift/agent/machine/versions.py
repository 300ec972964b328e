"""Which software a machine has, as it is found now: nothing here is remembered.

Packages are what dpkg has installed whole; one that is half-installed or half-configured is not there. The
kubelet is asked itself, by the very file that the running one was started from, so that a package that was
changed under it is told apart from one that runs. The version of a control-plane component is that of its
image in the static pod that kubeadm wrote, while a process of it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from shiplift.agent.errors import CommandError
from shiplift.agent.machine import commands, disk, services

KUBELET, KUBEADM, KUBECTL, CONTAINERD = "kubelet", "kubeadm", "kubectl", "containerd"
AGENT = "shiplift-agent"
COMMON = frozenset({KUBELET, KUBEADM, KUBECTL, CONTAINERD, AGENT})
"""Told of every machine that has them."""
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
MANIFESTS = Path("/etc/kubernetes/manifests")
_SECONDS = 30.0
_FORMAT = "${Package}\t${db:Status-Want}\t${db:Status-Status}\t${Version}\n"
_MOST_MANIFEST = 1 << 20
_COMM_LENGTH = 15
_SAYS = re.compile(r"Kubernetes (v\d+\.\d+\.\d+\S*)")


def installed(names: Iterable[str]) -> dict[str, str]:
    """The versions of those of the packages that are there whole."""
    return {name: version for name, (_, status, version) in _asked(names).items() if status == "installed"}


def held(names: Iterable[str]) -> frozenset[str]:
    """Those of the packages that somebody has put on hold."""
    return frozenset(name for name, (want, _, _) in _asked(names).items() if want == "hold")


def _asked(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """What dpkg knows of packages: wanted, status, version. It fails where it knows nothing of one."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    argv = ["dpkg-query", "--show", f"--showformat={_FORMAT}", "--", *wanted]
    answer = commands.run(argv, seconds=_SECONDS, check=False)
    lines = [line.split("\t") for line in answer.out.splitlines()]
    return {line[0]: (line[1], line[2], line[3]) for line in lines if len(line) == 4 and line[0] in wanted}


def running_kubelet() -> str:
    """The version of the kubelet that runs, as it says itself; empty where none does, or has just ended."""
    pid = services.unit(KUBELET).pid
    if not pid:
        return ""
    argv, program = [KUBELET, "--version"], f"/proc/{pid}/exe"
    try:
        said = _SAYS.search(commands.run(argv, seconds=_SECONDS, executable=program).out)
    except CommandError:
        return ""
    return said[1] if said else ""


def control_plane(manifests: Path = MANIFESTS, processes: Path = Path("/proc")) -> dict[str, str]:
    """The components that this machine runs; none of them on a worker."""
    there = {name: _image_version(manifests / f"{name}.yaml", name) for name in CONTROL_PLANE}
    if not any(there.values()):
        return {}
    running = {_name_of(path) for path in processes.glob("[0-9]*/comm")}
    return {name: text for name, text in there.items() if text and name[:_COMM_LENGTH] in running}


def _name_of(process: Path) -> str:
    """Empty where it has ended meanwhile."""
    try:
        return disk.text(process)
    except ProcessLookupError:
        return ""


def _image_version(manifest: Path, name: str) -> str:
    content = disk.read(manifest, _MOST_MANIFEST) or b""
    found = re.search(rf"^\s*image:\s*\S+/{name}:(v[^\s@]+)", content.decode(errors="replace"), re.M)
    return found[1] if found else ""
