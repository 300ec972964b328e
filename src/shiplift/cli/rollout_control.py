"""`shiplift pause|resume|abort rollout/NAME`: a person takes one NodeRollout in hand.

Each may be said twice: what is so already is left as it is. Nothing is written but the spec of the
NodeRollout, by its uid and in the version that was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiplift.cli import access, rollout_retry
from shiplift.cli.confirming import confirm
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.nodes import NodeRollout
    from shiplift.kube.client import Client

_TRIES = 10
_WATCH = "shiplift status -w shows how it goes"


def named(what: str) -> str:
    """The name in `rollout/NAME`."""
    from shiplift.nodes.names import ROLLOUT_WORDS

    kind, _, name = what.partition("/")
    if kind.lower() not in ROLLOUT_WORDS or not name:
        raise CommandError(
            f"{what!r} is nothing that can be paused, resumed or aborted",
            "rollout/NAME is a NodeRollout, wm the move of workloads; without a name it is the upgrade,"
            " or the move of workloads where no upgrade is under way",
        )
    return name


def pause(client: Client, what: str) -> None:
    rollout = _rollout(client, named(what))
    _refuse_aborted(rollout, "there is nothing to pause")
    if not _write(client, rollout, "paused", value=True):
        return say("it was paused already")
    name = rollout.metadata.name
    say(f"paused: nodes in flight{_in_flight(rollout)} are finished; no more are begun")
    return say(f"hint: shiplift resume rollout/{name} goes on, and tries again what has failed")


def resume(client: Client, what: str) -> None:
    rollout = _rollout(client, named(what))
    _refuse_aborted(rollout, "it is not paused")
    if rollout.spec.paused:
        _write(client, rollout, "paused", value=False)
        say("resumed: nodes are begun again as their turn comes")
        return say(f"hint: {_WATCH}")
    return rollout_retry.try_again(client, rollout)


def abort(client: Client, what: str, *, yes: bool) -> None:
    rollout = _rollout(client, named(what))
    if rollout.spec.abort:
        return say("it was aborted already")
    if not yes:
        done, name = rollout.status.progress, rollout.metadata.name
        refused = CommandError("not aborted", "only y or yes aborts")
        question = f"abort NodeRollout {name}? {done.done} of {done.total} nodes run what they should"
        confirm(question, f"shiplift abort rollout/{name} --yes", refused)
    _write(client, rollout, "abort", value=True)
    say("aborted: agents that have begun finish first, then all nodes are given back as they are")
    return say(f"hint: {_WATCH}")


def _rollout(client: Client, name: str) -> NodeRollout:
    """As it is now; an error that names the others where there is none of that name."""
    from shiplift.facts.kinds import NODE_ROLLOUT

    found: dict[str, NodeRollout] = {one.metadata.name: one for one in access.objects(client, NODE_ROLLOUT)}
    if name in found:
        return found[name]
    there = ", ".join(sorted(found)[:5]) or "none"
    raise CommandError(f"there is no NodeRollout {name}", f"NodeRollouts that there are: {there}")


def _refuse_aborted(rollout: NodeRollout, so: str) -> None:
    if rollout.spec.abort:
        raise CommandError(
            f"NodeRollout {rollout.metadata.name} is aborted: {so}", "make a new NodeRollout to go on"
        )


def _write(client: Client, rollout: NodeRollout, field: str, *, value: bool) -> bool:
    """Whether the spec had to be changed. The operator writes to the object all the time: look again then."""
    from shiplift.facts.kinds import NODE_ROLLOUT
    from shiplift.kube.errors import Conflict

    for _ in range(_TRIES):
        if getattr(rollout.spec, field) is value:
            return False
        about, patch = rollout.metadata, {"spec": {field: value}}
        try:
            client.patch(
                NODE_ROLLOUT, about.name, patch, uid=about.uid, resource_version=about.resource_version
            )
        except Conflict:
            rollout = _rollout(client, about.name)
        else:
            return True
    raise CommandError(f"NodeRollout {rollout.metadata.name} changes all the time", "try again")


def _in_flight(rollout: NodeRollout) -> str:
    from shiplift.api.nodes import NodeState

    rest = (NodeState.WAITING, NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED)
    names = [one.name for one in rollout.status.nodes if one.state not in rest]
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f" ({names[0]}{more})" if names else ""
