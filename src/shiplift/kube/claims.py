"""Claims kept in a state object of ours, each change guarded by the object's uid and resourceVersion.

The pure part is `shiplift.engine.claims`. Here: read, change, write back; again when somebody was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from shiplift.engine import claims as pure
from shiplift.engine.claims import Claim, Claims, Sighting, Target
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import Conflict, NotFound, PreconditionFailed, Unknown

TOUCHED = "shiplift.dev/withdrawn"
"""A label, not an annotation: a Deployment's annotations are copied to its ReplicaSets and stay there."""

_ATTEMPTS = 5

log = structlog.get_logger(__name__)


class ClaimBook(msgspec.Struct, frozen=True):
    """The claims in one state object. `client` carries the leader's epoch in its field manager."""

    client: Client
    kind: Kind
    name: str
    namespace: str = ""

    def open_claims(self) -> Claims:
        """Read live, never from the store: a claim that is not seen is a step that nobody expects."""
        return pure.read(_annotations(self.client.get(self.kind, self.name, self.namespace)))

    def claim(self, claim: Claim) -> None:
        """Write the claim down. When this returns, and not before, the step may be taken."""
        self._change(lambda known: pure.add(known, claim))

    def complete(self, claim: Claim) -> None:
        """The step's end was seen: close its claim."""
        self._change(lambda known: pure.complete(known, claim))

    def withdraw(self, claim: Claim) -> None:
        """Make the step impossible, then close its claim: a crash between the two leaves the claim open."""
        seen = touch(self.client, claim.target)
        self._change(lambda known: pure.withdraw(known, claim, seen))
        log.info("claim.withdrawn", step=claim.step, target=str(claim.target), epoch=claim.epoch)

    def _change(self, change: Callable[[Claims], Claims]) -> None:
        """A conflict and an unknown result are settled by reading again; what is there already is done."""
        for attempt in range(1, _ATTEMPTS + 1):
            state = self.client.get(self.kind, self.name, self.namespace)
            before = pure.read(_annotations(state))
            after = change(before)
            if after == before:
                return
            try:
                self._write(state, after)
            except (Conflict, Unknown):
                if attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _write(self, state: dict[str, Any], after: Claims) -> None:
        metadata = state["metadata"]
        self.client.patch(
            self.kind,
            self.name,
            {"metadata": {"annotations": {pure.ANNOTATION: pure.write(after)}}},
            self.namespace,
            type=PatchType.MERGE,
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )


def touch(client: Client, target: Target) -> Sighting:
    """Change the target's resourceVersion and nothing else: a label is set and taken away again."""
    seen = look(client, target)
    if seen.uid != target.uid:
        return seen
    try:
        for value in ("true", None):
            client.patch(
                target.kind,
                target.name,
                {"metadata": {"labels": {TOUCHED: value}}},
                target.namespace,
                type=PatchType.MERGE,
                uid=target.uid,
            )
    except (NotFound, PreconditionFailed):
        log.info("claim.target_gone", target=str(target))
    return look(client, target)


def look(client: Client, target: Target) -> Sighting:
    """What is there under the target's name now."""
    try:
        metadata = client.get(target.kind, target.name, target.namespace)["metadata"]
    except NotFound:
        return Sighting()
    return Sighting(uid=metadata["uid"], resource_version=metadata["resourceVersion"])


def _annotations(state: dict[str, Any]) -> dict[str, str]:
    return state["metadata"].get("annotations") or {}
