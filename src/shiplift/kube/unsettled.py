"""Writes whose answer was lost, and how a live look tells what became of them.

A removal happened if the uid is gone or terminating. A change to a known version did not happen (yet) while
the object still has that version. Otherwise the server is asked, as a dry run, what the same change would do
now: nothing, if it is there. Where none of that tells, the answer is "still unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from shiplift.engine.barrier import Gone, Seen
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.errors import BadAnswer, KubeError, Look, NotFound
from shiplift.kube.transport import Request

Object = dict[str, Any]
Read = Callable[[Request], Object]

VERSION_PATH = "/metadata/resourceVersion"
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation")


class Removal(msgspec.Struct, frozen=True):
    """A delete or an eviction of the object with this uid."""

    path: str
    uid: str

    def barrier(self, kind: Kind, answer: Object) -> Gone:
        return Gone(kind, self.uid)

    def look(self, read: Read) -> tuple[Look, Object]:
        found = _find(read, self.path)
        if found is None:
            return Look.APPLIED, {}
        if not found:
            return Look.STILL_UNKNOWN, {}
        if metadata(found)["uid"] != self.uid:
            return Look.APPLIED, {}
        terminating = "deletionTimestamp" in metadata(found)
        return (Look.APPLIED if terminating else Look.NOT_APPLIED), found


class Change(msgspec.Struct, frozen=True):
    """A create (no uid), update, patch or apply; the path is empty where the server chooses the name."""

    request: Request
    path: str
    manager: str
    uid: str = ""
    version: str | None = None

    def barrier(self, kind: Kind, answer: Object) -> Seen:
        version = str(metadata(answer).get("resourceVersion", ""))
        if not (version.isascii() and version.isdigit()):
            raise BadAnswer(f"{self.request}: the answer has no resourceVersion that is a number")
        return Seen(kind, int(version))

    def live(self, read: Read) -> Object:
        """The object as it is now; empty if it is not there or cannot be seen."""
        return _find(read, self.path) or {}

    def look(self, read: Read) -> tuple[Look, Object]:
        found = _find(read, self.path) if self.path else {}
        if found is None:
            return Look.NOT_APPLIED, {}
        return (self._compare(found, read) if found else Look.STILL_UNKNOWN), found

    def _compare(self, live: Object, read: Read) -> Look:
        meta = metadata(live)
        if self.uid and meta["uid"] != self.uid:
            return Look.NOT_APPLIED
        if self.version and meta["resourceVersion"] == self.version:
            return Look.NOT_APPLIED
        if self.request.method == "POST":
            return self._compare_created(live)
        try:
            again = read(self._rehearsal(meta["resourceVersion"]))
        except KubeError:
            return Look.STILL_UNKNOWN
        return Look.APPLIED if _essence(again) == _essence(live) else Look.STILL_UNKNOWN

    def _compare_created(self, live: Object) -> Look:
        entries: list[Object] = metadata(live).get("managedFields") or []
        writers = {entry.get("manager") for entry in entries}
        if self.manager in writers and _within(msgspec.json.decode(self.request.body), live):
            return Look.APPLIED
        # Nobody writes an object that has no fields, so an empty one may still be ours.
        return Look.STILL_UNKNOWN if not writers or self.manager in writers else Look.NOT_APPLIED

    def _rehearsal(self, version: str) -> Request:
        """The same change to the version that is there now, as a dry run."""
        body = msgspec.json.decode(self.request.body)
        if isinstance(body, list):
            operations = cast("list[Object]", body)
            body = [op for op in operations if op.get("path") != VERSION_PATH]
        elif self.version:
            body["metadata"]["resourceVersion"] = version
        return msgspec.structs.replace(
            self.request,
            body=msgspec.json.encode(body),
            query=(*self.request.query, ("dryRun", "All")),
            changes_nothing=True,
        )


Unsettled = Change | Removal


class Resolving(Protocol):
    """What is asked of the client."""

    def resolve_unknown(self, doubt: Unsettled) -> tuple[Look, Object]: ...


def is_there(client: Resolving, kind: Kind, row: Row) -> bool:
    """Whether the API server has that very object at this moment, and it is not on its way out; False where
    it cannot tell."""
    look, _ = client.resolve_unknown(Removal(kind.path(row.namespace, row.name), row.uid))
    return look is Look.NOT_APPLIED


def metadata(thing: Mapping[str, Any]) -> Object:
    """The object's metadata, empty if it has none."""
    return thing.get("metadata") or {}


def _find(read: Read, path: str) -> Object | None:
    """The live object; None if the server says that there is none, empty if it cannot be seen."""
    try:
        found = read(Request("GET", path, changes_nothing=True))
    except NotFound as error:
        # Without a reason it is the address that is not served (yet), which says nothing about the object.
        return None if error.reason == "NotFound" else {}
    except KubeError:
        return {}
    known = metadata(found).get("uid") and metadata(found).get("resourceVersion")
    return found if known else {}


def _essence(thing: Object) -> Object:
    meta = {key: value for key, value in metadata(thing).items() if key not in _BOOKKEEPING}
    return {**thing, "metadata": meta}


def _within(wanted: Any, found: Any) -> bool:
    """Everything wanted is there; the server adds defaults of its own."""
    if isinstance(wanted, dict):
        items = cast("Object", wanted).items()
        there = cast("Object", found)
        return isinstance(found, dict) and all(_within(value, there.get(key)) for key, value in items)
    if isinstance(wanted, list):
        pairs = cast("list[Any]", wanted), cast("list[Any]", found)
        return isinstance(found, list) and len(pairs[0]) == len(pairs[1]) and all(map(_within, *pairs))
    return wanted == found or (not wanted and found is None)
