"""What a write is answered with: the point that the store must have reached before anyone decides again.

Barriers are per kind: another kind's resourceVersion says nothing about this one's.
"""

from __future__ import annotations

import msgspec

from shiplift.facts.kinds import Kind


class Seen(msgspec.Struct, frozen=True, tag=True):
    """The store has seen this kind at this resourceVersion or a later one."""

    kind: Kind
    resource_version: int


class Gone(msgspec.Struct, frozen=True, tag=True):
    """The object with this uid has left the store, or is terminating in it."""

    kind: Kind
    uid: str


Barrier = Seen | Gone
