"""The root file system that all machines share: Debian 12 by mmdebstrap, kept in the cache, never changed.

Nothing is installed on this computer: where mmdebstrap is not, its package is unpacked beside the root.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import deque
from pathlib import Path

from shiplift.local import cache, paths, platforms
from shiplift.local.errors import LocalError, NoSpaceError
from shiplift.local.machines import tools
from shiplift.local.machines.files import Files, write_files
from shiplift.local.progress import Say

SUITE = "bookworm"
SANDBOX = "3.10.2"
"""The pause of every pod's sandbox, whatever the version of Kubernetes."""
PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "openssh-server", "python3", "ca-certificates", "curl"),
    *("containerd", "runc", "containernetworking-plugins", "docker-registry", "haproxy"),
    *("iproute2", "iptables", "conntrack", "ethtool", "socat", "procps", "kmod"),
)
_OPTIONS = (
    *("--mode=root", "--variant=minbase", "--format=directory"),
    '--aptopt=Apt::Install-Recommends "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")),
)
# what would change kernel settings of this computer, ask for the internet, or is only for some machines
_MASKED = (
    *("systemd-sysctl.service", "systemd-modules-load.service", "systemd-binfmt.service"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-fs-fuse-connections.mount"),
    *("dev-hugepages.mount", "console-getty.service", "getty.target", "systemd-logind.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"),
)
_OFF = ("docker-registry.service", "haproxy.service")
_WANTED_BY = "etc/systemd/system/multi-user.target.wants"
_CONTAINERD = """\
version = 2
oom_score = 0
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  sandbox_image = "registry.k8s.io/pause:%s"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
_MIRROR = """\
server = "http://depot:5000"
[host."http://depot:5000"]
  capabilities = ["pull", "resolve"]
"""
_FILES: Files = {
    "etc/containerd/config.toml": _CONTAINERD % SANDBOX,
    "etc/containerd/certs.d/_default/hosts.toml": _MIRROR,
    "etc/apt/sources.list": "",
    "etc/apt/apt.conf.d/90shiplift": 'Acquire::Languages "none";\n',
    "etc/resolv.conf": "",
    "etc/ssh/sshd_config.d/shiplift.conf": "PasswordAuthentication no\n",
}


def find(say: Say) -> Path:
    """The root; made when it is not there, which takes one to three minutes, once."""
    return cache.filled(folder(), "the root of machines", lambda temporary: _make(temporary, say), say)


def folder() -> Path:
    """Named after everything that its content depends on, but for the day of its making."""
    content = repr((PACKAGES, _OPTIONS, _MASKED, _OFF, _FILES))
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return paths.cache_root() / "machines" / f"root-{SUITE}-{platforms.machine()}-{digest}"


def _make(temporary: Path, say: Say) -> Path:
    root = temporary / "root"
    say(f"making the root of machines: Debian {SUITE}; this takes one to three minutes, once")
    _bootstrap(_mmdebstrap(temporary), root)
    _adapt(root)
    return root


def _mmdebstrap(temporary: Path) -> Path:
    """The installed one, else unpacked from its package."""
    if found := tools.find("mmdebstrap"):
        return Path(found)
    unpacked = temporary / "mmdebstrap"
    options = ["-o", "APT::Sandbox::User=root"]
    _run(
        [tools.tool("apt-get"), *options, "download", "mmdebstrap"],
        temporary,
        "mmdebstrap cannot be downloaded",
    )
    (package,) = temporary.glob("mmdebstrap_*.deb")
    _run([tools.tool("dpkg-deb"), "-x", package, unpacked], temporary, "mmdebstrap cannot be unpacked")
    return unpacked / "usr/bin/mmdebstrap"


def _bootstrap(program: Path, root: Path) -> None:
    command = [program, *_OPTIONS, f"--include={','.join(PACKAGES)}", SUITE, root]
    _run(command, root.parent, "the root of machines cannot be made", f"{program.parent}:")


def _run(command: list[str | Path], where: Path, failed: str, path: str = "") -> None:
    environment = {**os.environ, "PATH": f"{path}{tools.path()}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = deque((line for line in done.stderr.splitlines() if line.startswith("E:")), maxlen=2)
        if "No space left on device" in done.stderr:
            raise NoSpaceError(where)
        raise LocalError(
            f"{failed}: {' '.join(last)[:300]}",
            "is there a network, and a Debian mirror that apt-get update finds?",
        )


def _adapt(root: Path) -> None:
    for name in _MASKED:
        link = root / "etc/systemd/system" / name
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for name in _OFF:
        (root / _WANTED_BY / name).unlink(missing_ok=True)
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for name in ("containerd", "kubelet", "etcd"):
        (root / "var/lib" / name).mkdir(exist_ok=True)
    for name in ("etc/cni/net.d", "etc/kubernetes", "opt/cni"):
        (root / name).mkdir(parents=True, exist_ok=True)
    write_files(root, _FILES)
