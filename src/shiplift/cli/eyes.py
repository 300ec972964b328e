"""How commands see what the layers tell: once, or look by look as it changes.

Whoever waits for the end of it is not let go by what a status says alone, which is as old as its operator:
an operator has to be there and act, and nodes must not say otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from shiplift.cli import access, sections
from shiplift.cli.hearing import Ear
from shiplift.cli.sections import Seen, Told
from shiplift.view.section import Arrival
from shiplift.view.values import plain

if TYPE_CHECKING:
    from shiplift.face.parts import Objects
    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.kube.store import Snapshot, Store

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
            raise sections.absent(self._parts)
        self.first = Seen(told, self._silent(), stale=False)
        self._begun = {one.layer for one in told}
        self._look_at_lease = 0.0
        self._to_the_end = self._sees_nodes = False

    def followed(self, *, to_the_end: bool = False) -> AbstractContextManager[Store]:
        """What is looked at again and again; nodes too where somebody waits for the end and may see them."""
        from shiplift.facts.kinds import NODE
        from shiplift.kube.watch import Watch

        kinds = dict.fromkeys(kind for part in self._parts.values() for kind in part.reads)
        self._to_the_end = to_the_end
        self._sees_nodes = to_the_end and self._may_see(NODE)
        if self._sees_nodes:
            kinds[NODE] = None
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
        doubt = self._doubt(told, objects, snapshot) if self._to_the_end else ""
        return Seen(told, self._silent(), stale, doubt)

    def _doubt(self, told: Iterable[Told], objects: Objects, snapshot: Snapshot) -> str:
        """What speaks against a section that says that all is done."""
        from shiplift.facts.nodes import Node

        done = [one for one in told if one.section and one.section.arrival is Arrival.MOVED]
        if not done:
            return ""
        if self.heard is None:
            return _unheard(self._ear.namespace)
        if self.heard.not_acting:
            return f"the operator leads and does not act: {plain(self.heard.not_acting)}"
        if not self._sees_nodes:
            return ""
        nodes = tuple(snapshot.all(Node))
        return next(filter(None, (one.part.contradicted(objects, nodes) for one in done)), "")

    def _may_see(self, kind: Kind) -> bool:
        from shiplift.kube.errors import Forbidden

        try:
            next(iter(self._client.list(kind, limit=1)), None)
        except Forbidden:
            return False
        return True

    def _silent(self) -> int | None:
        return self.heard.silent(self.now) if self.heard else None


def _unheard(namespace: str) -> str:
    where = f"-n {namespace}" if namespace else "-A"
    return (
        "whether an operator runs cannot be told, its Lease cannot be read"
        f" (`kubectl get leases {where}` says why)"
    )
