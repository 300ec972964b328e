"""When the journal is written down: at once where a chapter begins or ends, else every few seconds, and every
minute though nothing has happened, so that everybody knows up to when somebody watched. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from shiplift.engine import retries
from shiplift.engine.decision import LookAgain, await_change, requeue
from shiplift.journal.model import Chapter, Journal, Keeping, KeepJournal, View

_EVERY = timedelta(seconds=5)
_AT_LEAST = timedelta(seconds=60)
_NEWS = timedelta(seconds=1)
"""News of pods wake nobody: they are taken in as often as this."""


def decide(view: View, now: datetime) -> Keeping:
    """What to do now."""
    steps = (KeepJournal(watched(view, now)),) if _is_due(view, now) else ()
    kept = Keeping(steps=steps, look_again=_look_again(view))
    return retries.only_due(kept, lambda step: retries.wait(view.outcomes, step, now))


def _is_due(view: View, now: datetime) -> bool:
    changed = _without_seen(view.journal) != _without_seen(view.kept)
    if changed and (view.kept_at is None or _outline(view.journal) != _outline(view.kept)):
        return True
    passed = now - view.kept_at if view.kept_at is not None else _AT_LEAST
    return (changed and passed >= _EVERY) or (view.recording and passed >= _AT_LEAST)


def _look_again(view: View) -> LookAgain:
    unkept = _without_seen(view.journal) != _without_seen(view.kept)
    return requeue(_NEWS) if view.recording or unkept else await_change()


def watched(view: View, now: datetime) -> Journal:
    """The journal, with up to when what runs was watched."""
    if not view.recording or not view.journal.chapters:
        return view.journal
    newest, *older = view.journal.chapters
    so_far = msgspec.structs.replace(newest, seen=now)
    return msgspec.structs.replace(view.journal, chapters=(so_far, *older))


def _outline(journal: Journal) -> tuple[tuple[str, datetime, datetime | None], ...]:
    return tuple((one.about, one.start, one.end) for one in journal.chapters)


def _without_seen(journal: Journal) -> tuple[object, ...]:
    return (journal.forgotten, journal.damaged, *map(_timeless, journal.chapters))


def _timeless(chapter: Chapter) -> Chapter:
    return msgspec.structs.replace(chapter, seen=None)
