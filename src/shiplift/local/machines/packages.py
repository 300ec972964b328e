"""Debian packages of Kubernetes, as pkgs.k8s.io has them: kubelet, kubeadm and kubectl, by version.

A package has a link where the program would be: programs are shared by all machines of this computer,
which have them in memory once. Control files, units, scripts and dependencies are real.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import msgspec

from shiplift.local import cache, paths, platforms
from shiplift.local.errors import LocalError
from shiplift.local.machines import programs
from shiplift.local.machines.files import Files, write_files
from shiplift.local.machines.tools import tool
from shiplift.local.progress import Say

# where machines see what is published for them
PUBLISHED = "/srv/published"
INDEX = "Packages"
_UNIT = """\
[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
"""
_DROP_IN = """\
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS \
$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
_ENABLE_KUBELET = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    systemctl daemon-reload
    systemctl enable kubelet.service
fi
"""
_RELOAD = """\
#!/bin/sh
set -e
systemctl daemon-reload
"""
_STOP_KUBELET = """\
#!/bin/sh
set -e
if [ "$1" = remove ]; then
    systemctl disable --now kubelet.service
fi
"""


class Package(msgspec.Struct, frozen=True):
    """One package, but for its version."""

    name: str
    description: str
    depends: str = ""
    files: Files = {}
    scripts: Files = {}


PACKAGES = (
    Package(
        "kubelet",
        "node agent of Kubernetes",
        "iptables, iproute2, ethtool, socat, conntrack",
        {"lib/systemd/system/kubelet.service": _UNIT},
        {"postinst": _ENABLE_KUBELET, "prerm": _STOP_KUBELET},
    ),
    Package(
        "kubeadm",
        "makes and upgrades clusters of Kubernetes",
        "kubelet, kubectl",
        {"lib/systemd/system/kubelet.service.d/10-kubeadm.conf": _DROP_IN},
        {"postinst": _RELOAD},
    ),
    Package("kubectl", "command line of Kubernetes"),
)


def find(version: str, say: Say) -> Path:
    """The folder of the packages of that version, and of their part of the index."""
    return cache.filled(
        folder_of(version), f"packages of {version}", lambda empty: _make(version, empty), say
    )


def folder_of(version: str) -> Path:
    content = msgspec.json.encode((PACKAGES, PUBLISHED, revision(version)))
    digest = hashlib.sha256(content).hexdigest()[:12]
    return paths.cache_root() / "machines" / f"packages-{version}-{platforms.machine()}-{digest}"


def revision(version: str) -> str:
    """As apt knows it: 1.36.3-1.1."""
    return f"{version.removeprefix('v')}-1.1"


def channel(version: str) -> str:
    """The repository that has it: one for each minor."""
    return version.rpartition(".")[0]


def _make(version: str, empty: Path) -> Path:
    folder = empty / "packages"
    folder.mkdir()
    stanzas = [_pack(package, version, empty / package.name, folder) for package in PACKAGES]
    (folder / INDEX).write_text("".join(stanzas))
    return folder


def _pack(package: Package, version: str, content: Path, folder: Path) -> str:
    program = content / "usr/bin" / package.name
    program.parent.mkdir(parents=True)
    program.symlink_to(f"{PUBLISHED}/{programs.BINARY}/{version}/{package.name}")
    write_files(content, package.files)
    write_files(content, {f"DEBIAN/{name}": script for name, script in package.scripts.items()})
    for name in package.scripts:
        (content / "DEBIAN" / name).chmod(0o755)
    return pack(content, _control(package, version), folder)


def pack(content: Path, control: str, folder: Path) -> str:
    """The package of that content into the folder; returns what the index says of it."""
    write_files(content, {"DEBIAN/control": control})
    named = [_field(control, name) for name in ("Package", "Version", "Architecture")]
    target = folder / f"{'_'.join(named)}.deb"
    _dpkg_deb(content, target)
    packed = target.read_bytes()
    digest = hashlib.sha256(packed).hexdigest()
    return f"{control}Filename: ./{target.name}\nSize: {len(packed)}\nSHA256: {digest}\n\n"


def _field(control: str, name: str) -> str:
    (value,) = re.findall(rf"^{name}: (.+)$", control, re.MULTILINE)
    return value


def _control(package: Package, version: str) -> str:
    fields = {
        "Package": package.name,
        "Version": revision(version),
        "Architecture": platforms.machine(),
        "Maintainer": "shiplift <shiplift@example.invalid>",
        "Depends": package.depends,
        "Section": "admin",
        "Priority": "optional",
        "Description": package.description,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def _dpkg_deb(content: Path, target: Path) -> None:
    command = [tool("dpkg-deb"), "--root-owner-group", "-Zgzip", "-z1", "--build", content, target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LocalError(f"{target.name} cannot be made: {done.stderr.strip()[-200:]}", "is dpkg whole?")
