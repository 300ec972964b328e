"""The rows of one kind and what is found fast in them; frozen at any moment at no cost.

`freeze` hands out the dictionaries themselves; the next change copies what it touches. So a snapshot
stays as it was while events go on, and a store that nobody looks at copies nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import cast

import msgspec

from shiplift.facts.meta import Labels, Row
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector

Members = tuple[Hashable, ...] | dict[Hashable, None]
"""A bucket: a tuple while it is small (a third of the memory), a dictionary from then on."""

_SMALL = 16


class Index:
    """Members by key, copied on write after each freeze."""

    def __init__(self) -> None:
        self.buckets: dict[Hashable, Members] = {}
        self._shared = False
        self._mine: set[Hashable] | None = None
        """Keys of large buckets copied since the last freeze; None while nothing was ever frozen."""

    def freeze(self) -> Mapping[Hashable, Members]:
        self._shared = True
        self._mine = set()
        return self.buckets

    def insert(self, key: Hashable, member: Hashable) -> bool:
        """True where the key is new."""
        self._thaw()
        bucket = self.buckets.get(key)
        if bucket is None:
            self.buckets[key] = (member,)
        elif isinstance(bucket, dict):
            self._own(key, bucket)[member] = None
        elif member not in bucket:
            grown = (*bucket, member)
            self.buckets[key] = grown if len(grown) <= _SMALL else self._large(key, grown)
        return bucket is None

    def drop(self, key: Hashable, member: Hashable) -> bool:
        """True where the key is gone with its last member."""
        bucket = self.buckets.get(key)
        if bucket is None or member not in bucket:
            return False
        self._thaw()
        if len(bucket) == 1:
            del self.buckets[key]
            return True
        if isinstance(bucket, dict):
            del self._own(key, bucket)[member]
        else:
            self.buckets[key] = tuple(one for one in bucket if one != member)
        return False

    def _thaw(self) -> None:
        if self._shared:
            self.buckets = self.buckets.copy()
            self._shared = False

    def _large(self, key: Hashable, members: tuple[Hashable, ...]) -> dict[Hashable, None]:
        if self._mine is not None:
            self._mine.add(key)
        return dict.fromkeys(members)

    def _own(self, key: Hashable, bucket: dict[Hashable, None]) -> dict[Hashable, None]:
        if self._mine is None or key in self._mine:
            return bucket
        self._mine.add(key)
        self.buckets[key] = copy = bucket.copy()
        return copy


class Lookup:
    """How one kind is found besides by uid: an interface, and the plain one by name."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._shared = False

    def put(self, old: Row | None, new: Row) -> None:
        if old is None:
            self._thaw()
            self._names[new.namespace, new.name] = new.uid

    def remove(self, row: Row) -> None:
        if self._names.get((row.namespace, row.name)) == row.uid:
            self._thaw()
            del self._names[row.namespace, row.name]

    def freeze(self) -> Found:
        self._shared = True
        return Found(self._names)

    def _thaw(self) -> None:
        if self._shared:
            self._names = self._names.copy()
            self._shared = False


