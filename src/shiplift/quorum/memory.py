"""What one term of leading remembers of one service: nothing that a crash would make wrong to forget.

A checked binary is checked again, a rehearsal is held again, and a staged binary staged again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from shiplift.engine import clock, contested
from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.images.registry import Platform
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.names import Record
from shiplift.quorum.serving import Artifact
from shiplift.quorum.validating import Trust

_UNKNOWN = Candidate(Validity.UNKNOWN)
_REFUSED_FOR = timedelta(minutes=10)


class Memory:
    """Of one service; written by the threads that act, one attribute at a time."""

    def __init__(self) -> None:
        self._image, self._trust, self._candidate = "", Trust(), _UNKNOWN
        self.artifact: Artifact | None = None
        """The binary of the candidate, where it is good."""
        self.staged: frozenset[str] = frozenset()
        """Uids of pods that all have staged it."""
        self.rehearsed: frozenset[str] = frozenset()
        """Uids of pods that all could take it."""
        self.servers: Mapping[str, Server] = {}
        """By the uid of the pod, as last seen."""
        self.pull_secrets: tuple[str, ...] = ()
        """That the pods name."""
        self.platform = Platform()
        """Of the nodes that the pods run on."""
        self.acted: datetime | None = None
        """When something was last done to servers or pods: what they said before that counts no more."""
        self.calling = False
        """Whether servers are being told to fetch: they are left alone then, for a busy one garbles files."""
        self.changes = contested.Memory()
        self._generation = 0
        self.records: dict[str, Record] = {}
        """Of the swap that is under way, by the uid of the StatefulSet: somebody may strip it there before
        the status has it."""

    def candidate(self, image: str, trust: Trust) -> Candidate:
        """What was found of that image, by its name as it was asked for or by digest, with that trust. One
        that was refused is looked at again after a while: a tag can be moved, a pull secret put right."""
        known = self._candidate
        if trust != self._trust or image not in (self._image, known.image):
            return _UNKNOWN
        if known.validity is not Validity.REFUSED or known.verified is None:
            return known
        return _UNKNOWN if clock.now() - known.verified > _REFUSED_FOR else known

    def changes_under(self, generation: int) -> contested.Changes:
        """What was changed under this very spec: a spec that changes begins in peace."""
        if generation != self._generation:
            self._generation = generation
            self.changes.forget()
        return dict(self.changes.changes)

    def learn(self, image: str, trust: Trust, candidate: Candidate, artifact: Artifact | None) -> None:
        self._image, self._trust, self._candidate, self.artifact = image, trust, candidate, artifact
        self.staged = self.rehearsed = frozenset()

    def forget(self) -> None:
        """The cache was lost: it is pulled and checked again."""
        self._image, self._candidate, self.artifact = "", _UNKNOWN, None
