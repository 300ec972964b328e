"""The verbs of the API server, each with the precondition that makes it harmless when late.

A write says which object it means by uid, and where it changes one, which version of it it has seen. It comes
back as `Written`: what the server holds now, and the barrier to wait for in the store. A write whose answer
is lost is settled by a live look; when that cannot tell either, `Unknown` is raised, never a guess.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Self, TypeVar
from urllib.parse import quote

import msgspec

from shiplift.engine.barrier import Barrier
from shiplift.engine.denials import is_denial
from shiplift.facts.kinds import GROUP, POD, Kind
from shiplift.kube import errors
from shiplift.kube.credentials import Credentials, Impersonation
from shiplift.kube.errors import (
    NOT_THE_SERVER,
    ApiError,
    BadAnswer,
    Forbidden,
    Invalid,
    Look,
    PreconditionFailed,
    ServerError,
    TwoBudgets,
    Unknown,
    Unreachable,
)
from shiplift.kube.transport import LIST_LIMIT, Lost, Request, Transport
from shiplift.kube.unsettled import VERSION_PATH, Change, Object, Removal, Unsettled, metadata

T = TypeVar("T")
APPLY_MANAGER = "shiplift"  # one for ever: under another name we would conflict with our own fields
DEFAULT_MANAGER = "shiplift-client"
"""The field manager of who has not said another: one that no fence lets pass."""
LOOK_SECONDS = 10.0


class PatchType(Enum):
    """How a patch is written."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"


