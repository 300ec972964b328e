"""What makes a machine this one and no other: its disks as they are before it boots for the first time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec

from shiplift.local.machines.blueprint import Disks
from shiplift.local.machines.files import Files, write_files
from shiplift.local.machines.inside import KUBELET_SETTINGS, PLAIN
from shiplift.local.machines.keys import KeyPair
from shiplift.local.machines.network import DEPOT, MOST_MACHINES, Network, machine_names

PORTS = (80, 5000)
"""Where the depot has packages and images."""
_POD_NETWORK = "etc/cni/net.d/10-shiplift.conflist"
_REGISTRY = """\
version: 0.1
log: {level: warn}
storage:
  filesystem: {rootdirectory: /srv/published/registry}
  maintenance: {readonly: {enabled: true}}
http: {addr: ":5000"}
"""
_PACKAGE_SERVER = """\
[Unit]
Description=packages and other files for the machines
[Service]
ExecStart=/usr/bin/python3 -m http.server --directory /srv/published 80
Restart=always
"""
_AT_START = "etc/systemd/system/multi-user.target.wants"


def prepare(disks: Disks, network: Network, name: str, own: KeyPair, opener: str) -> None:
    """Empty disks, and the few files by which machines differ."""
    folders = (disks.changes, disks.work, disks.merged, *(disks.plain(one) for one in PLAIN))
    for folder in folders:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    for setting, value in KUBELET_SETTINGS.items():
        target = disks.settings / setting
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{value}\n")
    write_files(disks.changes, _files(network, name, own, opener))
    (disks.changes / "root").chmod(0o700)
    if name == DEPOT:
        _serve(disks)


def _files(network: Network, name: str, own: KeyPair, opener: str) -> Files:
    return {
        "etc/hostname": f"{name}\n",
        "etc/machine-id": f"{uuid.uuid4().hex}\n",
        "etc/hosts": _hosts(network),
        # nobody answers there, at once; CoreDNS does not start where there is no address
        "etc/resolv.conf": f"nameserver {network.address(DEPOT)}\n",
        "etc/ssh/ssh_host_ed25519_key": own.private,
        "etc/ssh/ssh_host_ed25519_key.pub": own.public,
        "root/.ssh/authorized_keys": opener,
        _POD_NETWORK: _pod_network(network, name),
    }


def _hosts(network: Network) -> str:
    names: Sequence[str] = [DEPOT, *machine_names(MOST_MACHINES)]
    return "127.0.0.1 localhost\n" + "".join(f"{network.address(one)} {one}\n" for one in names)


def _pod_network(network: Network, name: str) -> str:
    """Pods of a machine are on a bridge of its own; the ways to the other machines' pods are set already."""
    if name == DEPOT:
        return "{}\n"
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": network.pods(name)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    content = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}
    return msgspec.json.encode(content).decode() + "\n"


def _serve(disks: Disks) -> None:
    """The depot has what the others get: packages by HTTP, images by a registry."""
    wanted = disks.changes / _AT_START
    write_files(
        disks.changes,
        {
            "etc/docker/registry/config.yml": _REGISTRY,
            "etc/systemd/system/files.service": _PACKAGE_SERVER,
        },
    )
    wanted.mkdir(parents=True, exist_ok=True)
    (disks.changes / "etc/systemd/system/containerd.service").symlink_to("/dev/null")
    (wanted / "files.service").symlink_to("/etc/systemd/system/files.service")
    (wanted / "docker-registry.service").symlink_to("/lib/systemd/system/docker-registry.service")
