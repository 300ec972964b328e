"""What we changed on a workload, kept in the namespace's WorkloadPlacement and written before the change.

Not on the workload itself: a Deployment's annotations are copied to its ReplicaSets and stay there. Undoing
is three-way: a value that is no longer the one recorded here was changed by somebody else and stays.

(`template`, a field of 0.1.0, was a digest that no other release can compare.)
"""

from __future__ import annotations

import msgspec

from shiplift.engine.records import Records


class Surge(msgspec.Struct, frozen=True, omit_defaults=True):
    """Replicas raised by one for a while; with an autoscaler, its floor too."""

    before: int
    after: int
    autoscaler: str = ""
    floor_before: int = 0
    at: int = 0
    """When it was written down that a replica more is going to be asked for, in seconds since 1970."""
    there: int = 0
    """How many of its pods were on target nodes then."""
    gave_up: str = ""
    """Why it is taken back for good; when that is done, `after` is `before`."""

    @property
    def is_taken_back(self) -> bool:
        """Whether it was given up, and nothing of it is left but the record."""
        return bool(self.gave_up) and self.after == self.before


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What we changed on one workload; nothing of it is left when the record is gone."""

    toleration: str = ""
    """The target whose taint the template was made to tolerate."""
    inert: str = ""
    """The digest of the template when its toleration became inert: once it is another, the owner has rolled
    it out."""
    surge: Surge | None = None
    own: str = ""
    """The target whose taint the template tolerated before us, in our very words: that toleration stays."""
    earlier: str = ""
    """The target before, whose taint the template was made to tolerate: it does so until it is changed for
    the new one, which may never come to it."""

    def __bool__(self) -> bool:
        return bool(self.toleration or self.surge)

    @property
    def binds(self) -> bool:
        """Whether something has to be undone before it may be lost; an inert toleration may stay."""
        surges = self.surge is not None and not self.surge.is_taken_back
        return surges or bool(self.given and not self.inert)

    @property
    def given(self) -> tuple[str, ...]:
        """The targets whose toleration the template may have from us, the latest first."""
        return tuple(one for one in (self.toleration, self.earlier) if one not in ("", self.own))


NO_RECORD = Record()
RECORDS = Records(Record, "ledger")
