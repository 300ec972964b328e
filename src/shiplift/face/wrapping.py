"""Text on a terminal that breaks between values, never inside one: `12 min`, `0 of 2 pods` and `StatefulSet
shop/db` each stay on a line as long as they fit in one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

_VALUES = re.compile(
    r"""(?:
      [\[(]*`[^`]{1,60}`\S*                                 # a command
    | \(?[A-Z][A-Za-z]+\ [a-z0-9][\w.-]*/[\w.-]+\S*         # Kind namespace/name
    | \(?(?:WorkloadMigration|NodeRollout|pod|node|namespace)\ [\w./-]+\S*
    | wave\ \d+:\ \S+
    | and\ [\d,]+\ more\S*
    | (?:needs|has)\ \d[\d,]*\ of\ [\d,]+(?:\ [a-z]+\S*)?
    | (?:about|for|needs|has|in)\ \d[\d,./]*(?:\ (?:s|min|h)\b\S*|[;:,]*)
    | \(?\d[\d,./]*\ of\ [\d,]+(?:\ [a-z]+\S*)?
    | \(?\d[\d,./]*\ on\ \S+(?:\ \(target\),?)?
    | \(?\d[\d,./]*\ [A-Za-z]+\S*                           # a number, and what is counted
    | \S+ )(?=\s|$)""",
    re.VERBOSE,
)
_LEAST = 24
"""So narrow a column of text may become, whatever stands in it."""


class Sentence:
    """A text in as many lines as it needs, or in so many; the beginning may have a style of its own."""

    def __init__(self, text: str, *, lines: int | None = None, lead: str = "", style: str = "") -> None:
        self.text, self._lines, self._lead, self._style = text, lines, lead, style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widest = max((cell_len(one) for one in values(self.text)), default=0)
        return Measurement(min(widest, _LEAST), cell_len(self.text)).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for number, line in enumerate(broken(self.text, options.max_width, self._lines)):
            drawn = Text(line, no_wrap=True, overflow="ellipsis", style="" if self._lead else self._style)
            if self._lead and not number:
                drawn.stylize(self._style, 0, len(self._lead))
            yield drawn


def values(text: str) -> list[str]:
    """The parts of a text that are better not broken."""
    return _VALUES.findall(text)


def broken(text: str, width: int, most: int | None = None) -> list[str]:
    """The lines of a text, each no wider than that; of more than `most` the last is cut, and says so."""
    lines = [""]
    for value in values(text):
        joined = f"{lines[-1]} {value}" if lines[-1] else value
        if cell_len(joined) <= width:
            lines[-1] = joined
        else:
            lines += _fitted(value, width) if lines[-1] else []
            lines = lines if lines[-1] else _fitted(value, width)
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], _cut(lines[most - 1], width)]


def _cut(line: str, width: int) -> str:
    """A line that says that there is more, cut between two values if it can be."""
    while cell_len(line) >= width and len(kept := values(line)[:-1]):
        line = " ".join(kept)
    return f"{(chop_cells(line, max(1, width - 1)) or [''])[0]}…"


def _fitted(value: str, width: int) -> list[str]:
    """A value that is wider than a line: between its words if they fit, else wherever the line ends."""
    if cell_len(value) <= width:
        return [value]
    lines = [""]
    for word in value.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        pieces = [joined] if cell_len(joined) <= width else chop_cells(word, max(1, width))
        lines = [*(lines if lines[-1] and pieces != [joined] else lines[:-1]), *pieces]
    return lines
