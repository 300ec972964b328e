"""One machine, by name: its address, commands on it, its power and its cable."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from shiplift.local import process
from shiplift.local.errors import LocalError
from shiplift.local.machines import blueprint, cgroups, network
from shiplift.local.machines.blueprint import Disks
from shiplift.local.machines.network import Network
from shiplift.local.machines.tools import tool
from shiplift.local.private import write_private
from shiplift.local.process import Process

_BOOT_TIMEOUT = 180.0
_LOOK = 0.05
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}


class Host(msgspec.Struct, frozen=True):
    """A handle; cheap, and any number may exist."""

    name: str
    network: Network
    folder: Path
    port: int = 22

    @property
    def address(self) -> str:
        return self.network.address(self.name)

    @property
    def disks(self) -> Disks:
        return Disks(self.folder)

    @property
    def running(self) -> bool:
        return self._init() is not None

    @property
    def answers(self) -> bool:
        """Whether its sshd does."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection((self.address, self.port), 1.0) as link,
        ):
            return link.recv(4) == b"SSH-"
        return False

    def run(
        self, *command: str, check: bool = True, stdin: bytes = b"", timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """On the machine, as root; goes in by its namespaces, so that neither sshd nor network is needed."""
        init = self._init()
        if init is None:
            raise LocalError(f"machine {self.name} is off", "start it first")
        enter = [tool("nsenter"), "-t", str(init.pid), "-a", "-r", "-w", "--"]
        done = subprocess.run(
            [*enter, *command],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=timeout,
            env=_ENVIRONMENT,
        )
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if check and done.returncode:
            last = "\n".join(filter(None, (said.strip()[-400:] for said in (out, err))))
            raise LocalError(f"{' '.join(command)[:200]} failed on {self.name}: {last}", _logs(self.disks))
        return subprocess.CompletedProcess(list(command), done.returncode, out, err)

    def read(self, path: str) -> bytes:
        return self.run("cat", path).stdout.encode()

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Whole or not at all, with its folder if that is missing."""
        self.run("install", "-D", "-m", f"{mode:o}", "/dev/stdin", path, stdin=content)

    def start(self) -> None:
        """Boot it, unless it runs; the disks are as they were. It does not answer yet."""
        if self.running:
            return
        self._settle()
        with process.signals_held():
            program = [sys.executable, "-m", "shiplift.local.machines.keeper", self.folder]
            started = process.spawn(program, self.disks.console, self.folder)
            write_private(self.disks.keeper, msgspec.json.encode(started))

    def listens(self, port: int) -> bool:
        """Whether anybody does there."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection((self.address, port), 1.0),
        ):
            return True
        return False

    def wait(self, *ports: int) -> None:
        """Until its sshd answers, and somebody listens at each of those ports."""
        deadline = time.monotonic() + _BOOT_TIMEOUT
        while not (self.answers and all(map(self.listens, ports))):
            keeper = _read(self.disks.keeper)
            if keeper is None or not keeper.alive:
                raise LocalError(f"machine {self.name} does not boot: {_last(self.disks)}", _logs(self.disks))
            if time.monotonic() > deadline:
                raise LocalError(f"machine {self.name} does not answer", _logs(self.disks))
            time.sleep(_LOOK)

    def kill(self) -> None:
        """Off at once, as if its plug were pulled."""
        for one in (_read(self.disks.keeper), self._init()):
            if one:
                one.send(signal.SIGKILL)
        if (self.folder / blueprint.FILE).exists():
            cgroups.end(blueprint.read(self.disks).cgroups)
        self._settle()

    def reboot(self) -> None:
        """Pull the plug and boot again; returns when sshd answers."""
        self.kill()
        self.start()
        self.wait()

    def cut(self) -> None:
        """Nothing comes from it or gets to it, until `mend`."""
        network.switch(self.network, self.name, on=False)

    def mend(self) -> None:
        network.switch(self.network, self.name, on=True)

    def remove(self) -> None:
        """Off, and nothing of it is left but its disks."""
        self.kill()
        if (self.folder / blueprint.FILE).exists():
            cgroups.remove(blueprint.read(self.disks).cgroups)
        network.disconnect(self.network, self.name)

    def _settle(self) -> None:
        """Until every process of its last life is gone: the disks must have one user."""
        before = [one for one in (_read(self.disks.keeper), self._init()) if one]
        if not process.wait_gone(before, 10):
            raise LocalError(f"machine {self.name} does not end", _logs(self.disks))
        if (self.folder / blueprint.FILE).exists():
            cgroups.wait_empty(blueprint.read(self.disks).cgroups)
        self.disks.init.unlink(missing_ok=True)

    def _init(self) -> Process | None:
        """Its first process, while that lives."""
        found = _read(self.disks.init)
        return found if found and found.alive else None


def _read(path: Path) -> Process | None:
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=Process)
    return None


def _last(disks: Disks) -> str:
    lines = disks.console.read_text(errors="replace").strip().splitlines() if disks.console.exists() else []
    return lines[-1][:300] if lines else "it said nothing"


def _logs(disks: Disks) -> str:
    return f"its log may tell why: {disks.console}"
