"""What is worth an Event, and in which words.

On the NodeRollout: it began, a pass began, it cannot go on by itself, it can again, it ended. On a Node: it
was begun, drained, changed, it failed, is quarantined, was given back; and that its drain is blocked, once it
has been for a while: that a budget makes a drain wait for a moment is everyday. Nothing else: how far things
are stands in the status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.nodes import NodeRolloutStatus, NodeState, NodeStatus, RolloutPhase
from shiplift.api.values import ConditionStatus
from shiplift.nodes.model import PASSES, Reason, kept


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


class OnNode(NamedTuple):
    """An Event on that node."""

    name: str
    uid: str
    told: Happening


_ENDS: dict[RolloutPhase | None, str] = {RolloutPhase.COMPLETE: "Complete", RolloutPhase.ABORTED: "Aborted"}
_BY_ITSELF = (Reason.PAUSED, Reason.WINDOW_CLOSED, Reason.SOAKING, Reason.STALE_VIEW, Reason.ABORTING)
"""Nothing is wrong: somebody wants it so, or it passes."""
_BLOCKED = (Reason.DRAIN_BLOCKED, Reason.DRAIN_TIMED_OUT)
_FAILED = (NodeState.FAILED, NodeState.QUARANTINED, NodeState.REVERTING)
_BEFORE_CHANGE = (NodeState.WAITING, NodeState.CORDONED, NodeState.DRAINING)
_CHANGED = (NodeState.VERIFYING, NodeState.SOAKING)


def of_rollout(before: NodeRolloutStatus, after: NodeRolloutStatus) -> Iterator[Happening]:
    """What has happened to a rollout between two statuses that were written."""
    if after.phase is not before.phase and (end := _ENDS.get(after.phase)):
        yield Happening(end, after.message, warning=after.phase is RolloutPhase.ABORTED)
        return
    if after.start_time is not None and before.start_time is None:
        yield Happening("Started", f"the first of {after.progress.total} nodes is begun")
    if after.running_pass is not None and after.running_pass is not before.running_pass:
        yield Happening("PassStarted", f"pass {after.running_pass}: {PASSES[after.running_pass]}")
    was, now = _why(before), _why(after)
    if now and now != was:
        yield Happening(now, after.message, warning=now not in _BY_ITSELF)
    elif was and not now and after.phase is RolloutPhase.RUNNING:
        yield Happening("GoesOn", "nothing has to happen first any more: it goes on by itself")


def _why(status: NodeRolloutStatus) -> str:
    """In one word why it does not go on by itself; empty where it does."""
    said = {one.type: one.reason for one in status.conditions if one.status is ConditionStatus.TRUE}
    if stalled := said.get("Stalled"):
        return stalled
    reason = said.get("Reconciling", "")
    return reason if reason in (*_BY_ITSELF, Reason.AGENT_UNHEARD) else ""


def of_nodes(rollout: str, before: NodeRolloutStatus, after: NodeRolloutStatus) -> Iterator[OnNode]:
    """What has happened to the nodes of a rollout."""
    was, now = ({one.uid: one for one in status.nodes} for status in (before, after))
    for uid, one in now.items():
        if (told := _of_record(rollout, was.get(uid), one)) is not None:
            yield OnNode(one.name, uid, told)
    for uid, one in was.items():
        if uid not in now and not (one.token is None and one.reason in _BLOCKED):
            yield OnNode(one.name, uid, _gone(rollout, one))


class _Turn(NamedTuple):
    """A record that was written: as it was before, where it was, and as it is."""

    rollout: str
    was: NodeStatus | None
    now: NodeStatus

    @property
    def note(self) -> str:
        return f"NodeRollout {self.rollout}: {self.now.message or self.now.reason or self.now.state}"


def _of_record(rollout: str, was: NodeStatus | None, now: NodeStatus) -> Happening | None:
    if was is not None and (was.state, was.reason) == (now.state, now.reason):
        return None
    turn = _Turn(rollout, was, now)
    return next(filter(None, (tell(turn) for tell in _TELLING)), None)


def _failed(turn: _Turn) -> Happening | None:
    now = turn.now
    return Happening(now.reason or now.state.value, turn.note, warning=True) if now.state in _FAILED else None


def _skipped(turn: _Turn) -> Happening | None:
    now = turn.now
    return Happening(now.reason or "Skipped", turn.note) if now.state is NodeState.SKIPPED else None


def _begun(turn: _Turn) -> Happening | None:
    note = f"NodeRollout {turn.rollout}: its turn has come"
    return Happening("RolloutBegun", note) if turn.was is None else None


def _drained(turn: _Turn) -> Happening | None:
    drained = turn.now.state is NodeState.CHANGING and turn.was and turn.was.state in _BEFORE_CHANGE
    note = f"NodeRollout {turn.rollout}: it is empty, and its agent may change it"
    return Happening("Drained", note) if drained else None


def _changed(turn: _Turn) -> Happening | None:
    """From the soak a node may come back to be looked at again: that is no change."""
    changed = turn.now.state is NodeState.VERIFYING and turn.was and turn.was.state not in _CHANGED
    note = f"NodeRollout {turn.rollout}: its agent is through, and what it says is looked at"
    return Happening("Changed", note) if changed else None


def _unheard(turn: _Turn) -> Happening | None:
    unheard = turn.now.reason == Reason.AGENT_UNHEARD
    return Happening(Reason.AGENT_UNHEARD, turn.note, warning=True) if unheard else None


_TELLING = (_failed, _skipped, _begun, _drained, _changed, _unheard)


def blocked(rollout: str, record: NodeStatus) -> Happening | None:
    """That the drain of a node is blocked: the first pod that stays, and what keeps it."""
    reason = record.reason or ""
    if reason not in _BLOCKED:
        return None
    if not record.blockers:
        return Happening(reason, f"NodeRollout {rollout}: {record.message}", warning=True)
    first, more = record.blockers[0], len(record.blockers) - 1
    others = f", and {more} more" if more else ""
    return Happening(reason, f"NodeRollout {rollout}: {kept(first)}{others}", warning=True)


def _gone(rollout: str, was: NodeStatus) -> Happening:
    if was.state in _CHANGED:
        return Happening("RolledOut", f"NodeRollout {rollout}: it runs what it should, and takes pods again")
    return Happening("GivenBack", f"NodeRollout {rollout}: it is given back")
