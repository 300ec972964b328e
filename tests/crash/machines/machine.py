"""A machine whose sshd, files, processes and restarts are real, and whose slow software is played.

It is a mount and a process namespace of this computer: `/etc`, `/var/lib` and `/run` are its own, its boot id
too. When its first process ends, every process of it ends, as without power.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid
from pathlib import Path

import asyncssh
import msgspec

from tests.crash.machines import played
from tests.crash.machines.events import Event, What, read
from tests.machines import sshd
from tests.parents import ENDS_WITH_US
from tests.until import until

_BOOT = """
set -e
mount -t proc proc /proc
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$1/lib" /var/lib
mount --bind "$1/rig" /usr/local/sbin
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd
mount --bind "$1/etc" /etc
exec "$2" -D -e -f /etc/sshd
"""
_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_PASSWD = "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
_FILES = {
    "passwd": _PASSWD,
    "shadow": "root:*:1::::::\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost\n",
}
_SECONDS = 0.4
"""What played software takes in its middle."""


class Cluster(msgspec.Struct, frozen=True):
    """The API server that `kubeadm init` begins."""

    kubectl: str
    kubeconfig: str
    """Of an administrator, as text."""
    ca: str
    ca_hash: str
    endpoint: str


class Machine:
    """One, by name; on or off. What is on its disks stays until it is put back."""

    def __init__(self, name: str, folder: Path, port: int, login: str, cluster: Cluster) -> None:
        self.name, self.folder, self.port = name, folder, port
        self._sshd, self._libraries = sshd.found()
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._login = login
        self._id = uuid.uuid4().hex
        self._on = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: threading.Thread | None = None
        self._furnish(cluster)

    # --- its disks ---

    @property
    def rig(self) -> Path:
        """What its programs know of the world, and what they have written down."""
        return self.folder / "rig"

    @property
    def disks(self) -> tuple[Path, Path]:
        return self.folder / "etc", self.folder / "lib"

    @property
    def bootstrap(self) -> Path:
        """What is kept there for bootstrap."""
        return self.folder / "lib/shiplift/bootstrap"

    @property
    def memory(self) -> Path:
        """What it has under `/run`, while it is on."""
        process = self._process
        children = _children(process.pid) if process is not None else []
        return Path("/proc", str(children[0]), "root", "run") if children else Path("/nowhere")

    def _furnish(self, cluster: Cluster) -> None:
        (self.rig / "cache").mkdir(parents=True)
        source = Path(played.__file__)
        shutil.copy(source, self.rig / "played.py")
        (self.rig / "played.py").chmod(0o755)
        for name in played.NAMES:
            (self.rig / name).symlink_to("played.py")
        (self.rig / "ca.crt").write_text(cluster.ca)
        (self.rig / "cluster.conf").write_text(cluster.kubeconfig)
        known = {
            "machine": self.name,
            "kubectl": cluster.kubectl,
            "ca_hash": cluster.ca_hash,
            "endpoint": cluster.endpoint,
            "seconds": _SECONDS,
        }
        (self.rig / "world.json").write_bytes(msgspec.json.encode(known))

    def wipe(self) -> None:
        """Bare, as on its first day."""
        self._forget()
        etc, lib = self.disks
        (lib / "dpkg").mkdir(parents=True)
        etc.mkdir()
        for name, text in _FILES.items():
            (etc / name).write_text(text)
        (etc / "machine-id").write_text(f"{self._id}\n")
        (etc / "host").write_bytes(self.host_key.export_private_key())
        (etc / "host").chmod(0o600)
        (etc / "authorized_keys").write_text(self._login)
        (etc / "sshd").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey /etc/host\nLogLevel ERROR\n"
            "AuthorizedKeysFile /etc/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        )

    def save(self, place: Path) -> None:
        for disk in self.disks:
            shutil.copytree(disk, place / self.name / disk.name, symlinks=True)

    def put_back(self, place: Path) -> None:
        self._forget()
        for disk in self.disks:
            shutil.copytree(place / self.name / disk.name, disk, symlinks=True)

    def _forget(self) -> None:
        for disk in self.disks:
            shutil.rmtree(disk, ignore_errors=True)
        for name in ("events", "secrets"):
            (self.rig / name).unlink(missing_ok=True)

    # --- its power ---

    def on(self) -> None:
        """Returns when it answers; from then on it comes back whenever it goes down."""
        self._on.set()
        self._keeper = threading.Thread(target=self._keep, name=f"machine {self.name}", daemon=True)
        self._keeper.start()
        self.wait_answering()

    def off(self) -> None:
        self._on.clear()
        if self._keeper is None:
            return
        while self._keeper.is_alive():
            self.cut_power()
            self._keeper.join(0.2)
        self._keeper = None

    def cut_power(self) -> None:
        """All of its processes end at once; it starts again by itself."""
        process = self._process
        if process is not None:
            for child in _children(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def wait_answering(self) -> None:
        try:
            until(self.answers, 30)
        except AssertionError as error:
            said = (self.folder / "log").read_text(errors="replace")[-2000:]
            raise AssertionError(f"machine {self.name} does not answer: {said}") from error

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as found:
            return found.recv(4) == b"SSH-"
        return False

    def _keep(self) -> None:
        """The thread that starts a process lives as long as that."""
        while self._on.is_set():
            (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
            self.write_down(What.BOOTED)
            with (self.folder / "log").open("ab") as log:
                command = [*ENDS_WITH_US, *_NAMESPACES, "sh", "-c", _BOOT, "sh", self.folder, self._sshd]
                self._process = subprocess.Popen(
                    command,
                    env={**os.environ, **self._libraries},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            self._process.wait()
            time.sleep(0.1)

    # --- what happened ---

    def write_down(self, what: What) -> None:
        line = Event(at=time.monotonic_ns(), machine=self.name, what=what)
        with (self.rig / "events").open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def events(self) -> list[Event]:
        return read([self.rig / "events"])

    def is_amid(self, entry: str) -> bool:
        return any(one.what is What.MIDDLE and one.entry == entry for one in self.events())

    def secrets(self) -> list[str]:
        path = self.rig / "secrets"
        return path.read_text().split() if path.exists() else []

    def reset(self) -> None:
        """What a person does after a look: `kubeadm reset -f`."""
        for path in (self.folder / "etc/kubernetes", self.folder / "lib/etcd"):
            shutil.rmtree(path, ignore_errors=True)
        self.write_down(What.RESET)


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
