"""What every row says of itself: who it is, which version of it we saw, whose it is.

Rows are frozen and hold no cycles, so the garbage collector may skip them (`gc=False`): a store of
100,000 rows then costs it nothing. Times are whole seconds since 1970, 0 where there is none.
"""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec


class Labels(dict[str, str]):
    """A read-only, hashable mapping: label sets are shared between rows and used as keys."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash(frozenset(self.items()))
            return self._hash

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("labels of a row cannot be changed")

    __setitem__ = __delitem__ = pop = popitem = clear = __ior__ = _refuse
    update = setdefault = _refuse  # pyright: ignore[reportAssignmentType]


NO_LABELS = Labels()


class Owner(msgspec.Struct, frozen=True, gc=False):
    """One owner reference."""

    kind: str
    name: str
    uid: str
    controller: bool = False
    api_version: str = ""


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition of a status; `since` is its last transition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: int = 0


class Row(msgspec.Struct, frozen=True, gc=False):
    """What all kinds have. `annotations` holds only the keys that some layer reads."""

    namespace: str
    name: str
    uid: str
    resource_version: int
    generation: int
    created: int
    deleting: int
    """When the object was asked to go; 0 while nobody has."""
    labels: Labels
    annotations: Labels
    owners: tuple[Owner, ...]
    finalizers: tuple[str, ...]

    @property
    def controller(self) -> Owner | None:
        """The owner that manages this object, if any says so."""
        for owner in self.owners:  # a plain loop: this is asked for every pod
            if owner.controller:
                return owner
        return None

    def same_as(self, other: Row) -> bool:
        """True where the two differ in nothing that any layer reads."""
        return msgspec.structs.replace(self, resource_version=other.resource_version) == other


def condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of that type."""
    return next((one for one in conditions if one.type == kind), None)
