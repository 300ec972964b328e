"""The journal as text, and what gives way where there is no room: old chapters first, then the longest
lists."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from shiplift.journal.model import MOST_BYTES, MOST_CHAPTERS, Chapter, Journal, NodeStory, WorkloadStory

_LISTS = ("workloads", "nodes", "waits", "entries", "exceptions")
_STORIES = ("workloads", "nodes")
S = TypeVar("S", NodeStory, WorkloadStory)


def read(text: str) -> Journal:
    """A journal as it was kept; one that cannot be read is begun anew, and says so."""
    try:
        return msgspec.json.decode(text, type=Journal) if text else Journal()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Journal(damaged=True)


def written(journal: Journal) -> str:
    return msgspec.json.encode(journal).decode()


def fitting(journal: Journal, most: int = MOST_BYTES) -> Journal:
    """As much of it as there is room for; what goes is counted."""
    journal = _only_newest(journal, MOST_CHAPTERS)
    while len(journal.chapters) > 1 and _size(journal) > most:
        journal = _only_newest(journal, len(journal.chapters) - 1)
    while journal.chapters and _size(journal) > most:
        shorter = _shorter(journal.chapters[0])
        if shorter is None:
            break
        journal = msgspec.structs.replace(journal, chapters=(shorter, *journal.chapters[1:]))
    return journal


def _only_newest(journal: Journal, many: int) -> Journal:
    forgotten = max(len(journal.chapters) - many, 0)
    return msgspec.structs.replace(
        journal, chapters=journal.chapters[:many], forgotten=journal.forgotten + forgotten
    )


def _shorter(chapter: Chapter) -> Chapter | None:
    """With less in its longest list; None where nothing is left to give. Nodes and workloads lose what is
    told of them before they go themselves: how much of each was always Ready is told for as long as can
    be."""
    _, name = max((len(msgspec.json.encode(getattr(chapter, name))), name) for name in _LISTS)
    held = getattr(chapter, name)
    if not held:
        return None
    if name in _STORIES and (thinner := _thinner(held)) is not None:
        return msgspec.structs.replace(chapter, **{name: thinner})
    kept = held[: len(held) // 2]
    gone = chapter.left_out.get(name, 0) + len(held) - len(kept)
    return msgspec.structs.replace(chapter, **{name: kept}, left_out={**chapter.left_out, name: gone})


def _thinner(stories: tuple[S, ...]) -> tuple[S, ...] | None:
    """With nothing told of the later half of those of which something is; None where of none is."""
    told = [number for number, one in enumerate(stories) if one.entries or one.waits]
    silent = frozenset(told[len(told) // 2 :])
    return (
        tuple(_silent(one) if number in silent else one for number, one in enumerate(stories))
        if told
        else None
    )


def _silent(story: S) -> S:
    gone = len(story.entries) + len(story.waits)
    return msgspec.structs.replace(story, entries=(), waits=(), more=story.more + gone)


def _size(journal: Journal) -> int:
    return len(msgspec.json.encode(journal))
