"""Images of a version of Kubernetes, pulled before they are needed.

Which images those are is asked of the kubeadm of that version, taken out of its package where it is not
installed yet. A worker needs few of them. They are pulled by the way the kubelet would pull them (crictl), or
straight into containerd where there is no crictl.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import commands, disk
from shiplift.agent.machine.kubeadm import check_version
from shiplift.agent.machine.versions import MANIFESTS
from shiplift.agent.settings import Settings

_LOOK_SECONDS, _PULL_SECONDS = 60.0, 1200.0
_ON_WORKERS = ("kube-proxy", "pause", "coredns")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]{1,253}")
_MOST_IMAGES = 50
_log = logging.getLogger(__name__)


def pull(version: str, package: Path | None, settings: Settings, *, control_plane: bool) -> int:
    """Pull what a machine of that kind needs; how many images that were. `package` is the archive of the
    kubeadm to ask."""
    check_version(version)
    wanted = needed(_listed(version, package, settings), control_plane=control_plane)
    for image in wanted:
        _log.info("pulling %s", image)
        commands.run(_puller(image), seconds=_PULL_SECONDS)
    return len(wanted)


def needed(images: Iterable[str], *, control_plane: bool) -> list[str]:
    listed = [image for image in images if _IMAGE.fullmatch(image)][:_MOST_IMAGES]
    if control_plane:
        return listed
    return [image for image in listed if _short(image) in _ON_WORKERS]


def repository(settings: Settings, manifests: Path = MANIFESTS) -> str:
    """Where images come from: the machine's settings, else where those of its control plane came from."""
    if settings.image_repository:
        return settings.image_repository
    content = (disk.read(manifests / "kube-apiserver.yaml", 1 << 20) or b"").decode(errors="replace")
    found = re.search(r"^\s*image:\s*(\S+)/kube-apiserver:", content, re.M)
    return found[1] if found else ""


def _listed(version: str, package: Path | None, settings: Settings) -> list[str]:
    """What kubeadm says that the version is made of."""
    place = repository(settings)
    asked = ["config", "images", "list", f"--kubernetes-version={version}"]
    asked += [f"--image-repository={place}"] if place else []
    with tempfile.TemporaryDirectory(prefix="shiplift-kubeadm-") as folder:
        program = _unpacked(package, Path(folder)) if package else "kubeadm"
        lines = commands.run([program, *asked], seconds=_LOOK_SECONDS).out.split()
    if not lines:
        raise AgentError(f"kubeadm names no images of {version}")
    return lines


def _unpacked(package: Path, folder: Path) -> str:
    commands.run(["dpkg-deb", "--extract", str(package), str(folder)], seconds=_LOOK_SECONDS)
    program = folder / "usr" / "bin" / "kubeadm"
    if not program.exists():
        raise AgentError(f"{package.name} has no /usr/bin/kubeadm")
    return str(program)


def _puller(image: str) -> list[str]:
    if shutil.which("crictl"):
        return ["crictl", "pull", image]
    hosts = "--hosts-dir=/etc/containerd/certs.d"
    return ["ctr", "--namespace=k8s.io", "images", "pull", hosts, image]


def _short(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]
