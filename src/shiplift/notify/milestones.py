"""What of an upgrade is worth telling, from its status alone: each milestone with the time at which it came.

So whoever leads next finds the same milestones, with the same names, and tells those that are later than
what was told last. How far things are between two of them stands in the status."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import msgspec

from shiplift.api.upgrade import UpgradeConfig, UpgradePhase
from shiplift.api.values import Condition, ConditionStatus
from shiplift.facts.kinds import UPGRADE_CONFIG

_STEPS = ("ControlPlaneUpgraded", "NodesUpgraded", "WorkloadsMoved", "Checked")
_NEEDS_APPROVAL = "NeedsApproval"
_ENDS = {UpgradePhase.UPGRADED: "upgraded", UpgradePhase.FAILED: "failed"}
_TYPE = "dev.shiplift.upgrade"


class Rank(IntEnum):
    """What comes first where several came in one second."""

    APPROVAL = 0
    STARTED = 1
    STEP = 2
    STALLED = 3
    GOES_ON = 4
    ENDED = 5


class Milestone(msgspec.Struct, frozen=True):
    """Something that happened, and when."""

    at: datetime
    rank: Rank
    kind: str
    message: str = ""

    @property
    def id(self) -> str:
        return f"{self.at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{int(self.rank)}-{self.kind}"

    def is_after(self, last: str) -> bool:
        """Whether it came after the one with that id."""
        moment, _, rest = last.partition("-")
        rank, _, _ = rest.partition("-")
        return (f"{self.at.astimezone(UTC):%Y%m%dT%H%M%SZ}", str(int(self.rank))) > (moment, rank)


def milestones(one: UpgradeConfig, last: str) -> tuple[Milestone, ...]:
    """All that came after the one that was told last, in their order. Whoever was never told anything is
    told of what goes on, not of what was."""
    found = sorted(_all(one, last), key=lambda milestone: (milestone.at, milestone.rank))
    return tuple(milestone for milestone in found if not last or milestone.is_after(last))


def _all(one: UpgradeConfig, last: str) -> Iterator[Milestone]:
    status = one.status
    if status.reason == _NEEDS_APPROVAL and status.plan is not None and status.plan.creation_time is not None:
        yield Milestone(status.plan.creation_time, Rank.APPROVAL, "approval-needed", status.message)
    if status.target_version is None:
        if last:
            yield from _end(one)
        return
    if status.start_time is not None:
        text = f"the upgrade to {status.target_version} starts"
        yield Milestone(status.start_time, Rank.STARTED, "started", text)
    yield from _step(one)
    yield from _needs_somebody(one, last)


def _end(one: UpgradeConfig) -> Iterator[Milestone]:
    entry = one.status.history[0] if one.status.history else None
    if entry is None or entry.complete_time is None or entry.phase not in _ENDS or entry.start_time is None:
        return
    kind = _ENDS[entry.phase]
    word = "the cluster was brought to" if kind == "upgraded" else "the upgrade was given up, it went to"
    yield Milestone(entry.complete_time, Rank.ENDED, kind, f"{word} {entry.version}")


def _step(one: UpgradeConfig) -> Iterator[Milestone]:
    """Whose turn it is where somebody else changes nodes; else the step that is under way."""
    turn = one.status.turn
    if turn is not None:
        pools = f" (pools {', '.join(turn.pools)})" if turn.pools else ""
        yield Milestone(turn.since, Rank.STEP, f"turn-{turn.of.lower()}", f"{turn.of.words}{pools}")
        return
    for said in one.status.conditions:
        if said.type in _STEPS and said.status is ConditionStatus.FALSE:
            yield Milestone(said.last_transition_time, Rank.STEP, f"step-{said.type.lower()}", said.message)


def _needs_somebody(one: UpgradeConfig, last: str) -> Iterator[Milestone]:
    said = {each.type: each for each in one.status.conditions if each.status is ConditionStatus.TRUE}
    stalled = said.get("Stalled")
    if stalled is not None:
        yield Milestone(stalled.last_transition_time, Rank.STALLED, "stalled", _text(stalled))
    elif last.endswith("-stalled") and (goes := said.get("Reconciling")) is not None:
        yield Milestone(goes.last_transition_time, Rank.GOES_ON, "goes-on", _text(goes))


def _text(said: Condition) -> str:
    return f"{said.reason}: {said.message}" if said.message else said.reason


def event(one: UpgradeConfig, milestone: Milestone) -> dict[str, Any]:
    """A CloudEvent, as a webhook gets it."""
    status, about = one.status, one.metadata
    return {
        "specversion": "1.0",
        "id": f"{about.uid}-{milestone.id}",
        "source": f"/apis/{UPGRADE_CONFIG.api_version}/{UPGRADE_CONFIG.plural}/{about.name}",
        "type": f"{_TYPE}.{milestone.kind}",
        "subject": about.name,
        "time": f"{milestone.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "datacontenttype": "application/json",
        "data": {
            "message": milestone.message[:1000],
            "phase": status.phase,
            "reason": status.reason,
            "from": status.history[0].preceding_version if status.history else None,
            "to": status.target_version or one.spec.desired.version,
            "nodes": {"done": status.nodes.done, "total": status.nodes.total},
            "workloads": {"done": status.workloads.done, "total": status.workloads.total},
            "turn": status.turn.of if status.turn else None,
            "pools": list(status.turn.pools) if status.turn else [],
        },
    }
