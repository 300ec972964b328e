"""The Deployments of versions that another takes over from. Pure.

Kept true: one is found though somebody has taken our marks off it, or replaced it whole: by the name that its
version gives it. It would act beside that of the new version, and nobody would end it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shiplift.facts.custom import Custom
from shiplift.facts.workloads import Deployment
from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from shiplift.operators.names import BUNDLE
from shiplift.operators.rows import has_run, owner_of, version_of


class Former(NamedTuple):
    """A Deployment, and the version that it is of."""

    row: Deployment
    of: Custom

    @property
    def is_marked(self) -> bool:
        """Whether it is found by what it says: label and annotation go by themselves."""
        owner = owner_of(self.of)
        annotated = self.row.annotations.get(OWNER_UID) == owner.uid
        return annotated and self.row.labels.get(OWNER) == owner.label


def names_of(one: Custom) -> frozenset[str]:
    """The Deployments of a version by name, where all of them were surely its own: it came to run."""
    if not has_run(one):
        return frozenset()
    return frozenset(each.name for each in version_of(one).spec.install_strategy.deployments)


def former(before: Iterable[Custom], rows: Iterable[Deployment]) -> list[Former]:
    """Those of these versions among these, in order of name."""
    every = tuple(before)
    found = [Former(row, of) for row in rows if (of := _version_of(row, every)) is not None]
    return sorted(found, key=lambda one: one.row.name)


def _version_of(row: Deployment, before: tuple[Custom, ...]) -> Custom | None:
    owner = row.annotations.get(OWNER_UID)
    if owner is not None:
        return next((one for one in before if one.uid == owner), None)
    ours = (one for one in before if one.namespace == row.namespace)
    return next((one for one in ours if _is_of(row, one)), None)


def _is_of(row: Deployment, one: Custom) -> bool:
    return row.annotations.get(BUNDLE) == one.name or row.name in names_of(one)
