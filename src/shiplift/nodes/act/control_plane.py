"""Claims on the control plane: written down before one of its nodes is changed, ended when that is over."""

from __future__ import annotations

from collections.abc import Callable

from shiplift.engine import claims, clock
from shiplift.engine.claims import ClaimError, Target
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import NODE
from shiplift.kube.claims import ClaimBook
from shiplift.kube.errors import NotFound
from shiplift.nodes.steps import Claim


class ControlPlane:
    """The one book of claims, for a leader of this epoch. `changed` hears that it was written to."""

    def __init__(self, book: ClaimBook, epoch: int, changed: Callable[[], None]) -> None:
        self._book, self._epoch, self._changed = book, epoch, changed

    def take(self, step: Claim) -> Outcome:
        target = Target(NODE, step.node, step.uid, str(step.version))
        claim = claims.Claim(step.token, target, self._epoch, clock.now())
        try:
            (self._complete if step.ended else self._book.claim)(claim)
        except ClaimError as error:
            return Outcome.failed(step, str(error))
        except NotFound:
            return Outcome.failed(step, missing(self._book))
        finally:
            self._changed()
        return Outcome.done(step)

    def _complete(self, claim: claims.Claim) -> None:
        """A claim that names a later epoch than ours stays: that somebody has to look at."""
        self._book.complete(claim)
        for left in self._book.open_claims():
            if left.identity == claim.identity:
                raise ClaimError(
                    f"the claim is of epoch {left.epoch}, later than ours ({self._epoch})",
                    hint=f"take {claims.ANNOTATION} off ConfigMap {self._book.name} once nobody changes the"
                    " control plane",
                )


def missing(book: ClaimBook) -> str:
    """That nobody can claim anything, and what would help."""
    return (
        f"{book.kind} {book.namespace}/{book.name}, which holds the claims on the control plane, is missing"
        " (hint: apply again what installed shiplift, which makes it: docs/install.md)"
    )
