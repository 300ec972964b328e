"""Whether the versions of a channel form one chain, as OLM wants them to."""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.operators.catalog.graph import heads
from shiplift.operators.catalog.model import Channel, FaultKind

Finding = tuple[FaultKind, str]
UNUSABLE = (FaultKind.NO_HEAD, FaultKind.SEVERAL_HEADS, FaultKind.CYCLE)
"""What leaves a channel of a file-based catalog without a way that could be followed."""


def findings(channel: Channel) -> Iterator[Finding]:
    """What is wrong with the chain: at most one thing, the first that is found."""
    where = f"channel {channel.name}"
    tops = list(heads(channel.entries))
    if not tops:
        yield FaultKind.NO_HEAD, f"{where}: each version is replaced by another, so it leads nowhere"
    elif len(tops) > 1:
        yield FaultKind.SEVERAL_HEADS, f"{where} has {len(tops)} heads: {listed(tops)}"
    else:
        yield from _along(channel, tops[0])


def _along(channel: Channel, head: str) -> Iterator[Finding]:
    """From the head down: a circle, or versions that the chain does not reach."""
    entries = {entry.name: entry for entry in channel.entries}
    skipped = {name for entry in channel.entries for name in entry.skips}
    chain, name = {head: None}, head
    while (entry := entries.get(name)) and entry.replaces not in skipped:
        name = entry.replaces
        if name in chain:
            names = list(chain)
            circle = listed([*names[names.index(name) :], name])
            yield FaultKind.CYCLE, f"channel {channel.name} goes in a circle: {circle}"
            return
        chain[name] = None
    stranded = sorted(entries.keys() - chain.keys() - skipped)
    if stranded:
        yield (
            FaultKind.STRANDED,
            f"channel {channel.name}: the chain from {head} does not reach {listed(stranded)}",
        )


def listed(names: list[str], most: int = 4) -> str:
    """The first few by name, and how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
