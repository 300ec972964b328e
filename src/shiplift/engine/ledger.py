"""The ledger: every change to an object that is not ours is recorded, and undone from the record.

What is kept true, whatever users do in between and wherever we are interrupted:
- a value that is still as we left it goes back to what it was before us;
- a value that somebody changed after us stays as they left it, and is reported;
- nothing that we added stays, the record itself included.
One thing cannot be told apart: an edit that gives exactly the value that we recorded is taken for ours.

The record either sits in an annotation on the changed object and is written in the same call
(`change_in_place`, `undo_in_place`), or in an object of ours that is written before the change
(`Ledger.change`, `Ledger.undo`). Patches are to be sent with the uid and the resourceVersion of the object
that they were made for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shiplift.engine import pointer
from shiplift.engine.pointer import ABSENT, Json

LIMIT = 32 * 1024
FORMAT = "1"
ANNOTATIONS = pointer.pointer("metadata", "annotations")


class LedgerError(ValueError):
    """A record that cannot be read, or a change that it cannot hold. Nothing has been changed."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Change(msgspec.Struct, frozen=True):
    """What we want at a pointer; ABSENT for nothing."""

    path: str
    value: Json = ABSENT


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of ours: where, what was there before, what we put there.

    `position` is where a list entry stood that we took out, so that it goes back to its place. `earlier` are
    values of ours that may still be there, because the record is written before the change (each in a tuple,
    an empty one for ABSENT).
    """

    path: str = msgspec.field(name="p")
    before: Any | msgspec.UnsetType = msgspec.field(name="b", default=ABSENT)
    after: Any | msgspec.UnsetType = msgspec.field(name="a", default=ABSENT)
    position: int | None = msgspec.field(name="i", default=None)
    earlier: tuple[tuple[Any, ...], ...] = msgspec.field(name="o", default=())

    def is_ours(self, value: Json) -> bool:
        """Whether we put this value there."""
        return any(pointer.same(value, ours) for ours in (self.after, *map(_unboxed, self.earlier)))

    @property
    def idle(self) -> bool:
        """Whether there is nothing to undo, now or later."""
        return not self.earlier and pointer.same(self.before, self.after)


def _boxed(value: Json) -> tuple[Json, ...]:
    return () if value is ABSENT else (value,)


def _unboxed(box: tuple[Json, ...]) -> Json:
    return box[0] if box else ABSENT


class Kept(msgspec.Struct, frozen=True):
    """A value that somebody changed after us, and that therefore stays."""

    path: str
    ours: Json
    theirs: Json

    def describe(self) -> str:
        if self.theirs is ABSENT:
            return f"{self.path} was removed by somebody else and stays so"
        return f"{self.path} was changed by somebody else and stays {_shown(self.theirs)}"


def _shown(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else text[:79] + "…"


class Changed(msgspec.Struct, frozen=True):
    """The result of a change: the record, and the document that it belongs to."""

    ledger: Ledger
    document: Json


class Undone(msgspec.Struct, frozen=True):
    """The result of an undo: the document without our changes, and what stays because it is not ours."""

    document: Json
    kept: tuple[Kept, ...]


class Patched(msgspec.Struct, frozen=True):
    """A JSON patch for one object, record and all; empty when there is nothing to do."""

    patch: list[dict[str, Json]]
    kept: tuple[Kept, ...] = ()


class Ledger(msgspec.Struct, frozen=True, omit_defaults=True):
    """The record of one object: our changes in order, and the maps and lists that we made to hold them."""

    entries: tuple[Entry, ...] = msgspec.field(name="e", default=())
    made: tuple[str, ...] = msgspec.field(name="m", default=())

    def __bool__(self) -> bool:
        return bool(self.entries or self.made)

    def change(self, document: Json, changes: Iterable[Change]) -> Changed:
        """The document as we want it and the record that undoes it; what is already so is not recorded."""
        ledger = self
        for wanted in changes:
            ledger, document = ledger._change_one(document, wanted)
        return Changed(ledger, document)

    def _change_one(self, document: Json, wanted: Change) -> tuple[Ledger, Json]:
        self._refuse_overlap(wanted.path)
        entries = {entry.path: entry for entry in self.entries}
        recorded = entries.get(wanted.path)
        current = pointer.get(document, wanted.path)
        if pointer.same(current, wanted.value) and (
            recorded is None or pointer.same(current, recorded.after)
        ):
            return self, document
        composed = _composed(recorded, wanted, current, pointer.index(document, wanted.path))
        entries[wanted.path] = composed
        ledger = Ledger(
            tuple(entry for entry in entries.values() if not entry.idle),
            (*self.made, *_missing_containers(document, wanted, self.made)),
        )
        return ledger, pointer.put(document, wanted.path, wanted.value, composed.position)

    def _refuse_overlap(self, path: str) -> None:
        for recorded in (entry.path for entry in self.entries):
            if recorded != path and pointer.overlap(recorded, path):
                raise LedgerError(
                    f"{path} overlaps with {recorded}, which is recorded already",
                    "record the smaller parts, each by its own name",
                )

    def undo(self, document: Json) -> Undone:
        """Put back what is still as we left it; running it twice changes nothing more."""
        kept: list[Kept] = []
        for entry in reversed(self.entries):
            document, theirs = _undo_one(document, entry)
            kept += theirs
        for path in sorted(self.made, key=len, reverse=True):
            document = _without_empty(document, path)
        return Undone(document, tuple(reversed(kept)))

    def encode(self, limit: int = LIMIT) -> str:
        """As text for an annotation, with a checksum against damage and edits by hand."""
        body = msgspec.json.encode(self, order="deterministic").decode()
        text = f"{FORMAT}.{_checksum(body)}.{body}"
        size = len(text.encode())
        if size > limit:
            raise LedgerError(
                f"the record would take {size} bytes, more than {limit}",
                "change fewer or smaller fields of one object",
            )
        return text


_read_ledger = msgspec.json.Decoder(Ledger).decode


def decode(text: str, where: str) -> Ledger:
    """Read a record back; `where` names the object in the error."""
    version, _, rest = text.partition(".")
    checksum, _, body = rest.partition(".")
    if version != FORMAT and version.isdecimal():
        raise LedgerError(
            f"the record on {where} has format {version[:10]}, not {FORMAT}",
            "a newer shiplift wrote it: let that one undo it",
        )
    if version != FORMAT or checksum != _checksum(body):
        raise _damaged(where)
    try:
        return _read_ledger(body)
    except msgspec.DecodeError as error:
        raise _damaged(where) from error


def _damaged(where: str) -> LedgerError:
    return LedgerError(
        f"the record of our changes on {where} is damaged",
        "nothing was changed; put the annotation back, or restore the object yourself and then remove it",
    )


def _checksum(body: str) -> str:
    return hashlib.blake2b(body.encode(), digest_size=8).hexdigest()


def _composed(recorded: Entry | None, wanted: Change, current: Json, position: int | None) -> Entry:
    taken_out = position if wanted.value is ABSENT else None
    if recorded is None or not (recorded.is_ours(current) or pointer.same(current, recorded.before)):
        return Entry(wanted.path, current, wanted.value, taken_out)
    return Entry(
        wanted.path,
        recorded.before,
        wanted.value,
        taken_out if recorded.position is None else recorded.position,
        _may_still_be_there(recorded, wanted, current),
    )


def _may_still_be_there(recorded: Entry, wanted: Change, current: Json) -> tuple[tuple[Json, ...], ...]:
    last = _boxed(recorded.after)
    boxes = [last] if pointer.same(current, recorded.after) else [*recorded.earlier, last]
    return tuple(box for box in boxes if not pointer.same(_unboxed(box), wanted.value))


def _missing_containers(document: Json, wanted: Change, known: Sequence[str]) -> list[str]:
    if wanted.value is ABSENT:
        return []
    above = pointer.ancestors(wanted.path)
    return [path for path in above if path not in known and pointer.get(document, path) is ABSENT]


def _undo_one(document: Json, entry: Entry) -> tuple[Json, list[Kept]]:
    try:
        current = pointer.get(document, entry.path)
        if pointer.same(current, entry.before):
            return document, []
        if entry.is_ours(current):
            return pointer.put(document, entry.path, entry.before, entry.position), []
    except pointer.PointerError:
        # somebody took away what held it, or made its name ambiguous: either way it is theirs now
        return document, [Kept(entry.path, entry.after, ABSENT)]
    return document, [Kept(entry.path, entry.after, current)]


def _without_empty(document: Json, path: str) -> Json:
    try:
        found = pointer.get(document, path)
    except pointer.PointerError:
        # its name has become ambiguous: what is there is somebody else's
        return document
    return pointer.put(document, path, ABSENT) if found in ({}, []) else document


def read(document: Json, annotation: str) -> Ledger:
    """The record that an object carries; an empty one when it carries none."""
    text = pointer.get(document, ANNOTATIONS + pointer.pointer(annotation))
    if text is ABSENT:
        return Ledger()
    kind, name = pointer.get(document, "/kind"), pointer.get(document, "/metadata/name")
    return decode(text, f"{'object' if kind is ABSENT else kind} {name}")


def change_in_place(document: Json, annotation: str, changes: Iterable[Change]) -> Patched:
    """One patch that makes the changes and records them on the object itself."""
    wanted = list(changes)
    record = ANNOTATIONS + pointer.pointer(annotation)
    for change in wanted:
        if pointer.overlap(change.path, record):
            raise LedgerError(f"{change.path} would overwrite the record itself", "record smaller parts")
    changed = read(document, annotation).change(document, wanted)
    ledger = _in_one_write(changed)
    text = ledger.encode() if ledger else ABSENT
    return Patched(pointer.patch(document, pointer.put(changed.document, record, text)))


def _in_one_write(changed: Changed) -> Ledger:
    """The record as it stands once the change is there too: nothing earlier is left, and it needs a place."""
    settled = [msgspec.structs.replace(entry, earlier=()) for entry in changed.ledger.entries]
    entries = tuple(entry for entry in settled if not entry.idle)
    made = changed.ledger.made
    if (entries or made) and pointer.get(changed.document, ANNOTATIONS) is ABSENT:
        made = (*(path for path in made if path != ANNOTATIONS), ANNOTATIONS)
    return Ledger(entries, made)


def undo_in_place(document: Json, annotation: str) -> Patched:
    """One patch that undoes what the object's own record says and takes the record away."""
    ledger = read(document, annotation)
    bare = pointer.put(document, ANNOTATIONS + pointer.pointer(annotation), ABSENT)
    undone = ledger.undo(bare)
    return Patched(pointer.patch(document, undone.document), undone.kept)
