"""The operator as a process of its own, which can be killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from tests.parents import ENDS_WITH_US


class Process:
    """One at a time."""

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        authority: Path,
        code: Path | None = None,
        within: tuple[str, ...] = (),
    ) -> None:
        """`within` is a command before its own: where it runs."""
        self._kubeconfig, self._folder, self._code = kubeconfig, folder, code
        self._authority, self._within = authority, within
        self.cache = folder / "cache"
        self.log = folder / "operator.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {**os.environ, "SSL_CERT_FILE": str(self._authority)}
        if self._code is not None:
            environment["PYTHONPATH"] = str(self._code)
        command = [sys.executable, "-c", "from shiplift.cli import main; main()", "operator"]
        arguments = ["--layers", "quorum", "--listen", "127.0.0.1:0", "--kubeconfig", str(self._kubeconfig)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, *self._within, *command, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """In order: it gives its lease back, so that the next one need not wait for it."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        self.kill()

    def last_lines(self, most: int = 8) -> list[str]:
        """Of its log."""
        return self.log.read_text(errors="replace").splitlines()[-most:]

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None
