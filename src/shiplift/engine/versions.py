"""Kubernetes versions: read, compared by explicit rules, and how far apart two of them may be.

The rules, in this order:
1. major, minor and patch are compared as numbers;
2. `-alpha.N` < `-beta.N` < `-rc.N` < the release itself;
3. a vendor's counter (`-gke.12`, `+k3s1`, `+rke2r3`) is compared as numbers, within that vendor only;
4. everything else (`-eks-3af4770`: a hash; two vendors; a vendor and none) differs without an order.

Where rule 4 applies no version is called the higher one: a person has to name the target.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

SHAPE = re.compile(
    r"v?(?P<major>\d{1,4})\.(?P<minor>\d{1,4})(?:\.(?P<patch>\d{1,6}))?"
    r"(?:-(?P<stage>alpha|beta|rc)\.(?P<stage_number>\d{1,6})(?![\w.]))?"
    r"(?P<vendor>[-+][0-9A-Za-z.+_-]{1,100})?",
    re.ASCII,
)
COUNTER = re.compile(
    r"[-+](?P<name>[A-Za-z]+(?:\d+[A-Za-z]+)*)\.?(?P<numbers>\d{1,9}(?:\.\d{1,9})*)",
    re.ASCII,
)
MINOR = re.compile(r"v?\d{1,4}\.\d{1,4}", re.ASCII)
KUBELET_MAY_LAG = 3


class VersionError(ValueError):
    """A text that is no Kubernetes version, or versions that have no order."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Stage(enum.IntEnum):
    ALPHA = 0
    BETA = 1
    RC = 2
    RELEASE = 3


class Order(enum.Enum):
    LOWER = "lower"
    SAME = "same"
    HIGHER = "higher"
    NONE = "none"


class Version(msgspec.Struct, frozen=True):
    """One version; equal only when every part is, the vendor's suffix included."""

    major: int
    minor: int
    patch: int = 0
    stage: Stage = Stage.RELEASE
    stage_number: int = 0
    vendor: str = ""

    def compare(self, other: Version) -> Order:
        """Where this version stands against the other, by the rules of this module."""
        if self == other:
            return Order.SAME
        mine, theirs = self._rank(), other._rank()
        if mine == theirs:
            return _by_vendor(self.vendor, other.vendor)
        return Order.LOWER if mine < theirs else Order.HIGHER

    def _rank(self) -> tuple[int, ...]:
        return (self.major, self.minor, self.patch, self.stage, self.stage_number)

    @property
    def line(self) -> tuple[int, int]:
        """The minor line, as in 1.35."""
        return (self.major, self.minor)

    def __str__(self) -> str:
        stage = "" if self.stage is Stage.RELEASE else f"-{self.stage.name.lower()}.{self.stage_number}"
        return f"v{self.major}.{self.minor}.{self.patch}{stage}{self.vendor}"


def _by_vendor(mine: str, theirs: str) -> Order:
    left, right = _counter(mine), _counter(theirs)
    if left is None or right is None or left[0] != right[0] or left == right:
        return Order.NONE
    return Order.LOWER if left < right else Order.HIGHER


def _counter(vendor: str) -> tuple[str, tuple[int, ...]] | None:
    found = COUNTER.fullmatch(vendor)
    if found is None:
        return None
    return found["name"], tuple(int(number) for number in found["numbers"].split("."))


def parse(text: str) -> Version:
    """Read `v1.35.4`, `1.35`, `v1.36.0-rc.1`, `v1.35.4-gke.12`, `v1.34.1+k3s1`…"""
    found = SHAPE.fullmatch(text)
    if found is None:
        raise VersionError(f"{text[:80]!r} is not a Kubernetes version", "write it like v1.36.3")
    stage = Stage[found["stage"].upper()] if found["stage"] else Stage.RELEASE
    return Version(
        int(found["major"]),
        int(found["minor"]),
        int(found["patch"] or 0),
        stage,
        int(found["stage_number"] or 0),
        found["vendor"] or "",
    )


def highest(versions: Iterable[Version]) -> Version:
    """The one version that no other is above; refuses to guess where there is no order."""
    distinct = list(dict.fromkeys(versions))
    if not distinct:
        raise VersionError("there is no version to choose from", "are there nodes in scope?")
    top = distinct[0]
    for version in distinct[1:]:
        if version.compare(top) is Order.HIGHER:
            top = version
    rivals = [version for version in distinct if version.compare(top) is Order.NONE]
    if rivals:
        names = " and ".join(str(version) for version in (top, *rivals))
        raise VersionError(f"{names} have no order", "name the target version yourself")
    return top


def minors_between(low: Version, high: Version) -> int:
    """How many minor lines `high` is above `low`; negative when it is below."""
    if low.major != high.major:
        raise VersionError(f"{low} and {high} are of different majors", "no upgrade path crosses a major")
    return high.minor - low.minor


def kubelet_fits(kubelet: Version, api_server: Version) -> bool:
    """A kubelet is never ahead of the API server's minor and at most three behind it."""
    if kubelet.major != api_server.major:
        return False
    return 0 <= minors_between(kubelet, api_server) <= KUBELET_MAY_LAG


@lru_cache(4096)
def goal(text: str) -> str:
    """A version that is asked for, in normal form; `v1.36` where any of that minor, or a newer one, will do.
    What is no version stays as it is."""
    if MINOR.fullmatch(text) is None:
        return normal(text)
    asked = parse(text)
    return f"v{asked.major}.{asked.minor}"


@lru_cache(4096)
def reaches(text: str, wanted: str) -> bool:
    """Whether a version is what is asked for: whole versions are compared whole; of a minor every version
    will do, and every one of a newer minor, whatever its suffix."""
    if MINOR.fullmatch(wanted) is None:
        return normal(text) == normal(wanted)
    try:
        runs, asked = parse(text), parse(wanted)
    except VersionError:
        return False
    return runs.major == asked.major and runs.minor >= asked.minor


@lru_cache(4096)
def beyond(text: str, wanted: str) -> bool:
    """Whether no upgrade would make a version what is asked for: it is past it, or the same but for a
    vendor's suffix, which has no order."""
    if reaches(text, wanted) or MINOR.fullmatch(wanted) is not None:
        return False
    try:
        return parse(text).compare(parse(wanted)) in (Order.HIGHER, Order.NONE)
    except VersionError:
        return False


@lru_cache(4096)
def normal(text: str) -> str:
    """`1.36.3` and `v1.36.3` are the same; what is no version stays as it is."""
    try:
        return str(parse(text))
    except VersionError:
        return text
