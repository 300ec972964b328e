"""What an agent keeps on the disk of its machine: the order that it has taken, and how far its work is.

    record.json   the order as it was found; written before the claim
    before.json   what was on the machine before the work touched it
    tries.json    how often the work was begun
    result.json   what came of the work; written last
    restarts.json how often the machine was told to restart for it, and since when

A file is there whole or not at all, and carries a digest of what it says. One that is not what was written is
put aside under another name and named, and counts as lost: what a lost record means is for `decide` to say.
One that a newer agent has written is never touched: it is for such an agent to go on.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shiplift.agent import protocol
from shiplift.agent.errors import DamagedError, JournalError, TooLargeError
from shiplift.agent.machine import disk
from shiplift.agent.model import Progress, Record, Work
from shiplift.agent.protocol import CHANGES_ALLOWED, LONGEST_MESSAGE, ProtocolError

VERSION = 1
"""Grows when an older agent could misunderstand what a newer one has written."""
LARGEST = 1 << 18
"""Bytes of a page: several times what an order can come to."""
_RECORD, _BEFORE, _TRIES, _RESULT, _RESTARTS = "record", "before", "tries", "result", "restarts"
_log = logging.getLogger(__name__)
Body = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """To restart: a machine was, for one order, and is in the same boot still."""

    boot_id: str
    times: int
    since: float
    """When first, in seconds of that boot's clock."""


@dataclass(frozen=True)
class Before:
    """Packages as they were when an order was begun; one that was not there has no version."""

    versions: Mapping[str, str]
    held: frozenset[str]


class Journal:
    """In a folder that is this agent's alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = disk.private_folder(folder)

    # --- the record ---

    def keep(self, record: Record) -> None:
        body: Body = {
            "order": record.order.written(),
            "desired": dict(record.desired),
            "begun": record.begun,
            "restarted_from": record.restarted_from,
        }
        self._write(_RECORD, record.token, body)

    def record(self) -> Record | None:
        """None where there is none, or none that can be read."""
        return self._if_whole(_RECORD, _record_of)

    # --- the work on it ---

    def remember(self, token: str, before: Before) -> Before:
        """What was there before an order; what was written down first counts: the work may be half-way."""
        if (known := self.before(token)) is not None:
            return known
        body = {"versions": dict(before.versions), "held": sorted(before.held)}
        self._write(_BEFORE, token, body)
        return before

    def before(self, token: str) -> Before | None:
        return self._if_whole(_BEFORE, _before_of, token)

    def count_try(self, token: str) -> int:
        """How often the work was begun, this time included."""
        times = 1 + (self._if_whole(_TRIES, _times_of, token) or 0)
        self._write(_TRIES, token, {"times": times})
        return times

    def count_restart(self, token: str, boot_id: str, now: float) -> None:
        """The machine is told to restart; `now` is what the clock of its boot says."""
        before = self.told_to_restart(token, boot_id) or Told(boot_id, 0, now)
        self._write(_RESTARTS, token, {"times": before.times + 1, "boot_id": boot_id, "since": before.since})

    def told_to_restart(self, token: str, boot_id: str) -> Told | None:
        """None where it was not in that boot, for that order."""
        told = self._if_whole(_RESTARTS, _told_of, token)
        return told if told and told.boot_id == boot_id else None

    def finish(self, token: str, work: Work) -> None:
        body = {
            "progress": work.progress.value,
            "message": work.message[:LONGEST_MESSAGE],
            "path": work.path,
        }
        self._write(_RESULT, token, body)

    def result(self, token: str) -> Work | None:
        """What came of the work on that order; None while nothing has."""
        return self._if_whole(_RESULT, _work_of, token)

    # --- pages ---

    def path(self, page: str) -> Path:
        return self.folder / f"{page}.json"

    def _write(self, page: str, token: str, body: Body) -> None:
        said = _json({"token": token, **body})
        digest = hashlib.sha256(said.encode()).hexdigest()
        content = _json({"journal": VERSION, "said": said, "sha256": digest}).encode()
        if len(content) > LARGEST:
            raise TooLargeError(f"{self.path(page)} would have more than {LARGEST} bytes")
        disk.write(self.path(page), content)

    def _if_whole(self, page: str, read: Any, token: str | None = None) -> Any:
        """What a page says of that order; a damaged one is put aside."""
        path = self.path(page)
        try:
            body = _opened(path)
            if body is None or (token is not None and body.get("token") != token):
                return None
            return _as(path, read, body)
        except DamagedError as error:
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            disk.settle(self.folder)
            _log.error("%s; it is kept as %s, and counts as lost", error, aside)
            return None


def _opened(path: Path) -> Body | None:
    """What a page says, once it is known to be what was written."""
    try:
        content = disk.read(path, LARGEST)
    except TooLargeError:
        raise DamagedError(f"{path} is damaged: it has more than {LARGEST} bytes") from None
    if content is None:
        return None
    envelope = _object(path, content)
    version = envelope.get("journal")
    if isinstance(version, int) and version > VERSION:
        raise JournalError(
            f"{path} is of journal {version}, and this agent knows {VERSION}: a newer one wrote it"
        )
    said = envelope.get("said")
    if version != VERSION or not isinstance(said, str):
        raise DamagedError(f"{path} is damaged: it is no page of a journal")
    if hashlib.sha256(said.encode()).hexdigest() != envelope.get("sha256"):
        raise DamagedError(f"{path} is damaged: its digest does not fit what it says")
    return _object(path, said.encode())


def _object(path: Path, content: bytes) -> Body:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise DamagedError(f"{path} is damaged: it is no JSON") from None
    if not isinstance(body, dict):
        raise DamagedError(f"{path} is damaged: it is no JSON object")
    return cast("Body", body)


def _as(path: Path, read: Any, body: Body) -> Any:
    try:
        return read(body)
    except (KeyError, TypeError, ValueError, ProtocolError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from None


def _record_of(body: Body) -> Record:
    order = protocol.order_of({CHANGES_ALLOWED: body["order"]})
    if order is None or str(order.token) != body["token"]:
        raise ValueError("its order is not the one of its token")
    restarted_from = body["restarted_from"]
    return Record(
        order,
        {str(name): str(version) for name, version in body["desired"].items()},
        body["begun"] is True,
        None if restarted_from is None else str(restarted_from),
    )


def _before_of(body: Body) -> Before:
    versions = {str(name): str(version) for name, version in body["versions"].items()}
    return Before(versions, frozenset(map(str, body["held"])))


def _times_of(body: Body) -> int:
    return int(body["times"])


def _told_of(body: Body) -> Told | None:
    """None where an older agent wrote only how often."""
    return Told(str(body["boot_id"]), _times_of(body), float(body["since"])) if "since" in body else None


def _work_of(body: Body) -> Work:
    return Work(Progress(body["progress"]), str(body["message"]), str(body["path"]))


def _json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))
