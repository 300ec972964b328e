"""Which kinds of those that are installed an API server knows: by its version, or as it says itself.

A version tells what a server has by default; where it came from is in `docs/decisions`. A server that is
asked also tells what was switched on or off. Either way what it does not know is left out, never renamed: a
kind that is beta in one version and stable in the next is not the same to whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.kube.manifests import kind_of

Manifest = Mapping[str, Any]
Knows = Callable[[Kind], bool]

OLDEST = 33
"""The minor version before which nothing is tested; all kinds but those below were there by then."""
SINCE: Mapping[Kind, int] = {MUTATING_ADMISSION_POLICY: 36, MUTATING_ADMISSION_POLICY_BINDING: 36}
"""The minor version in which a kind came to be served by default, in the version in which we write it."""

_VERSION = re.compile(r"v?1\.([0-9]{1,3})(?:\.[0-9]+)?(?:[+-].*)?")


class VersionError(ValueError):
    """No version of Kubernetes, or one that is too old."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Server(NamedTuple):
    """An API server, as far as manifests are concerned."""

    version: str
    knows: Knows


def by_version(text: str) -> Server:
    """A server of that version as it is by default."""
    minor = _minor(text)

    def knows(kind: Kind) -> bool:
        return minor >= SINCE.get(kind, OLDEST)

    return Server(f"1.{minor}", knows)


def as_asked(client: Client, kinds: Iterable[Kind]) -> Server:
    """The server that answers, and which of these kinds it says that it serves."""
    minor = _minor(client.ask("GET", "/version", _Version).behaves_as)
    by_group = {kind.api_version: kind for kind in kinds}
    served = {one: _served(client, kind) for one, kind in by_group.items()}

    def knows(kind: Kind) -> bool:
        return kind.plural in served.get(kind.api_version, ())

    return Server(f"1.{minor}", knows)


def version(client: Client) -> str:
    """The version of the server that answers."""
    return client.ask("GET", "/version", _Version).git_version


def told_apart(manifests: Iterable[Manifest], knows: Knows) -> tuple[list[Manifest], list[Manifest]]:
    """Those that a server knows, and those that it does not, each in their order."""
    known: list[Manifest] = []
    unknown: list[Manifest] = []
    for manifest in manifests:
        (known if knows(kind_of(manifest)) else unknown).append(manifest)
    return known, unknown


def _minor(text: str) -> int:
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise VersionError(f"{text[:50]!r} is no version of Kubernetes", "for example 1.36")
    minor = int(found[1])
    if minor < OLDEST:
        raise VersionError(f"Kubernetes 1.{minor} is too old", f"shiplift works with 1.{OLDEST} and newer")
    return minor


def _served(client: Client, kind: Kind) -> frozenset[str]:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    try:
        found = client.ask("GET", root, _Resources)
    except NotFound:
        return frozenset()
    return frozenset(one.name for one in found.resources)


class _Version(msgspec.Struct, rename="camel"):
    git_version: str
    emulation_major: str = ""
    emulation_minor: str = ""

    @property
    def behaves_as(self) -> str:
        """A server may be told to be as an earlier version was (`--emulated-version`)."""
        emulated = f"{self.emulation_major}.{self.emulation_minor}"
        return emulated if self.emulation_minor else self.git_version


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []
