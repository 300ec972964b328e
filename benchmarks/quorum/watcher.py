"""Who runs what, from moment to moment, in a process of its own: by the file that each server's process runs.

usage: python -m benchmarks.quorum.watcher FILE FOLDER COUNT OLD_SIZE NEW_SIZE; it ends when standard input is
closed, and leaves what it saw in the file.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import msgspec

_EVERY = 0.004


class Moment(msgspec.Struct):
    """From then on: `o` for old, `n` for new, `-` for none, a letter a server."""

    at: float
    runs: str


def watch(folder: Path, count: int, old: int, new: int, over: threading.Event) -> list[Moment]:
    seen: list[Moment] = []
    while not over.wait(_EVERY):
        runs = "".join(_runs(folder, at, {old: "o", new: "n"}) for at in range(count))
        if not seen or seen[-1].runs != runs:
            seen.append(Moment(time.time(), runs))
    return seen


def _runs(folder: Path, at: int, sizes: dict[int, str]) -> str:
    try:
        pid = (folder / f"pid{at}").read_text()
        return sizes.get(os.stat(f"/proc/{pid}/exe").st_size, "-")
    except (OSError, ValueError):
        return "-"


if __name__ == "__main__":
    file, place, number, old_size, new_size = sys.argv[1:]
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
    moments = watch(Path(place), int(number), int(old_size), int(new_size), ended)
    Path(file).write_bytes(msgspec.json.encode(moments))