class PodLookup(Lookup):
    """Pods by node, by owner and by labels. Not by name: nobody asks, and it would cost the most."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes, self._owners, self._sets, self._spaces = Index(), Index(), Index(), Index()

    def put(self, old: Row | None, new: Row) -> None:
        new, old = cast("Pod", new), cast("Pod | None", old)
        if old is not None:
            if old.node is new.node and old.labels is new.labels and old.owners is new.owners:
                return
            self.remove(old)
        self._nodes.insert(new.node, new.uid)
        for owner in new.owners:
            self._owners.insert(owner.uid, new.uid)
        if self._sets.insert((new.namespace, new.labels), new.uid):
            self._spaces.insert(new.namespace, new.labels)

    def remove(self, row: Row) -> None:
        row = cast("Pod", row)
        self._nodes.drop(row.node, row.uid)
        for owner in row.owners:
            self._owners.drop(owner.uid, row.uid)
        if self._sets.drop((row.namespace, row.labels), row.uid):
            self._spaces.drop(row.namespace, row.labels)

    def freeze(self) -> Found:
        return Found(
            {}, self._nodes.freeze(), self._owners.freeze(), self._sets.freeze(), self._spaces.freeze()
        )


class Found(msgspec.Struct, frozen=True, gc=False):
    """A frozen lookup."""

    names: Mapping[tuple[str, str], str]
    nodes: Mapping[Hashable, Members] = {}
    owners: Mapping[Hashable, Members] = {}
    label_sets: Mapping[Hashable, Members] = {}
    spaces: Mapping[Hashable, Members] = {}

    def matching(self, namespace: str, selector: Selector) -> Iterator[Hashable]:
        """Uids of pods that a selector picks; each distinct label set is tried once."""
        for labels in self.spaces.get(namespace, ()):
            if isinstance(labels, Labels) and selector.matches(labels):
                yield from self.label_sets[namespace, labels]


class Frozen(msgspec.Struct, frozen=True, gc=False):
    """One kind at one moment."""

    rows: Mapping[str, Row]
    found: Found
    revision: int
    synced: bool
    stale: bool
    undecodable: Mapping[str, str]


Change = Callable[[Row | None, Row | None], None]
"""Called with the row as it was and as it is; with neither where what cannot be decoded has changed."""


class Table:
    """One kind, as events change it. The store's lock guards it."""

    def __init__(self, lookup: Lookup, changed: Change) -> None:
        self.rows: dict[str, Row] = {}
        self.revision = 0
        self.synced = False
        self.stale_until = float("inf")
        """Rows count as old until then, by the monotonic clock."""
        self.fresh_until = float("inf")
        """Rows count as old from then on, by the same clock, unless something is heard before."""
        self.undecodable: dict[str, str] = {}
        """What no row could be made of: name, and why."""
        self._lookup = lookup
        self._changed = changed
        self._shared = False

    def freeze(self) -> Frozen:
        self._shared = True
        found = self._lookup.freeze()
        return Frozen(self.rows, found, self.revision, self.synced, self.stale, dict(self.undecodable))

    @property
    def stale(self) -> bool:
        return not self.stale_until <= time.monotonic() <= self.fresh_until

    def put(self, row: Row) -> None:
        self.revision = max(self.revision, row.resource_version)
        self._put(row)

    def remove(self, uid: str, revision: int) -> None:
        self.revision = max(self.revision, revision)
        self._remove(uid)

    def skip(self, failures: Mapping[str, str]) -> None:
        """No row can be made of these: name, and why."""
        self._set_undecodable(self.undecodable | dict(failures))

    def unskip(self, name: str) -> None:
        """It is gone, or has a row again."""
        if name in self.undecodable:
            self._set_undecodable({key: why for key, why in self.undecodable.items() if key != name})

    def _set_undecodable(self, undecodable: dict[str, str]) -> None:
        if undecodable != self.undecodable:
            self.undecodable = undecodable
            self._changed(None, None)

    def reach(self, revision: int) -> None:
        """A bookmark: all up to here has been seen."""
        self.revision = max(self.revision, revision)

    def replace(
        self, rows: dict[str, Row], revision: int, undecodable: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """All at once: what is not among it has been deleted."""
        for uid in [uid for uid in self.rows if uid not in rows]:
            self._remove(uid)
        if not self.rows:
            self._adopt(rows)
        else:
            for row in rows.values():
                self._put(row)
        # Not the larger: a cluster restored from a backup counts from an earlier revision.
        self.revision = revision
        self.synced, self.stale_until = True, float("-inf")
        self._set_undecodable(dict(undecodable))

    def _adopt(self, rows: dict[str, Row]) -> None:
        """The first sync: the dictionary itself is taken over, not copied."""
        self.rows, self._shared = rows, False
        for row in rows.values():
            self._lookup.put(None, row)
            self._changed(None, row)

    def _put(self, row: Row) -> None:
        old = self.rows.get(row.uid)
        if old is row:
            return
        self._thaw()
        self.rows[row.uid] = row
        self._lookup.put(old, row)
        self._changed(old, row)

    def _remove(self, uid: str) -> None:
        if uid not in self.rows:
            return
        self._thaw()
        row = self.rows.pop(uid)
        self._lookup.remove(row)
        self._changed(row, None)

    def _thaw(self) -> None:
        if self._shared:
            self.rows = self.rows.copy()
            self._shared = False