class Propagation(Enum):
    """What happens to the objects that an object owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Written(msgspec.Struct, frozen=True):
    """A write that happened; after a dry run there is nothing to wait for."""

    object: Object
    barrier: Barrier | None


def _nobody(_: ApiError) -> None:
    pass


class Client:
    """Reads and writes; safe to use from many threads. `timeout` bounds a call with all its retries.

    `on_forbidden` hears of every write that is forbidden, `on_untold` of every status of an object of ours
    that admission does not let through; on the thread that sent it, and both must be quick.
    `may_write` is asked right before each change is sent, each time that it is: where it raises, nothing is.
    """

    def __init__(
        self,
        credentials: Credentials,
        field_manager: str = DEFAULT_MANAGER,
        timeout: float = 30.0,
        on_forbidden: Callable[[Forbidden], None] = _nobody,
        may_write: Callable[[], object] | None = None,
        on_untold: Callable[[ApiError], None] = _nobody,
    ) -> None:
        self.credentials = credentials
        self.field_manager = field_manager
        self._timeout = timeout
        self._on_forbidden, self._on_untold = on_forbidden, on_untold
        self._transport = Transport(credentials, timeout, may_write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def acting_as(self, who: Impersonation) -> Client:
        """For calls made as somebody else, where RBAC allows it. It has the connections of this client and is
        closed with it: acting as a thousand takes no more of them."""
        other = copy.copy(self)
        other._transport = self._transport.acting_as(who)
        return other

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        """The object as it is now, not as some cache has it; always with its uid and resourceVersion."""
        request = Request("GET", _path(kind, namespace, name), changes_nothing=True)
        found = self._read(request)
        if metadata(found).get("uid") and metadata(found).get("resourceVersion"):
            return found
        raise _no_object(request, "it has no uid or no resourceVersion")

    def next_change(
        self, kind: Kind, name: str, namespace: str, resource_version: str, seconds: int
    ) -> Object | None:
        """The object as it is after its next change since that version; None where there is none in time, or
        where nobody can tell any more: whoever has to know looks at it again."""
        path = kind.path(_part(namespace)) if namespace else kind.path()
        query = (
            ("watch", "1"),
            ("fieldSelector", f"metadata.name={_part(name)}"),
            ("resourceVersion", resource_version),
            ("timeoutSeconds", str(seconds)),
        )
        request = Request("GET", path, query, changes_nothing=True)
        try:
            line = self._transport.first_line(request, seconds + LOOK_SECONDS)
        except Lost:
            return None
        event = _decode(request, line) if line else {}
        return event["object"] if event.get("type") == "MODIFIED" else None

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Iterator[Object]:
        """The objects of a kind, page by page, all as of one moment.

        Pages expire some minutes after the first: `errors.Gone` then, because what is left would be of
        another moment than what was handed out.
        """
        query = [("limit", str(limit))]
        query += [("labelSelector", label_selector)] if label_selector else []
        query += [("fieldSelector", field_selector)] if field_selector else []
        path = kind.path(_part(namespace)) if namespace else kind.path()
        token = ""
        while True:
            page = self._page(path, (*query, ("continue", token)) if token else tuple(query))
            yield from page.get("items") or []
            token = metadata(page).get("continue", "")
            if not token:
                return

    def create(
        self, kind: Kind, body: Mapping[str, Any], namespace: str = "", dry_run: bool = False
    ) -> Written:
        """A new object; `AlreadyExists` if the name is taken."""
        meta = metadata(body)
        space = namespace or meta.get("namespace", "")
        if kind.namespaced and not space:
            raise ValueError(f"a {kind} needs a namespace")
        request = self._write("POST", kind.path(_part(space) if space else ""), _typed(kind, body), dry_run)
        name = meta.get("name", "")
        look = _path(kind, space, name) if name else ""
        return self._settle(kind, request, Change(request, look, self.field_manager), dry_run)

    def update(
        self, kind: Kind, body: Mapping[str, Any], subresource: str = "", dry_run: bool = False
    ) -> Written:
        """The object replaced by this body, which carries the uid and resourceVersion it was read with."""
        meta = metadata(body)
        uid, version = meta.get("uid"), meta.get("resourceVersion")
        if not uid or not version:
            raise ValueError(f"an update of a {kind} needs the uid and resourceVersion that it was read with")
        place = kind, meta.get("namespace", ""), meta.get("name", "")
        request = self._write("PUT", _path(*place, subresource), _typed(kind, body), dry_run)
        change = Change(request, _path(*place), self.field_manager, uid, version)
        return self._settle(kind, request, change, dry_run)

    def patch(  # noqa: PLR0913 - what to change, and when not to
        self,
        kind: Kind,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 - the word of the API
        uid: str,
        resource_version: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Written:
        """A part of the object changed, if it still is that object and, where given, that version of it."""
        if type is not PatchType.JSON:
            _check_uid_counts(kind, subresource, resource_version)
        guarded = _guard(patch, type, uid, resource_version)
        path = _path(kind, namespace, name, subresource)
        request = self._write("PATCH", path, guarded, dry_run, content_type=type.value)
        # what comes back from `scale` is of a kind of its own, from `status` it is the whole object
        looked_at = _path(kind, namespace, name, subresource if subresource == "scale" else "")
        change = Change(request, looked_at, self.field_manager, uid, resource_version)
        try:
            return self._settle(kind, request, change, dry_run)
        except Invalid as error:
            raise self._why_invalid(error, change) from error

    def apply(
        self,
        kind: Kind,
        body: Mapping[str, Any],
        *,
        uid: str | None,
        resource_version: str | None = None,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Written:
        """Our fields of the object, by server-side apply; only uid None may create it.

        Always as one field manager, whatever the client's. A resourceVersion goes with a uid only: alone,
        on a missing object, it would not stop the creation of a ghost.
        """
        if resource_version and not uid:
            raise ValueError("an apply with a resourceVersion needs the uid too")
        _check_uid_counts(kind, subresource, resource_version)
        meta = {k: v for k, v in metadata(body).items() if k not in _NOT_APPLIED}
        meta |= {"uid": uid} if uid else {}
        meta |= {"resourceVersion": resource_version} if resource_version else {}
        whole = {**_typed(kind, body), "metadata": meta}
        place = kind, meta.get("namespace", ""), meta.get("name", "")
        request = self._write(
            "PATCH",
            _path(*place, subresource),
            whole,
            dry_run,
            ("force", "true" if force else "false"),
            manager=APPLY_MANAGER,
            content_type="application/apply-patch+yaml",
        )
        change = Change(request, _path(*place), APPLY_MANAGER, uid or "", resource_version)
        return self._settle(kind, request, change, dry_run)

    def delete(  # noqa: PLR0913 - what to delete, and when not to
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str,
        resource_version: str | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
        grace: int | None = None,
        dry_run: bool = False,
    ) -> Written:
        """That very object deleted, and where given, only that version of it."""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation.value,
            **_preconditions(uid, resource_version, grace, dry_run),
        }
        path = _path(kind, namespace, name)
        request = Request("DELETE", path, body=msgspec.json.encode(options), changes_nothing=dry_run)
        return self._settle(kind, request, Removal(path, uid), dry_run)

    def evict(
        self, name: str, namespace: str, *, uid: str, dry_run: bool = False, grace: int | None = None
    ) -> Written:
        """That very pod evicted, if its disruption budget allows; a dry run only asks.

        A wrong uid is refused only after the budget was charged, and for a pending pod after ten seconds.
        """
        eviction = {
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _preconditions(uid, None, grace, dry_run),
        }
        path = _path(POD, namespace, name)
        request = self._write("POST", f"{path}/eviction", eviction, dry_run)
        return self._settle(POD, request, Removal(path, uid), dry_run)

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        content_type: str = "application/json",
    ) -> bytes:
        """Any address, for what has no verb here; a lost answer to anything but GET is `Unknown`."""
        request = Request(method, path, tuple(query), body, content_type, LIST_LIMIT, method == "GET")
        try:
            return self._transport.call(request)
        except Lost as lost:
            if request.changes_nothing:
                raise Unreachable(lost.message) from lost
            raise Unknown(lost.message) from lost

    def ask(self, method: str, path: str, what: type[T], *, body: bytes = b"") -> T:
        """An answer that is no object, such as a review or what discovery says: whatever is before an API
        server may answer in its place."""
        try:
            return msgspec.json.decode(self.raw(method, path, body=body), type=what)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadAnswer(
                f"{method} {path}: the answer is not what an API server says: {error}", hint=NOT_THE_SERVER
            ) from error

    def _why_invalid(self, error: Invalid, change: Change) -> Invalid | PreconditionFailed:
        """A failed `test` of a JSON patch says nothing about which one: look whether it was the uid."""
        found = {} if error.causes else change.live(self._read_quickly)
        if not found or metadata(found)["uid"] == change.uid:
            return error
        return PreconditionFailed(
            f"{change.path} now has another uid", status=error.status, reason=error.reason
        )

    def _page(self, path: str, query: tuple[tuple[str, str], ...]) -> Object:
        request = Request("GET", path, query, limit=LIST_LIMIT, changes_nothing=True)
        try:
            page = self._read(request)
        except errors.Gone as gone:
            gone.hint = "the list took longer than its pages are kept; start it again"
            raise
        if "items" in page:
            return page
        raise _no_object(request, "it has no items, and so is no list")

    def _read(self, request: Request, timeout: float | None = None) -> Object:
        try:
            return _object(request, self._transport.call(request, timeout))
        except Lost as lost:
            raise Unreachable(lost.message) from lost

    def _write(
        self,
        method: str,
        path: str,
        body: Any,
        dry_run: bool,
        *query: tuple[str, str],
        manager: str = "",
        content_type: str = "application/json",
    ) -> Request:
        asked = (
            ("fieldManager", manager or self.field_manager),
            *query,
            *((("dryRun", "All"),) if dry_run else ()),
        )
        return Request(method, path, asked, msgspec.json.encode(body), content_type, changes_nothing=dry_run)

    def _settle(self, kind: Kind, request: Request, doubt: Unsettled, dry_run: bool) -> Written:
        """Send a write, and know what became of it."""
        try:
            answer = self._sent(kind, request)
        except Forbidden as error:
            self._on_forbidden(error)
            raise
        except TwoBudgets:
            raise
        except (Lost, BadAnswer, ServerError) as error:
            if dry_run:
                raise Unreachable(error.message) if isinstance(error, Lost) else error from error
            answer = self._look(doubt, error)
        return Written(answer, None if dry_run else doubt.barrier(kind, answer))

    def _sent(self, kind: Kind, request: Request) -> Object:
        try:
            return _object(request, self._transport.call(request))
        except ApiError as error:
            of_ours = kind.group == GROUP and request.path.endswith("/status")
            if of_ours and is_denial(error.message):
                self._on_untold(error)
            raise

    def _look(self, doubt: Unsettled, error: Lost | BadAnswer | ServerError) -> Object:
        look, found = self.resolve_unknown(doubt)
        if look is Look.APPLIED:
            return found
        if look is Look.NOT_APPLIED and isinstance(error, ServerError):
            raise error
        raise Unknown(f"{error.message}; {look.value} when looked at", look=look) from error

    def resolve_unknown(self, doubt: Unsettled) -> tuple[Look, Object]:
        """Whether a write that got no answer is there, by looking at the live object, and that object."""
        return doubt.look(self._read_quickly)

    def _read_quickly(self, request: Request) -> Object:
        return self._read(request, min(self._timeout, LOOK_SECONDS))


_NOT_APPLIED = ("uid", "resourceVersion", "managedFields")


def _decode(request: Request, body: bytes) -> Object:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadAnswer(f"{request}: the answer is no JSON object", hint=NOT_THE_SERVER) from None


class _Meta(msgspec.Struct, rename="camel"):
    """What we go by of an object's metadata."""

    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Answer(msgspec.Struct):
    kind: str = ""
    metadata: _Meta | None = None


