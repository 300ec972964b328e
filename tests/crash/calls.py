"""Every request of the operator as a call that a plan can name: its step kind, its object, which time it is.

Names that differ from run to run (pods of a ReplicaSet) are cut down to what stays the same, so that a plan
made from one run means the same in another. What keeps an operator alive rather than does its work (Lease,
fence, Events) is apart and is never counted. Calls to others than the API server have their name in front,
and so have calls of programs beside the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

Json = dict[str, Any]

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_APART = frozenset({"leases", "events", "serviceaccounts", "selfsubjectreviews", "selfsubjectaccessreviews"})
HEARTBEATS = "kube-node-lease"
_GENERATED = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_SAFEGUARDS = frozenset({"uid", "resourceVersion", "name", "namespace"})


class Sort(Enum):
    """What a request is to the harness."""

    WRITE = "write"
    READ = "read"
    REHEARSAL = "rehearsal"
    WATCH = "watch"
    APART = "apart"


class Address(msgspec.Struct, frozen=True):
    """Which resource a path means."""

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Call(msgspec.Struct, frozen=True):
    """One request: `step` is the kind of step that it belongs to, `about` the object that it is about."""

    sort: Sort
    step: str
    about: str = ""
    resource: str = ""
    manager: str = ""
    guarded: bool = True
    """Whether a removal says by uid which object it means."""
    outside: str = ""
    """With whom, where it is not the API server."""
    inward: bool = False
    """Whether it is a call of others to the operator."""
    by: str = ""
    """Which program beside the operator makes it; empty: the operator."""

    @property
    def evicts(self) -> bool:
        return self.sort is Sort.WRITE and self.step.endswith("create pods/eviction")


def recognise(method: str, target: str, body: bytes) -> Call:
    """The call that a request is."""
    parts = urlsplit(target)
    query = parse_qs(parts.query)
    where = address(parts.path)
    if where.resource in _APART and not _reads_heartbeat(method, where):
        return Call(Sort.APART, f"{method} {where.resource}")
    if method == "GET":
        return _reading(where, watching="watch" in query)
    return _writing(method, where, query, _decode(body))


def _reads_heartbeat(method: str, where: Address) -> bool:
    """The Lease of a node is renewed all the time, and read by who wants to know whether the node lives."""
    return method == "GET" and where.namespace == HEARTBEATS


def recognise_beside(name: str, method: str, target: str, body: bytes) -> Call:
    """A call of a program beside the operator, told from those of the operator by its name."""
    call = recognise(method, target, body)
    resource = f"{name}: {call.resource}" if call.resource else ""
    return msgspec.structs.replace(call, step=f"{name}: {call.step}", resource=resource, by=name)


def recognise_http(name: str, method: str, target: str) -> Call:
    """A call to or from somebody outside, as far as method and path tell: `cloud: PUT machines`, `a/b`."""
    parts = [unquote(part) for part in urlsplit(target).path.strip("/").split("/")]
    sort = Sort.READ if method in ("GET", "HEAD") else Sort.WRITE
    return Call(sort, f"{name}: {method} {parts[0]}", "/".join(parts[1:]), outside=name)


def address(path: str) -> Address:
    """The parts of a path of the API; other paths (`/version`) are their own resource."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    rest = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    if not rest:
        return Address(path)
    if rest[0] == "namespaces" and len(rest) > 2:
        return Address(rest[2], rest[1], *rest[3:5])
    return Address(rest[0], "", *rest[1:3])


def stable_name(name: str) -> str:
    """The name less what a ReplicaSet and the server add to it."""
    return _GENERATED.sub("", name)


def _reading(where: Address, *, watching: bool) -> Call:
    if watching:
        return Call(Sort.WATCH, f"watch {where.resource}", resource=where.resource)
    verb = "get" if where.name else "list"
    return Call(Sort.READ, f"{verb} {where.resource}", _about(where, where.name), where.resource)


def _writing(method: str, where: Address, query: dict[str, list[str]], body: Any) -> Call:
    options = _mapping(_mapping(body).get("deleteOptions")) or _mapping(body)
    rehearsal = "dryRun" in query or (bool(options.get("dryRun")) and _removes(method, where))
    verb = "apply" if "force" in query else _VERBS.get(method, method.lower())
    kind = f"{where.resource}/{where.subresource}" if where.subresource else where.resource
    changed = "+".join(sorted(set(_changes(body)))) if method == "PATCH" and not where.subresource else ""
    step = f"{'try ' if rehearsal else ''}{verb} {kind}" + (f" [{changed}]" if changed else "")
    name = where.name or _mapping(_mapping(body).get("metadata")).get("name", "")
    return Call(
        Sort.REHEARSAL if rehearsal else Sort.WRITE,
        step,
        _about(where, name),
        where.resource,
        query.get("fieldManager", [""])[0],
        not _removes(method, where) or "uid" in _mapping(options.get("preconditions")),
    )


def _removes(method: str, where: Address) -> bool:
    return method == "DELETE" or where.subresource == "eviction"


def _about(where: Address, name: str) -> str:
    return "/".join(part for part in (where.namespace, stable_name(name)) if part)


def _changes(body: Any) -> Iterator[str]:
    """What a patch changes, coarsely: `labels`, `spec.taints`; a minus where it only takes away."""
    if isinstance(body, list):
        yield from _operations(cast("list[Json]", body))
        return
    for section, content in _mapping(body).items():
        for field, value in _mapping(content).items():
            if section == "metadata" and field not in _SAFEGUARDS:
                yield f"{_sign(value)}{field}"
            elif section not in ("metadata", "apiVersion", "kind"):
                yield f"{_sign(value)}{section}.{field}"


def _operations(operations: Iterable[Json]) -> Iterator[str]:
    for operation in operations:
        section, _, rest = operation["path"].strip("/").partition("/")
        field = rest.partition("/")[0]
        if operation["op"] != "test" and field not in _SAFEGUARDS:
            sign = "-" if operation["op"] == "remove" else ""
            yield sign + (field if section == "metadata" else f"{section}.{field}".rstrip("."))


def _sign(value: Any) -> str:
    if isinstance(value, dict) and value:
        return "-" if all(one is None for one in cast("Json", value).values()) else ""
    return "-" if value is None else ""


def _mapping(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        return {}
