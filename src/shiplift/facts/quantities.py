"""Kubernetes quantities (`250m`, `1.5Gi`, `2e3`) as whole numbers, and sums of them."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

import msgspec

_SCALE = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(1 << 10),
    "Mi": Fraction(1 << 20),
    "Gi": Fraction(1 << 30),
    "Ti": Fraction(1 << 40),
    "Pi": Fraction(1 << 50),
    "Ei": Fraction(1 << 60),
}
_PATTERN = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)"
)
_LONGEST = 100
"""Characters; the API server writes none that comes near."""


def parse(text: str) -> Fraction:
    """The exact value of a quantity."""
    found = _PATTERN.fullmatch(text) if len(text) <= _LONGEST else None
    if not found:
        raise ValueError(f"quantity {text[:40]!r} is not a number with an optional suffix")
    number, exponent, suffix = found.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALE[suffix or ""]
    return Fraction(number) * scale


@lru_cache(4096)
def whole(text: str) -> int:
    """Rounded up to a whole unit, as Kubernetes does (bytes, devices, pods)."""
    return -((-parse(text)) // 1)


@lru_cache(4096)
def milli(text: str) -> int:
    """Rounded up to a thousandth (CPU)."""
    return -((-parse(text) * 1000) // 1)


class Resources(msgspec.Struct, frozen=True, gc=False):
    """An amount of each resource: CPU in thousandths of a core, the rest in whole units."""

    cpu: int = 0
    memory: int = 0
    storage: int = 0
    pods: int = 0
    extended: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.cpu + other.cpu,
            self.memory + other.memory,
            self.storage + other.storage,
            self.pods + other.pods,
            _merge(self.extended, other.extended, add=True),
        )

    def __or__(self, other: Resources) -> Resources:
        """The larger of the two, resource by resource."""
        return Resources(
            max(self.cpu, other.cpu),
            max(self.memory, other.memory),
            max(self.storage, other.storage),
            max(self.pods, other.pods),
            _merge(self.extended, other.extended, add=False),
        )

    def fits(self, free: Resources) -> bool:
        """Whether `free` has room for this; as for the scheduler, nothing of a resource always has room."""
        have = dict(free.extended)
        pairs = [
            (self.cpu, free.cpu),
            (self.memory, free.memory),
            (self.storage, free.storage),
            (self.pods, free.pods),
            *((amount, have.get(name, 0)) for name, amount in self.extended),
        ]
        return all(wanted <= 0 or wanted <= room for wanted, room in pairs)


NOTHING = Resources()


def resources(amounts: dict[str, str]) -> Resources:
    """From a resource list as an object spells it."""
    known = {"cpu", "memory", "ephemeral-storage", "pods"}
    return Resources(
        cpu=milli(amounts.get("cpu", "0")),
        memory=whole(amounts.get("memory", "0")),
        storage=whole(amounts.get("ephemeral-storage", "0")),
        pods=whole(amounts.get("pods", "0")),
        extended=tuple(sorted((name, whole(text)) for name, text in amounts.items() if name not in known)),
    )


def _merge(
    left: tuple[tuple[str, int], ...], right: tuple[tuple[str, int], ...], *, add: bool
) -> tuple[tuple[str, int], ...]:
    if not right or not left:
        return left or right
    merged = dict(left)
    for name, amount in right:
        have = merged.get(name, 0)
        merged[name] = have + amount if add else max(have, amount)
    return tuple(sorted(merged.items()))