def _object(request: Request, body: bytes) -> Object:
    """An object, a list of them, or the Status that a removal may be answered with: what is before an API
    server that is away may answer in its place, in JSON too."""
    found = _decode(request, body)
    try:
        read = msgspec.convert(found, _Answer)
    except msgspec.ValidationError as error:
        raise _no_object(request, str(error)) from None
    if read.metadata is None and read.kind != "Status":
        raise _no_object(request, "it has no metadata")
    return found


def _no_object(request: Request, why: str) -> BadAnswer:
    return BadAnswer(f"{request}: the answer is no Kubernetes object: {why}", hint=NOT_THE_SERVER)


def _typed(kind: Kind, body: Mapping[str, Any]) -> Object:
    return {**body, "apiVersion": kind.api_version, "kind": kind.kind}


def _path(kind: Kind, namespace: str, name: str, subresource: str = "") -> str:
    """The address of one object; an empty name would be that of all of them."""
    if kind.namespaced and not namespace:
        raise ValueError(f"{kind} {name!r} needs a namespace")
    return kind.path(_part(namespace) if kind.namespaced else "", _part(name), subresource)


def _part(name: str) -> str:
    if not name or name in (".", ".."):
        raise ValueError(f"{name!r} is no name of an object")
    return quote(name, safe="")


