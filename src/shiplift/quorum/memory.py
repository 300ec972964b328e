"""What one term of leading remembers of one service: nothing that a crash would make wrong to forget.

A checked binary is checked again, and a staged one staged again.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.serving import Artifact

_UNKNOWN = Candidate(Validity.UNKNOWN)


class Memory:
    """Of one service."""

    def __init__(self) -> None:
        self._image, self._candidate = "", _UNKNOWN
        self.artifact: Artifact | None = None
        """The binary of the candidate, where it is good."""
        self.staged: frozenset[str] = frozenset()
        """Uids of pods that all have staged it."""
        self.servers: Mapping[str, Server] = {}
        """By the uid of the pod, as last seen."""

    def candidate(self, image: str) -> Candidate:
        """What is known of that image, by its name as it was asked for or by digest."""
        return self._candidate if image in (self._image, self._candidate.image) else _UNKNOWN

    def learn(self, image: str, candidate: Candidate, artifact: Artifact | None) -> None:
        self._image, self._candidate, self.artifact = image, candidate, artifact
        self.staged = frozenset()

    def forget(self) -> None:
        """The cache was lost: it is pulled and checked again."""
        self._image, self._candidate, self.artifact = "", _UNKNOWN, None
