"""Images of a version of Kubernetes, pulled before they are needed.

Which images those are is asked of the kubeadm of that version, taken out of its package where it is not
installed yet, with what the cluster says of itself: where its images come from, and what it goes without. A
worker needs few of them. They are pulled by the way the kubelet would pull them (crictl), or straight into
containerd where there is no crictl.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from shiplift.agent.door.connection import Connection
from shiplift.agent.errors import AgentError
from shiplift.agent.machine import commands
from shiplift.agent.machine.kubeadm import check_version
from shiplift.agent.settings import KUBECONFIG

_LOOK_SECONDS, _PULL_SECONDS = 60.0, 1200.0
_ON_WORKERS = ("kube-proxy", "pause", "coredns")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]{1,253}")
_MOST_IMAGES = 50
_CONFIGURATION = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
_log = logging.getLogger(__name__)


def pull(version: str, package: Path | None, cluster: str, *, control_plane: bool) -> int:
    """Pull what a machine of that kind needs; how many images that were. `package` is the archive of the
    kubeadm to ask, `cluster` the cluster's ClusterConfiguration."""
    check_version(version)
    wanted = needed(_listed(version, package, cluster), control_plane=control_plane)
    for image in wanted:
        _log.info("pulling %s", image)
        commands.run(_puller(image), seconds=_PULL_SECONDS)
    return len(wanted)


def needed(images: Iterable[str], *, control_plane: bool) -> list[str]:
    listed = [image for image in images if _IMAGE.fullmatch(image)][:_MOST_IMAGES]
    if control_plane:
        return listed
    return [image for image in listed if _short(image) in _ON_WORKERS]


def configuration(kubeconfig: Path = KUBECONFIG) -> str:
    """What kubeadm has written down of the cluster, which its nodes may read; empty where that is not so."""
    connection = Connection(kubeconfig)
    try:
        answer = connection.ask("GET", _CONFIGURATION)
    except AgentError as error:
        _log.warning("the cluster's configuration: %s", error)
        return ""
    finally:
        connection.close()
    if answer.status != 200:
        _log.warning("the cluster's configuration was not given: %s %s", answer.status, answer.message)
    return str(answer.body.get("data", {}).get("ClusterConfiguration", ""))


def of_version(cluster: str, version: str) -> str:
    """The same configuration, of another version."""
    return re.sub(r"^kubernetesVersion:.*$", f"kubernetesVersion: {version}", cluster, flags=re.M)


def _listed(version: str, package: Path | None, cluster: str) -> list[str]:
    """What kubeadm says that the version is made of."""
    with tempfile.TemporaryDirectory(prefix="shiplift-kubeadm-") as folder:
        program = _unpacked(package, Path(folder)) if package else "kubeadm"
        asked = f"--kubernetes-version={version}"
        if cluster:
            (Path(folder) / "cluster.yaml").write_text(of_version(cluster, version))
            asked = f"--config={folder}/cluster.yaml"
        lines = commands.run([program, "config", "images", "list", asked], seconds=_LOOK_SECONDS).out.split()
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