def _guard(
    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    type: PatchType,  # noqa: A002 - the word of the API
    uid: str,
    version: str | None,
) -> Any:
    """The patch with its preconditions inside."""
    if not uid:
        raise ValueError("a patch needs the uid of its object")
    wanted = {"uid": uid, **({"resourceVersion": version} if version else {})}
    if isinstance(patch, Mapping):
        if type is PatchType.JSON:
            raise TypeError("a JSON patch is a list of operations")
        return {**patch, "metadata": {**metadata(patch), **wanted}}
    if type is not PatchType.JSON:
        raise TypeError("only a JSON patch is a list of operations")
    # A failed test of the version would be a 422 like any other; a stale version put in place is a 409.
    version_op = {"op": "replace", "path": VERSION_PATH, "value": version}
    return [{"op": "test", "path": "/metadata/uid", "value": uid}, *([version_op] if version else []), *patch]


def _check_uid_counts(kind: Kind, subresource: str, version: str | None) -> None:
    """The status of a custom resource is patched and applied whatever uid the body says; a version counts."""
    if subresource == "status" and "." in kind.group and not version:
        raise ValueError(
            f"a change to the status of a {kind} needs a resourceVersion: its uid is not checked"
        )


def _preconditions(uid: str, version: str | None, grace: int | None, dry_run: bool) -> Object:
    if not uid:
        raise ValueError("a removal needs the uid of its object")
    wanted = {"uid": uid, **({"resourceVersion": version} if version else {})}
    return {
        "preconditions": wanted,
        **({"gracePeriodSeconds": grace} if grace is not None else {}),
        **({"dryRun": ["All"]} if dry_run else {}),
    }
