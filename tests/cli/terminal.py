"""A command in a terminal of its own, as a person would use it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import Self

from tests.until import Deadline

_IN_CONTROL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """Runs the command with a controlling terminal of 100 columns; what it wrote is in `output`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.settings = termios.tcgetattr(self._theirs)
        self.output, self._closed = "", False
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_CONTROL, *command],
            env=environment,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.wait(30)
        if not self._closed:
            self.close()

    @property
    def settings_now(self) -> object:
        return termios.tcgetattr(self._theirs)

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def close(self) -> None:
        """As when its window is closed."""
        self._closed = True
        os.close(self._theirs)
        os.close(self._ours)

    def forget(self) -> None:
        self.output = ""

    def read_until(self, text: str, seconds: float = 60.0) -> None:
        deadline = Deadline(seconds)
        while text not in self.output:
            assert not deadline.over, f"{text!r} was not written in time: {self.output[-2000:]!r}"
            assert self.process.poll() is None or self._read(0.0), f"it ended: {self.output[-2000:]!r}"
            self._read(0.2)

    def wait(self, seconds: float = 60.0) -> int:
        """The exit code; reads on meanwhile, or a full terminal would hold the command up."""
        deadline = Deadline(seconds)
        while self.process.poll() is None:
            assert not deadline.over, f"it did not end in time: {self.output[-2000:]!r}"
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.output += os.read(self._ours, 65536).decode(errors="replace")
        return True
