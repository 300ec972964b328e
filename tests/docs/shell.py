"""One bash in which the commands of a page are run, one after another, as a reader would run them.

Each has its output and exit code told apart, and yet they share variables, functions and background jobs.
Whatever a page has left running ends with the shell.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path

import msgspec

_LOOP = """
while IFS= read -r -d '' command <&3; do
    eval "$command" </dev/null 3<&- 4>&-
    echo "$?" >&4
done
"""


class Result(msgspec.Struct, frozen=True):
    """What became of a command; no code where it did not end in time."""

    code: int | None
    said: str


class Shell:
    """A running bash; standard output and error of its commands are one text, as on a terminal."""

    def __init__(self, folder: Path, environment: Mapping[str, str], output: Path) -> None:
        asks, self._asks = os.pipe()
        self._codes, codes = os.pipe()
        self._output = output.open("w+b")
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec 3<&{asks} 4>&{codes} {asks}<&- {codes}>&-\n{_LOOP}"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            pass_fds=(asks, codes),
            start_new_session=True,
        )
        os.close(asks)
        os.close(codes)

    def run(self, command: str, seconds: float) -> Result:
        begin = os.fstat(self._output.fileno()).st_size
        os.write(self._asks, f"{command}\0".encode())
        ready, _, _ = select.select([self._codes], [], [], seconds)
        answer = os.read(self._codes, 64) if ready else b""
        return Result(int(answer) if answer else None, self._said(begin))

    def close(self) -> None:
        """With everything that it has started and that is still in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._asks)
        os.close(self._codes)
        self._output.close()

    def _said(self, begin: int) -> str:
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size - begin, begin).decode(errors="replace")


@contextlib.contextmanager
def running(folder: Path, environment: Mapping[str, str], output: Path) -> Generator[Shell]:
    shell = Shell(folder, environment, output)
    try:
        yield shell
    finally:
        shell.close()
