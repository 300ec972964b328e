"""A chapter of the journal as people read it: markdown, every table with what it is about first.

Texts that others wrote are one line of printable characters, and end no cell of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from shiplift.journal.model import Chapter, Journal, NodeStory, Wait, WorkloadStory
from shiplift.view.values import plain

_NOTHING = "-"
_KINDS = {"UpgradeConfig": "Upgrade", "WorkloadMigration": "Move of workloads", "NodeRollout": "Rollout"}


def markdown(chapter: Chapter, journal: Journal | None = None) -> str:
    """The whole report; with the journal that the chapter is in, what is missing from that is told too."""
    parts = (
        _head(chapter),
        _happened(chapter),
        _nodes(chapter.nodes),
        _workloads(chapter.workloads),
        _waits(chapter),
        _exceptions(chapter),
        _not_seen(chapter, journal),
    )
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def listing(journal: Journal) -> str:
    """The chapters that there are, a line each, the newest first and numbered from 1."""
    rows = [
        [str(number), _title(one), _day(one.start), _took(one), one.outcome or "runs"]
        for number, one in enumerate(journal.chapters, 1)
    ]
    return "\n".join(_table(("number", "what", "started", "took", "outcome"), rows)) + "\n"


def _title(chapter: Chapter) -> str:
    kind = _KINDS.get(chapter.about.partition(" ")[0], "Change")
    changes = chapter.preceding and chapter.preceding != chapter.target
    way = f"from {chapter.preceding} to" if changes else "to"
    return f"{kind} {way} {chapter.target}"


def _head(chapter: Chapter) -> Iterator[str]:
    yield f"# {plain(_title(chapter))}"
    yield ""
    yield f"- started {_day(chapter.start)}, as {plain(chapter.about)} asks"
    if chapter.end is None:
        yield "- it runs"
    else:
        yield f"- ended {_day(chapter.end)}, after {_took(chapter)}: {plain(chapter.outcome)}"
    changed = [one for one in chapter.nodes if one.was and one.runs and one.was != one.runs]
    moves = sum(one.moves for one in chapter.workloads)
    short = [one for one in chapter.workloads if one.least is not None and one.least.ready < one.least.of]
    joined, left = (_count(chapter.nodes, word) for word in ("joined", "left"))
    yield f"- nodes: {len(changed)} changed, {joined} joined, {left} left"
    yield f"- workloads: {len(chapter.workloads)} watched, {len(short)} short of a pod at some moment"
    yield f"- moves: {moves} pods were given a node"
    yield f"- exceptions: {len(chapter.exceptions)}"


def _count(nodes: Iterable[NodeStory], word: str) -> int:
    """Of how many something is told that begins so."""
    return sum(any(entry.text.startswith(word) for entry in one.entries) for one in nodes)


def _happened(chapter: Chapter) -> Iterator[str]:
    if not chapter.entries:
        return
    yield "## What happened"
    yield ""
    yield from _table(("time (UTC)", "what"), [[_time(one.at), one.text] for one in chapter.entries])


def _nodes(nodes: Sequence[NodeStory]) -> Iterator[str]:
    if not nodes:
        return
    yield "## Nodes"
    yield ""
    rows = [[one.name, one.was or _NOTHING, one.runs or _NOTHING, _times(one)] for one in nodes]
    yield from _table(("node", "from", "to", "what happened, when"), rows)


def _times(one: NodeStory | WorkloadStory) -> str:
    told = "; ".join(f"{_time(entry.at)} {entry.text}" for entry in one.entries)
    return (told or _NOTHING) + (f"; and {one.more} more" if one.more else "")


def _workloads(workloads: Sequence[WorkloadStory]) -> Iterator[str]:
    if not workloads:
        return
    yield "## Workloads"
    yield ""
    rows = [
        [one.name, str(one.moves), _least(one), _length(_waited(one.waits)), _times(one)] for one in workloads
    ]
    yield from _table(("workload", "moves", "least Ready", "waited", "what happened, when"), rows)


def _least(one: WorkloadStory) -> str:
    least = one.least
    if least is None:
        return _NOTHING
    when = f" at {_time(least.at)}" if least.ready < least.of else ""
    return f"{least.ready} of {least.of}{when}"


def _waited(waits: Iterable[Wait]) -> int:
    return int(sum((one.end - one.start).total_seconds() for one in waits if one.end is not None))


def _waits(chapter: Chapter) -> Iterator[str]:
    found = [(one.about, one) for one in chapter.waits]
    found += [(f"node {story.name}", one) for story in chapter.nodes for one in story.waits]
    found += [(story.name, one) for story in chapter.workloads for one in story.waits]
    if not found:
        return
    yield "## Waits"
    yield ""
    found.sort(key=lambda pair: pair[1].start)
    rows = [[about, _time(one.start), _wait(one, chapter), one.reason, one.cause] for about, one in found]
    yield from _table(("what waited", "since (UTC)", "for", "reason", "cause"), rows)


def _wait(one: Wait, chapter: Chapter) -> str:
    if one.end is not None:
        return _length(_waited([one]))
    return "it waits still" if chapter.end is None else "its end was not seen"


def _exceptions(chapter: Chapter) -> Iterator[str]:
    if not chapter.exceptions:
        return
    yield "## Exceptions"
    yield ""
    yield "Pods that moved before their turn."
    yield ""
    rows = [[_time(one.at), one.pod, one.workload, one.reason] for one in chapter.exceptions]
    yield from _table(("time (UTC)", "pod", "workload", "why"), rows)


def _not_seen(chapter: Chapter, journal: Journal | None) -> Iterator[str]:
    yield "## Not seen"
    yield ""
    lines = [f"- {line}" for line in unseen(chapter, journal)]
    yield from lines or ["Nothing: somebody watched from the start to the end, and there was room for it."]


def unseen(chapter: Chapter, journal: Journal | None = None) -> Iterator[str]:
    """What is missing from the report, in words."""
    for one in chapter.gaps:
        length = _length(int((one.end - one.start).total_seconds()))
        yield f"nobody watched from {_time(one.start)} to {_time(one.end)}, for {length}"
    for what, many in chapter.left_out.items():
        yield f"there was no room for {many} {what}"
    if chapter.end is None:
        yield "it runs: what comes is not in here"
    if journal is not None and journal.damaged:
        yield "the journal from before could not be read, and was begun anew"


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield f"|{'|'.join('---' for _ in headers)}|"
    for row in rows:
        yield f"| {' | '.join(_cell(one) for one in row)} |"


def _cell(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace("|", "\\|") or _NOTHING


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M:%S}"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _took(chapter: Chapter) -> str:
    return _length(int((chapter.end - chapter.start).total_seconds())) if chapter.end else _NOTHING


def _length(seconds: int) -> str:
    """As people say it: the two largest units."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
