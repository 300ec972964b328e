"""A real OpenSSH server on loopback, with a host key, a login and a port of its own; and a relay before it.

It runs in a mount namespace of its own, so that the user it wants for itself is in no file of this computer.
Where no sshd is installed, Debian's package is unpacked into the cache, and installed nowhere.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path

import asyncssh
import msgspec
import pytest

from shiplift.local import paths
from shiplift.machines.ssh.door import Target
from tests.until import Deadline

_PACKAGES = ("openssh-server", "libwrap0")
_START = """
set -e
mount --bind "$1" /etc/passwd
mount -t tmpfs tmpfs /run
mkdir /run/sshd
exec "$2" -D -e -f "$3"
"""


class Server(msgspec.Struct, frozen=True):
    """Where it is, and how to get in."""

    port: int
    host_key: str
    key: Path
    process: subprocess.Popen[bytes]

    def target(self, name: str = "m1", **changes: object) -> Target:
        found = Target(name, "127.0.0.1", self.port, self.host_key)
        return msgspec.structs.replace(found, **changes)


class NoSshdError(Exception):
    """There is none here, and why."""


def found() -> tuple[Path, dict[str, str]]:
    """The sshd of this computer, or Debian's unpacked."""
    if os.geteuid() != 0:
        raise NoSshdError("a login as root needs root")
    if installed := shutil.which("sshd", path="/usr/sbin:/usr/local/sbin"):
        return Path(installed), {}
    folder = paths.cache_root() / "sshd"
    if not (folder / "usr/sbin/sshd").exists():
        _unpack(folder)
    library = next(folder.glob("**/libwrap.so.0"), None)
    return folder / "usr/sbin/sshd", {"LD_LIBRARY_PATH": str(library.parent)} if library else {}


def _unpack(folder: Path) -> None:
    fresh = folder.with_name(f".sshd-{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        done = subprocess.run(
            ["apt-get", "download", *_PACKAGES], cwd=fresh, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise NoSshdError("there is no sshd, and apt-get download openssh-server does not work here")
        for one in fresh.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", one, fresh], check=True)
        with contextlib.suppress(OSError):
            fresh.rename(folder)
    except FileNotFoundError:
        raise NoSshdError("there is no sshd, and no apt-get to fetch one") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def program() -> tuple[Path, dict[str, str]]:
    """The test is skipped where there is none."""
    try:
        return found()
    except NoSshdError as error:
        pytest.skip(str(error))


@contextlib.contextmanager
def serving(folder: Path) -> Generator[Server]:
    sshd, environment = program()
    host, login = (_made(folder / name) for name in ("host", "login"))
    (folder / "authorized_keys").write_bytes(login.export_public_key())
    passwd = folder / "passwd"
    passwd.write_text(Path("/etc/passwd").read_text() + "sshd:x:65530:65534::/run/sshd:/usr/sbin/nologin\n")
    port = free_port()
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", _START, "sh", passwd, sshd, folder / "config"],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        _wait(port, process, folder / "log")
        public = host.export_public_key().decode()
        yield Server(port, " ".join(public.split()[:2]), folder / "login", process)
    finally:
        process.kill()
        process.wait()


def _made(path: Path) -> asyncssh.SSHKey:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path.write_bytes(key.export_private_key())
    path.chmod(0o600)
    return key


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = Deadline(30)
    while not deadline.over:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"sshd does not answer: {log.read_text()}")


class Relay:
    """Passes bytes between a client and the server until it is told to cut or to hold them."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = []
        self.passing = threading.Event()
        self.passing.set()
        self.cut_after: int | None = None
        """Cut the connection when the server has said so many bytes since."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [client, server]
                for one, other, counted in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass, args=(one, other, counted), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := one.recv(65536):
                self.passing.wait()
                if counted and self.cut_after is not None:
                    self.cut_after -= len(chunk)
                    if self.cut_after <= 0:
                        self.cut_after = None
                        self.cut()
                        return
                other.sendall(chunk)
        for end in (one, other):
            end.close()

    def cut(self) -> None:
        """Those of now: whoever is cut may be back at once."""
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        self.passing.set()
        self._listener.close()
        self.cut()
