"""A package drawn: a row a channel, a column a version, an arrow from each version to what follows it.

The picture is one SVG without scripts, fonts or links. What somebody wrote into a catalog is text in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import pairwise

import msgspec

from shiplift.operators.catalog.graph import ChannelGraph
from shiplift.operators.catalog.model import Channel, Entry, Package
from shiplift.operators.catalog.ranges import parse_range
from shiplift.operators.catalog.semver import parse

_COLUMN, _ROW, _TOP, _BOTTOM, _DOT = 58, 86, 76, 104, 6
_LETTER = 7.2
"""About so wide is a letter of a label."""
_LONGEST = 40
"""So many letters of a version are shown; its name is told on hovering."""
_DOWN, _BACK = 0.77, 0.65
"""How far a slanting label goes down and to the left, by its length."""
_INK, _FAINT, _WAY, _HEAD = "#24313f", "#b6c0cb", "#d9480f", "#1c7ed6"
_LEGEND = (
    ("replaces", f'stroke="{_INK}"'),
    ("skips", f'stroke="{_INK}" stroke-dasharray="2 3"'),
    ("skipRange, from its lowest version", f'stroke="{_FAINT}" stroke-dasharray="7 4"'),
)
_TAKEN = f'stroke="{_WAY}" stroke-width="3"'
_WAY_WORDS = "the way"


class Walk(msgspec.Struct, frozen=True):
    """A way that somebody goes: its channel and, in order, the names of its versions."""

    channel: str
    versions: tuple[str, ...]


class _Place(msgspec.Struct, frozen=True):
    x: float
    y: float


class _Page:
    """Where everything is."""

    def __init__(self, package: Package, channels: Iterable[Channel], walk: Walk | None) -> None:
        self.package, self.walk = package, walk
        self.channels = tuple(channels)
        used = {entry.name for channel in self.channels for entry in channel.entries}
        bundles = [bundle for bundle in package.bundles if bundle.name in used]
        bundles.sort(key=lambda bundle: (parse(bundle.version).rank, bundle.name))
        self.versions = {bundle.name: bundle.version for bundle in bundles}
        self.columns = {bundle.name: number for number, bundle in enumerate(bundles)}
        self.labels = {name: _label(version) for name, version in self.versions.items()}
        self.left = max(self._room_for_channels(), self._room_for_labels())
        self.width = max(self.left + _COLUMN * len(bundles) + 60, 740 if walk else 640)
        self.height = _TOP + _ROW * len(self.channels) + max(_BOTTOM, self._depth_of_labels())

    def _room_for_channels(self) -> float:
        return 40 + _LETTER * max((len(channel.name) for channel in self.channels), default=0)

    def _room_for_labels(self) -> float:
        """What the labels of the first columns need to the left of these."""
        needed = [
            _BACK * _LETTER * len(label) - _COLUMN * (self.columns[name] + 0.5)
            for name, label in self.labels.items()
        ]
        return max(needed, default=0)

    def _depth_of_labels(self) -> float:
        return 30 + _DOWN * _LETTER * max(map(len, self.labels.values()), default=0)

    def before(self, channel: Channel) -> dict[str, str]:
        """By version, the one from which the way comes to it in that channel."""
        if self.walk is None or self.walk.channel != channel.name:
            return {}
        return {after: before for before, after in pairwise(self.walk.versions)}

    def place(self, row: int, name: str) -> _Place:
        return _Place(self.left + _COLUMN * (self.columns[name] + 0.5), _TOP + _ROW * (row + 0.7))


def draw(package: Package, channels: Iterable[Channel], walk: Walk | None = None) -> str:
    """The channels of the package, and the way that somebody goes through one of them."""
    page = _Page(package, channels, walk)
    body = [line for row, channel in enumerate(page.channels) for line in _channel(page, row, channel)]
    width, height = f"{page.width:.0f}", f"{page.height:.0f}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    name = _text(package.name)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
            f"<title>{name}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="16" y="28" font-size="17" font-weight="bold" fill="{_INK}">{name}</text>',
            *_legend(with_way=walk is not None),
            *body,
            *_axis(page),
            "</svg>\n",
        ]
    )


def _legend(*, with_way: bool) -> Iterator[str]:
    x = 16.0
    lines = [(words, f'stroke-width="1.6" {stroke}') for words, stroke in _LEGEND]
    for words, stroke in [*lines, (_WAY_WORDS, _TAKEN)] if with_way else lines:
        yield f'<path d="M{x:.0f} 46h26" fill="none" {stroke}/>'
        yield f'<text x="{x + 32:.0f}" y="50" fill="{_INK}">{words}</text>'
        x += 52 + _LETTER * len(words)
    yield f'<circle cx="{x + 6:.0f}" cy="46" r="{_DOT}" fill="{_HEAD}"/>'
    yield f'<text x="{x + 18:.0f}" y="50" fill="{_INK}">head</text>'


def _channel(page: _Page, row: int, channel: Channel) -> Iterator[str]:
    y = _TOP + _ROW * (row + 0.7)
    yield f'<text x="16" y="{y + 4:.0f}" font-weight="bold" fill="{_INK}">{_text(channel.name)}</text>'
    rows = {entry.name: row for entry in channel.entries}
    before = page.before(channel)
    for entry in channel.entries:
        came_from = before.get(entry.name, "")
        yield from _arrows(page, rows, entry, came_from)
        yield from _from_outside(page, rows, entry, came_from)
    heads = ChannelGraph(page.package, channel).heads
    for entry in channel.entries:
        yield _dot(page, row, entry.name, head=entry.name in heads)


def _arrows(page: _Page, rows: Mapping[str, int], entry: Entry, came_from: str) -> Iterator[str]:
    """Ranges first, so that what is more certain lies above them; a way by a range is an arrow of its own."""
    lowest = _lowest_covered(page, rows, entry)
    edges = [(lowest, 2)] if lowest else []
    edges += [(name, 1) for name in entry.skips if name in rows]
    edges += [(entry.replaces, 0)] if entry.replaces in rows else []
    if came_from in rows and came_from not in {name for name, _ in edges}:
        edges.append((came_from, 2))
    for before, style in edges:
        stroke = _TAKEN if before == came_from else f'{_LEGEND[style][1]} stroke-width="1.6"'
        yield _arrow(page.place(rows[before], before), page.place(rows[entry.name], entry.name), stroke)


def _from_outside(page: _Page, rows: Mapping[str, int], entry: Entry, came_from: str) -> Iterator[str]:
    """Short arrows from versions that are not in the channel; their names are told on hovering."""
    end = page.place(rows[entry.name], entry.name)
    if entry.replaces and entry.replaces not in rows and entry.replaces != came_from:
        yield _short_arrow(end, f'stroke-width="1.6" stroke="{_FAINT}"', f"replaces {entry.replaces}")
    if came_from and came_from not in rows:
        yield _short_arrow(end, _TAKEN, f"the way begins with {came_from}")


def _lowest_covered(page: _Page, rows: Mapping[str, int], entry: Entry) -> str:
    if not entry.skip_range:
        return ""
    range_ = parse_range(entry.skip_range)
    covered = [
        name
        for name in rows
        if page.columns[name] < page.columns[entry.name] and range_.holds(parse(page.versions[name]))
    ]
    return min(covered, key=page.columns.__getitem__, default="")


def _arrow(begin: _Place, end: _Place, stroke: str) -> str:
    """Straight between neighbours, an arc over what lies between."""
    columns = abs(end.x - begin.x) / _COLUMN
    rise = 0 if columns < 1.5 else min(14 + 4 * columns, 46)
    middle = (begin.x + end.x) / 2
    tip = end.x - _DOT - 2
    curve = (
        f"M{begin.x:.1f} {begin.y:.1f}Q{middle:.1f} {begin.y - 2 * rise:.1f} {tip:.1f} {end.y - rise / 6:.1f}"
    )
    head = f"M{tip - 5:.1f} {end.y - rise / 6 - 4:.1f}l5 4l-5 4"
    return f'<path d="{curve}{head}" fill="none" {stroke}/>'


def _short_arrow(end: _Place, stroke: str, words: str) -> str:
    tip = end.x - _DOT - 2
    path = f"M{tip - 18:.1f} {end.y + 16:.1f}L{tip:.1f} {end.y + 3:.1f}"
    title = f"<title>{_text(words)}, which is not in this channel</title>"
    return f'<path d="{path}" fill="none" {stroke}>{title}</path>'


def _dot(page: _Page, row: int, name: str, *, head: bool) -> str:
    place = page.place(row, name)
    return (
        f'<circle cx="{place.x:.1f}" cy="{place.y:.1f}" r="{_DOT}" fill="{_HEAD if head else _INK}">'
        f"<title>{_text(name)}</title></circle>"
    )


def _axis(page: _Page) -> Iterator[str]:
    y = _TOP + _ROW * len(page.channels) + 14
    for name, label in page.labels.items():
        x = page.place(0, name).x + 4
        yield (
            f'<text transform="translate({x:.1f} {y}) rotate(-50)" text-anchor="end" font-size="11" '
            f'fill="{_INK}">{_text(label)}</text>'
        )


def _label(version: str) -> str:
    return version if len(version) <= _LONGEST else f"{version[: _LONGEST - 1]}…"


def _text(text: str) -> str:
    """What a catalog says, as text of XML, which cannot hold control characters."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))
