"""Four real MinIO servers on loopback, one drive each: the smallest service that has a quorum.

Each has its own copy of the program, which a swap replaces, and ends with the process that started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shiplift.kube.secrets import Hidden
from shiplift.local.ports import free_ports
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import Server, Told
from shiplift.quorum.wire import Direct
from tests.parents import ENDS_WITH_US
from tests.until import until

COUNT = 4
_HOST = "127.0.0.1"
_USER, _PASSWORD = "minio-root", "minio-root-password"
CREDENTIALS = Credentials(_USER, Hidden(_PASSWORD.encode()))


class Servers:
    """The processes and their files."""

    def __init__(self, folder: Path, key: str, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._ports = free_ports(COUNT)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._settings = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MINIO_CI_CD": "1",
            "MINIO_BROWSER": "off",
            "MINIO_ROOT_USER": _USER,
            "MINIO_ROOT_PASSWORD": _PASSWORD,
            "MINIO_UPDATE_MINISIGN_PUBKEY": key,
            "GOMAXPROCS": "2",
            "NO_PROXY": "*",
            **(settings or {}),
        }

    @property
    def all(self) -> tuple[Server, ...]:
        return tuple(Server(f"minio-{at}", _HOST, port, _HOST) for at, port in enumerate(self._ports))

    def engine(self) -> MinIO:
        return MinIO(Direct(), CREDENTIALS)

    def program(self, at: int) -> Path:
        return self.folder / f"p{at}" / "minio"

    def install(self, at: int, program: Path) -> None:
        target = self.program(at)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(program, target.with_suffix(".copy"))
        target.with_suffix(".copy").replace(target)

    def start(self, at: int) -> None:
        address = f"{_HOST}:{self._ports[at]}"
        drives = [f"http://{_HOST}:{port}{self.folder}/d{one}" for one, port in enumerate(self._ports)]
        (self.folder / f"d{at}").mkdir(exist_ok=True)
        with (self.folder / f"log{at}").open("ab") as log:
            self._processes[at] = subprocess.Popen(
                [*ENDS_WITH_US, self.program(at), "server", "--address", address, *drives],
                env={**self._settings, "_MINIO_SERVER_LOCAL": address},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.program(at).parent,
            )

    def kill(self, at: int) -> None:
        self._processes[at].send_signal(signal.SIGKILL)
        self._processes[at].wait()

    def pid(self, at: int) -> int | None:
        """None where it has ended."""
        return self._processes[at].pid if self._processes[at].poll() is None else None

    def log(self, at: int) -> str:
        return (self.folder / f"log{at}").read_text(errors="replace")

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGKILL)
            process.wait()

    def wait_serving(self, seconds: float = 90.0) -> None:
        """Until each says so itself, and an object can be written through each."""
        engine = self.engine()
        until(lambda: all(_serves(engine.ask(server)) for server in self.all), seconds, 0.2)
        until(lambda: all(one.sings for one in engine.canary(self.all, None)), seconds, 0.5)

    def versions(self) -> list[str]:
        engine = self.engine()
        return [getattr(engine.ask(server), "version", "") for server in self.all]


@contextmanager
def running(
    folder: Path, program: Path, key: str, settings: Mapping[str, str] | None = None
) -> Iterator[Servers]:
    """Four servers with the program, until the end of the block."""
    servers = Servers(folder, key, settings)
    try:
        for at in range(COUNT):
            servers.install(at, program)
            servers.start(at)
        servers.wait_serving()
        yield servers
    finally:
        servers.stop()


def _serves(answer: object) -> bool:
    return isinstance(answer, Told) and answer.serving
