"""`shiplift resume rollout/NAME` of one that is not paused: what has failed is tried again.

A pause is what tells the operator that somebody has looked. So it is paused, and resumed as soon as the
operator has seen that. Where no operator sees it in time it stays paused, and that is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from shiplift.cli import access
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.nodes import NodeRollout
    from shiplift.kube.client import Client

SECONDS = 30.0
"""So long an operator has to see the pause."""
_LOOK = 0.5
_WATCH = "shiplift status -w shows how it goes"


def try_again(
    client: Client,
    rollout: NodeRollout,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Let the operator try again what has failed; said where nothing has."""
    name = rollout.metadata.name
    if not _has_failed(rollout):
        return _not_failed(rollout)
    _pause(client, rollout, paused=True)
    deadline = clock() + SECONDS
    while not _is_seen(client, rollout := _read(client, name)):
        if clock() >= deadline:
            raise CommandError(
                f"NodeRollout {name} is paused, and no operator has seen that in {SECONDS:.0f} s: what has"
                " failed is not tried again yet",
                f"`shiplift operator` runs one; then `shiplift resume rollout/{name}` goes on",
            )
        sleep(_LOOK)
    _pause(client, rollout, paused=False)
    say("resumed: what has failed is tried again as its turn comes")
    return say(f"hint: {_WATCH}")


def _not_failed(rollout: NodeRollout) -> None:
    from shiplift.nodes.face.rollouts import stalled

    say("it was not paused, and nothing of it has failed")
    if why := stalled(rollout):
        say(f"hint: it does not go on because of something else: {why}")


def _has_failed(rollout: NodeRollout) -> bool:
    """Whether a node has, or what had to be done before any node: then it is stopped."""
    from shiplift.api.nodes import RolloutPhase

    return bool(_failed(rollout)) or rollout.status.phase is RolloutPhase.STOPPED


def _failed(rollout: NodeRollout) -> list[str]:
    from shiplift.api.nodes import NodeState

    states = (NodeState.FAILED, NodeState.QUARANTINED)
    return [one.name for one in rollout.status.nodes if one.state in states]


def _is_seen(client: Client, rollout: NodeRollout) -> bool:
    """Whether the operator has seen the pause, and nothing that failed is left: no node, and no order of what
    was to be done before."""
    from shiplift.facts.kinds import NODE

    seen = rollout.status.observed_generation >= rollout.metadata.generation
    return seen and not _failed(rollout) and not any(_has_errand(rollout, one) for one in client.list(NODE))


def _has_errand(rollout: NodeRollout, node: dict[str, Any]) -> bool:
    """Whether an order of the rollout is on a node that it has no record of."""
    from shiplift.agent.protocol import ProtocolError, order_of

    about = node["metadata"]
    if about["uid"] in {one.uid for one in rollout.status.nodes}:
        return False
    try:
        order = order_of(about.get("annotations") or {})
    except ProtocolError:
        return False
    return order is not None and order.token.rollout == rollout.metadata.uid


def _read(client: Client, name: str) -> NodeRollout:
    from shiplift.facts.kinds import NODE_ROLLOUT

    found: Iterable[NodeRollout] = access.objects(client, NODE_ROLLOUT)
    rollout = next((one for one in found if one.metadata.name == name), None)
    if rollout is None:
        raise CommandError(f"NodeRollout {name} is gone", "somebody has deleted it")
    return rollout


def _pause(client: Client, rollout: NodeRollout, *, paused: bool) -> None:
    from shiplift.facts.kinds import NODE_ROLLOUT

    about = rollout.metadata
    client.patch(NODE_ROLLOUT, about.name, {"spec": {"paused": paused}}, uid=about.uid)
