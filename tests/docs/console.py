"""The `console` blocks of a page: what a reader types, and what the page promises to be said then.

    $ a command
    > that goes on
    what it says, with … for anything; a line … is any number of lines

Nothing is promised by a command without lines below it. Blanks count as one, since columns move.
What kubectl logs of itself is left out: a watch that it ends just as an event arrives is such a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

_FENCE = "```"
_BEGIN = "```console"
_PROMPT, _GOES_ON = "$ ", "> "
_ANYTHING = "…"
_BUILDS = "make "
"""What sets up a clone is not run in one that is set up."""
_LOGGED = re.compile(r"I\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.go:\d+\] ")
"""The beginning of a line that is for information, as Kubernetes' programs log it."""


class Command(msgspec.Struct, frozen=True):
    """One command of a page; `promised` is empty where the page does not say what comes of it."""

    page: str
    line: int
    text: str
    promised: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"

    def goes_on(self, line: str) -> Command:
        return msgspec.structs.replace(self, text=f"{self.text}\n{line}")

    def promises(self, line: str) -> Command:
        return msgspec.structs.replace(self, promised=(*self.promised, line))


def commands(page: Path) -> list[Command]:
    """Those of a page, top to bottom, but for those that build."""
    found = _read(page.name, page.read_text().splitlines())
    return [command for command in found if not command.text.startswith(_BUILDS)]


def _read(page: str, lines: Iterable[str]) -> Iterator[Command]:
    command: Command | None = None
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith((_FENCE, _PROMPT)):
            if command is not None:
                yield command
            command = None
        if line.startswith(_FENCE):
            inside = line == _BEGIN
        elif inside:
            command = _next(Command(page, number, ""), command, line)


def _next(fresh: Command, command: Command | None, line: str) -> Command:
    if line.startswith(_PROMPT):
        return msgspec.structs.replace(fresh, text=line.removeprefix(_PROMPT))
    if command is None:
        raise ValueError(
            f"{fresh.page}:{fresh.line}: a console block begins with a command, not with {line!r}"
        )
    if line.startswith(_GOES_ON) and not command.promised:
        return command.goes_on(line.removeprefix(_GOES_ON))
    return command.promises(line)


def kept(promised: Iterable[str], said: str) -> bool:
    """Whether what was said is what was promised."""
    pattern = "".join(map(_pattern, promised))
    lines = "".join(f"{_squeezed(line)}\n" for line in said.splitlines() if not _LOGGED.match(line))
    return re.fullmatch(pattern, lines) is not None


def _pattern(line: str) -> str:
    if line.strip() == _ANYTHING:
        return r"(?:[^\n]*\n)*"
    return "[^\n]*".join(map(re.escape, _squeezed(line).split(_ANYTHING))) + "\n"


def _squeezed(line: str) -> str:
    return " ".join(line.split())
