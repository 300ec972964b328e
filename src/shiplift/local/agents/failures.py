"""Failures that are ordered: an annotation of a simulated node says how its next change goes wrong.

    simulated.shiplift.dev/fails: WrongVersion         changes go wrong, putting back the old versions works
    simulated.shiplift.dev/fails: WrongVersion Back    putting them back goes wrong too

The annotation is read when the failure would happen, and stands until somebody takes it off.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from shiplift.local.errors import LocalError

FAILS = "simulated.shiplift.dev/fails"
_BACK = "Back"


class Failure(StrEnum):
    """What goes wrong."""

    FAILS = "Fails"
    """The work ends in an error, and nothing was changed."""
    NEVER_READY = "NeverReady"
    """The work never ends; the agent lives."""
    WRONG_VERSION = "WrongVersion"
    """The agent says that it is done, and the versions are the old ones."""
    DIES = "Dies"
    """The agent dies half-way through the work; it lives again when the annotation is gone."""
    ROLLS_BACK = "RollsBack"
    """All is well; then, after as long as the change took, the old kubelet is back."""
    NEVER_BOOTS = "NeverBoots"
    """The machine is restarted, and comes back when the annotation is gone."""


def ordered(annotations: Mapping[str, str], *, back: bool) -> Failure | None:
    """How an order goes wrong, if it does; `back` says that it puts the old versions back."""
    words = annotations.get(FAILS, "").split()
    if not words or (back and _BACK not in words[1:]):
        return None
    try:
        return Failure(words[0])
    except ValueError:
        raise LocalError(
            f"annotation {FAILS}: {words[0][:40]!r} is no failure", f"one of {', '.join(Failure)}"
        ) from None
