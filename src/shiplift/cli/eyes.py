"""How commands see what the layers tell: once, or look by look as it changes."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from shiplift.cli import access, sections
from shiplift.cli.hearing import Ear
from shiplift.cli.sections import Seen

if TYPE_CHECKING:
    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.kube.store import Store

_BETWEEN_LEASES = 5.0
"""Seconds between two looks at the operator's Lease."""


class Eyes:
    """Sees the layers' objects as they change; the operator's Lease is looked at now and then."""

    def __init__(self, client: Client) -> None:
        self._client, self._ear = client, Ear(client)
        self._parts, objects = sections.read(client, sections.parts_of_layers())
        self.heard = self._ear.surely()
        self.now = int(time.time())
        """When the last look was."""
        told = sections.told(self._parts, objects, self.now, self.heard)
        if not told:
            raise sections.refusal(next(iter(self._parts.values())).absent)
        self.first = Seen(told, self._silent(), stale=False)
        self._begun = {one.layer for one in told}
        self._look_at_lease = 0.0

    def followed(self) -> AbstractContextManager[Store]:
        """What is looked at again and again."""
        from shiplift.kube.watch import Watch

        kinds = dict.fromkeys(kind for part in self._parts.values() for kind in part.reads)
        return access.followed(self._client.credentials, map(Watch, kinds))

    def look(self, store: Store) -> Seen:
        snapshot, self.now = store.snapshot(), int(time.time())
        stale = bool(snapshot.stale())
        if not stale and time.monotonic() >= self._look_at_lease:
            self.heard = self._ear.listen()
            self._look_at_lease = time.monotonic() + _BETWEEN_LEASES

        def objects(kind: Kind) -> list[Any]:
            return [row.object for row in snapshot.customs(kind)]

        told = sections.told(self._parts, objects, self.now, self.heard, self._begun)
        self._begun.update(one.layer for one in told)
        return Seen(told, self._silent(), stale)

    def _silent(self) -> int | None:
        return self.heard.silent(self.now) if self.heard else None
