"""Budgets: how many may be away at once, from a count or a percentage.

The rounding is Kubernetes' own, so that a number means the same here as in a Deployment,
a MachineDeployment of Cluster API or a PodDisruptionBudget: unavailable rounds down, surge rounds up,
and a PodDisruptionBudget rounds both of its fields up.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

import msgspec

PERCENT = re.compile(r"[0-9]{1,9}%", re.ASCII)
LARGEST = 2**31 - 1


class BudgetError(ValueError):
    """A budget that cannot be read; names the field and the value."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Rounding(enum.Enum):
    DOWN = "down"
    UP = "up"


class Amount(msgspec.Struct, frozen=True):
    """A count, or a share of some total that is not known yet."""

    number: int
    percent: bool = False

    def of(self, total: int, rounding: Rounding) -> int:
        """How many that is among `total`."""
        if not self.percent:
            return self.number
        share = self.number * max(total, 0)
        return share // 100 if rounding is Rounding.DOWN else -(-share // 100)

    def __str__(self) -> str:
        return f"{self.number}%" if self.percent else str(self.number)


def parse(value: int | str, name: str, *, most: int | None = None) -> Amount:
    """Read a count (an int) or a percentage (a string such as `25%`), as the API server does.

    `most` bounds a percentage: more than 100% unavailable is a mistake, more than 100% surge is not.
    """
    amount = _read(value)
    if amount is None:
        raise BudgetError(
            f"{name} is {value!r}, which is neither a count nor a percentage",
            'write a whole number such as 1, or a percentage such as "25%"',
        )
    if amount.percent and most is not None and amount.number > most:
        raise BudgetError(f"{name} is {value!r}, which is more than {most}%", f'use at most "{most}%"')
    return amount


def _read(value: object) -> Amount | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Amount(value) if 0 <= value <= LARGEST else None
    if isinstance(value, str) and PERCENT.fullmatch(value):
        return Amount(int(value[:-1]), percent=True)
    return None


@lru_cache(4096)
def max_unavailable(value: int | str, total: int, *, at_least_one: bool = False) -> int:
    """How many of `total` may be away; rounds down, never more than there are."""
    number = parse(value, "maxUnavailable", most=100).of(total, Rounding.DOWN)
    floor = 1 if at_least_one else 0
    return min(max(number, floor), max(total, 0))


def max_surge(value: int | str, total: int) -> int:
    """How many may exist beyond `total`; rounds up."""
    return parse(value, "maxSurge").of(total, Rounding.UP)


class Disruptions(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget's two fields, of which it has at most one."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None

    @property
    def limited(self) -> bool:
        """Whether it has one of the fields. If not, its controller expects no pods, and allows nothing."""
        return self.min_available is not None or self.max_unavailable is not None

    def desired_healthy(self, expected: int) -> int:
        """How many of the expected pods must stay healthy; with neither field none is counted on."""
        if self.max_unavailable is not None:
            away = parse(self.max_unavailable, "maxUnavailable", most=100).of(expected, Rounding.UP)
            return max(expected - away, 0)
        if self.min_available is not None:
            return parse(self.min_available, "minAvailable", most=100).of(expected, Rounding.UP)
        return 0

    def allowed(self, expected: int, healthy: int) -> int:
        """How many evictions the API server would allow now; with neither field none at any time."""
        if expected <= 0 or not self.limited:
            return 0
        return max(healthy - self.desired_healthy(expected), 0)
