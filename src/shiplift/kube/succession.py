"""Which pod this process runs in, and how it lets another pod of the operator lead before that one goes.

To let another lead ends a term in order: what is in flight ends, the Lease is let go of, and this process
stands back until another has taken it. Where none does, it leads again; nothing is handed over then for a
while, so that whoever is to go goes, as it would with one replica.
"""

from __future__ import annotations

import time
from collections.abc import Callable

AGAIN_AFTER = 120.0
"""Seconds for which nothing is handed over once more."""


def _no_pod() -> str:
    return ""


def _nobody(_: str) -> None:
    pass


class Succession:
    """One for the process; may be asked from any thread."""

    def __init__(
        self,
        pod: Callable[[], str] = _no_pod,
        step_back: Callable[[str], None] = _nobody,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pod = pod
        """The uid of the pod that we run in; empty where we run in none."""
        self._step_back, self._monotonic = step_back, monotonic
        self._at = float("-inf")
        self.pending = False
        """Whether a term is to end for that and has not yet: who decides meanwhile ends no pod of ours."""

    def may_hand_over(self) -> bool:
        return self._monotonic() - self._at >= AGAIN_AFTER

    def hand_over(self, why: str) -> None:
        """End this term, and let another lead; returns before that has happened."""
        self._at, self.pending = self._monotonic(), True
        self._step_back(why)

    def over(self) -> None:
        """That term has ended, or was over before."""
        self.pending = False


NOBODY = Succession()
"""Of a process that runs in no pod."""
