"""The way from an installed version to another, hop by hop, or in plain words why there is none.

Kept true: a way has as few hops as there can be, and among equals goes by the highest versions; every hop is
a successor of the one before it, and none of them is a version that the cluster does not allow.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from shiplift.operators.catalog.graph import ChannelGraph, Installed, Successor
from shiplift.operators.catalog.model import Bundle, Entry, Package
from shiplift.operators.catalog.semver import parse

Way = tuple[Successor, ...]
Objection = Callable[[Bundle], str]
"""Why a version cannot run here; empty where it can."""
NOTHING_NEWER = "there is nothing newer"


class Why(StrEnum):
    """How it stands with the way to a version."""

    THERE = "There"
    """It is installed already."""
    WAY = "Way"
    NO_GOAL = "NoGoal"
    """The channel does not have that version."""
    BACKWARDS = "Backwards"
    """What is installed is higher."""
    NOTHING_FOLLOWS = "NothingFollows"
    """No version of the channel takes over from what is installed."""
    DEAD_END = "DeadEnd"
    """Some do, and lead elsewhere."""
    REFUSED = "Refused"
    """The only ways go through versions that cannot run here."""


class Answer(msgspec.Struct, frozen=True):
    """The way, or why there is none."""

    why: Why
    message: str
    way: Way = ()
    hint: str = ""


def answer(
    package: Package,
    channel: str,
    start: Installed,
    goal: Bundle | None = None,
    objection: Objection | None = None,
) -> Answer:
    """From what is installed to that version, or else to the head of the channel."""
    graph = graph_of(package, channel)
    head = graph.head
    goal = goal or head
    if goal is None or goal.name not in {entry.name for entry in graph.channel.entries}:
        return Answer(Why.NO_GOAL, f"channel {channel} does not have {goal.name if goal else 'a head'}")
    early = _without_a_way(start, goal, channel if goal == head else "")
    if early:
        return early
    allowed = objection or _no_objection
    way = shortest(graph, start, goal.name, allowed)
    if way:
        return Answer(Why.WAY, _by_hops(start, goal, way), way)
    return _refused(graph, start, goal, allowed) or _told_apart(package, graph, start, goal)


def graph_of(package: Package, channel: str) -> ChannelGraph:
    found = package.channel(channel)
    if found is None:
        raise KeyError(channel)
    return ChannelGraph(package, found)


def shortest(graph: ChannelGraph, start: Installed, goal: str, objection: Objection) -> Way:
    """Breadth first; empty where there is none."""
    came_by: dict[str, tuple[str, Successor] | None] = {start.name: None}
    layer = [start]
    while layer and goal not in came_by:
        following: list[Installed] = []
        for one in layer:
            for successor in graph.successors(one):
                name = successor.bundle.name
                if name not in came_by and not objection(successor.bundle):
                    came_by[name] = (one.name, successor)
                    following.append(successor.installed)
        layer = following
    return _back(came_by, goal)


def _back(came_by: dict[str, tuple[str, Successor] | None], goal: str) -> Way:
    way: list[Successor] = []
    step = came_by.get(goal)
    while step:
        way.append(step[1])
        step = came_by[step[0]]
    return tuple(reversed(way))


def reachable(graph: ChannelGraph, start: Installed) -> list[Successor]:
    """Every version that can be reached, the highest first."""
    found: dict[str, Successor] = {}
    waiting = [start]
    while waiting:
        for successor in graph.successors(waiting.pop()):
            if successor.bundle.name not in found:
                found[successor.bundle.name] = successor
                waiting.append(successor.installed)
    return sorted(found.values(), key=lambda one: (one.version, one.bundle.name), reverse=True)


def _no_objection(_: Bundle) -> str:
    return ""


def _without_a_way(start: Installed, goal: Bundle, leading: str) -> Answer | None:
    """Where there is nothing to go; `leading` is the channel of which the goal is the head."""
    if start.name == goal.name:
        newest = f"is what channel {leading} leads to; {NOTHING_NEWER}"
        return Answer(Why.THERE, f"{start.name} {newest if leading else 'is installed already'}")
    if start.version >= parse(goal.version):
        message = f"{start.version} is not below {goal.version}"
        message += f", which channel {leading} leads to" if leading else ""
        return Answer(
            Why.BACKWARDS, message, hint="an upgrade never goes back; pin the older version instead"
        )
    return None


def _by_hops(start: Installed, goal: Bundle, way: Way) -> str:
    hops = "1 hop" if len(way) == 1 else f"{len(way)} hops"
    return f"{start.version} → {goal.version} in {hops}"


def _refused(graph: ChannelGraph, start: Installed, goal: Bundle, objection: Objection) -> Answer | None:
    way = shortest(graph, start, goal.name, _no_objection)
    if not way:
        return None
    first = next(one.bundle for one in way if objection(one.bundle))
    message = f"every way from {start.version} to {goal.version} goes through a version that cannot run here"
    return Answer(Why.REFUSED, f"{message}; on the shortest: {first.name}: {objection(first)}")


def _told_apart(package: Package, graph: ChannelGraph, start: Installed, goal: Bundle) -> Answer:
    furthest = reachable(graph, start)
    channel, hint = graph.channel.name, _elsewhere(package, graph, start)
    if furthest:
        top = furthest[0].bundle
        message = f"{start.version} leads to {top.version} in channel {channel}"
        message = f"{message}, and no version takes over from that on the way to {goal.version}"
        return Answer(Why.DEAD_END, message, hint=hint)
    message = f"no version of channel {channel} takes over from {start.name}"
    return Answer(Why.NOTHING_FOLLOWS, f"{message}: {_next_above(graph, start)}", hint=hint)


def _next_above(graph: ChannelGraph, start: Installed) -> str:
    """What the next higher version of the channel takes over from, instead."""
    above = [
        (parse(graph.bundles[entry.name].version), entry)
        for entry in graph.channel.entries
        if parse(graph.bundles[entry.name].version) > start.version
    ]
    _, entry = min(above, key=lambda one: (one[0], one[1].name))
    return f"the next one, {entry.name}, {_takes_over_from(entry)}"


def _takes_over_from(entry: Entry) -> str:
    said = [f"replaces {entry.replaces}"] if entry.replaces else []
    said += [f"skips {', '.join(entry.skips[:4])}"] if entry.skips else []
    said += [f"has skipRange {entry.skip_range}"] if entry.skip_range else []
    return " and ".join(said) or "takes over from nothing"


def _elsewhere(package: Package, graph: ChannelGraph, start: Installed) -> str:
    """The other channels in which something follows."""
    others = [channel for channel in package.channels if channel.name != graph.channel.name]
    found = [one.name for one in others if ChannelGraph(package, one).successors(start)]
    return f"it goes on in {', '.join(found[:8])}: choose with --channel" if found else ""
