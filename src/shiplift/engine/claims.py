"""Claims: a destructive step is written down before it is taken, so that a later leader knows of it.

A claim says which step was about to be taken on what, by the leader of which epoch. What is kept true:
- a claim is open from before the step is sent until its end is known: `complete` (it happened) or `withdraw`
  (it cannot happen any more);
- a claim is withdrawn only with a proof that the step's preconditions fail now: the object is gone, is
  another one, or has moved on;
- epochs only go up: whoever finds a claim of a later epoch is no leader any more and adds nothing.

An eviction carries the uid only (with a resourceVersion, each conflict would use up a place of the disruption
budget): against a late eviction the fence stands, so a leader raises the epoch before it withdraws anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shiplift.facts.kinds import Kind

ANNOTATION = "shiplift.dev/claims"
MOST_OPEN = 256
"""An object's annotations may hold 256 KiB together; a claim is below 1 KiB."""


class ClaimError(Exception):
    """A claim cannot be made or ended as asked."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message} (hint: {hint})" if hint else message)
        self.hint = hint


class StaleClaim(ClaimError):  # noqa: N818 - says what the claim is
    """A leader of a later epoch was here already."""


class NotSpoiled(ClaimError):  # noqa: N818 - says what the target is
    """The step could still happen, so its claim stays open."""


class Target(msgspec.Struct, frozen=True, order=True):
    """The object that a step would destroy, as it was when the step was decided."""

    kind: Kind
    name: str
    uid: str
    resource_version: str
    namespace: str = ""

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


class Claim(msgspec.Struct, frozen=True, order=True):
    """What would be done (`step`, by its key) to what: the same step on the same object is the same claim."""

    step: str
    target: Target
    epoch: int
    at: datetime

    @property
    def identity(self) -> tuple[str, str]:
        return (self.step, self.target.uid)


class Sighting(msgspec.Struct, frozen=True):
    """What a live look at a target's name found; an empty uid means that nothing is there."""

    uid: str = ""
    resource_version: str = ""


Claims = tuple[Claim, ...]
_read_claims = msgspec.json.Decoder(Claims).decode


def read(annotations: Mapping[str, str]) -> Claims:
    """The open claims. What cannot be read is an error and never counts as no claims."""
    text = annotations.get(ANNOTATION)
    if not text:
        return ()
    try:
        return _read_claims(text)
    except msgspec.DecodeError as error:
        raise ClaimError(
            f"annotation {ANNOTATION} cannot be read: {error}",
            hint="a newer shiplift may have written it; remove it only when no step can be under way",
        ) from None


def write(claims: Claims) -> str | None:
    """The annotation's text; None when there is nothing to keep."""
    return msgspec.json.encode(claims).decode() if claims else None


def add(claims: Claims, claim: Claim) -> Claims:
    """Open a claim. The same step claimed by an earlier leader becomes ours."""
    refuse_stale(claims, claim.epoch)
    others = tuple(known for known in claims if known.identity != claim.identity)
    if len(others) >= MOST_OPEN:
        raise ClaimError(
            f"{MOST_OPEN} claims are open already", hint="wait until some of the steps have ended"
        )
    return tuple(sorted((*others, claim)))


def complete(claims: Claims, claim: Claim) -> Claims:
    """The step happened: close its claim, unless a later leader has made it its own."""
    return tuple(known for known in claims if known.identity != claim.identity or known.epoch > claim.epoch)


def withdraw(claims: Claims, claim: Claim, seen: Sighting) -> Claims:
    """The step cannot happen any more, as `seen` proves: close its claim."""
    if not spoiled(claim, seen):
        raise NotSpoiled(f"{claim.step} on {claim.target} may still happen", hint="touch the object first")
    return complete(claims, claim)


def spoiled(claim: Claim, seen: Sighting) -> bool:
    """Whether a write with the claim's uid and resourceVersion as preconditions must fail from now on."""
    target = claim.target
    return seen.uid != target.uid or seen.resource_version != target.resource_version


def from_before(claims: Claims, epoch: int) -> Claims:
    """Claims of earlier leaders: each may still happen until it is withdrawn or seen to be done."""
    return tuple(claim for claim in claims if claim.epoch < epoch)


def refuse_stale(claims: Claims, epoch: int) -> None:
    """Raise when a leader of a later epoch has written here."""
    latest = max((claim.epoch for claim in claims), default=epoch)
    if latest > epoch:
        raise StaleClaim(f"epoch {epoch} is over: a leader of epoch {latest} has claimed since")
