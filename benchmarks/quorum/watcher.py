"""Who runs what, from moment to moment, in a process of its own: by the file that each server's process runs.

usage: python -m benchmarks.quorum.watcher FILE COUNT OLD_SIZE NEW_SIZE; it ends when standard input is
closed, and leaves what it saw in the file.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

import msgspec

_EVERY = 0.004
_LOOK = 0.2
_NAME = b"POD_NAME=minio-"


class Moment(msgspec.Struct):
    """From then on: `o` for old, `n` for new, `-` for none, a letter a server."""

    at: float
    runs: str


def servers() -> dict[int, int]:
    """The processes of servers in pods, by the number of the pod: one that swaps its binary stays."""
    found = dict[int, int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            words = (folder / "cmdline").read_bytes().split(b"\0")[:2]
            if len(words) < 2 or not words[0].endswith(b"/minio") or words[1] != b"server":
                continue
            given = (folder / "environ").read_bytes().split(b"\0")
            named = next(word for word in (*given, b"") if word.startswith(_NAME) or not word)
            found[int(named.removeprefix(_NAME))] = int(folder.name)
    return found


class Watcher:
    """Looks for processes now and then, and at their files all the time."""

    def __init__(self, count: int, old: int, new: int) -> None:
        self._count, self._sizes = count, {old: "o", new: "n"}
        self._pids: dict[int, int] = {}
        self.over = threading.Event()

    def look(self) -> None:
        while not self.over.wait(_LOOK):
            self._pids = servers()

    def watch(self) -> list[Moment]:
        seen: list[Moment] = []
        while not self.over.wait(_EVERY):
            runs = "".join(self._runs(at) for at in range(self._count))
            if not seen or seen[-1].runs != runs:
                seen.append(Moment(time.time(), runs))
        return seen

    def _runs(self, at: int) -> str:
        try:
            return self._sizes.get(os.stat(f"/proc/{self._pids[at]}/exe").st_size, "-")
        except (OSError, KeyError):
            return "-"


def _wait_for_end(watcher: Watcher) -> None:
    sys.stdin.buffer.read()
    watcher.over.set()


if __name__ == "__main__":
    file, number, old_size, new_size = sys.argv[1:]
    made = Watcher(int(number), int(old_size), int(new_size))
    for work in (made.look, lambda: _wait_for_end(made)):
        threading.Thread(target=work, daemon=True).start()
    Path(file).write_bytes(msgspec.json.encode(made.watch()))
