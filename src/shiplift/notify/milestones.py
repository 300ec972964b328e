"""What of an upgrade is worth telling, from its status alone: each milestone with the time at which it came.

So whoever leads next finds the same milestones, with the same names, and tells those that are later than
what was told last. How far things are between two of them stands in the status."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import msgspec

from shiplift.api.upgrade import HistoryEntry, UpgradeConfig, UpgradePhase, UpgradeType
from shiplift.api.values import Condition, ConditionStatus
from shiplift.facts.kinds import UPGRADE_CONFIG

STEPS = (
    "ControlPlaneUpgraded",
    "NodesUpgraded",
    "WorkloadsMoved",
    "ServicesUpgraded",
    "OperatorsUpgraded",
    "Checked",
)
_NEEDS_APPROVAL, _APPROVAL = "NeedsApproval", "approval-needed"
_ENDS = {UpgradePhase.UPGRADED: "upgraded", UpgradePhase.FAILED: "failed"}
_TYPE = "dev.shiplift.upgrade"


class Rank(IntEnum):
    """What comes first where several came in one second."""

    APPROVAL = 0
    STARTED = 1
    STEP = 2
    STALLED = 3
    """Somebody has to help, or to approve what is done next."""
    GOES_ON = 4
    ENDED = 5


_RUNNING = (Rank.STARTED, Rank.STEP, Rank.STALLED, Rank.GOES_ON)
"""What is told only while an upgrade runs."""


class Milestone(msgspec.Struct, frozen=True):
    """Something that happened, and when."""

    at: datetime
    rank: Rank
    kind: str
    message: str = ""
    of: HistoryEntry | None = None
    """The upgrade that it is of; None before its start."""
    until: datetime | None = None
    """When the next upgrade began."""

    @property
    def id(self) -> str:
        return f"{_second(self.at)}-{int(self.rank)}-{self.kind}"

    def is_after(self, last: str) -> bool:
        """Whether it came after the one with that id: by what may follow what, where that says it, for a
        new leader's clock may be behind and much may happen in one second; else by time."""
        moment, _, rest = last.partition("-")
        rank = rest.partition("-")[0]
        now = _second(self.at)
        if self.rank is Rank.ENDED:
            return now > moment or (rank in _ranks(*_RUNNING) and self._ran_at(moment))
        if rank in _ranks(Rank.ENDED):
            # what ended was another upgrade
            return now >= moment
        if self.rank is Rank.STEP and rank in _ranks(Rank.STARTED, Rank.STEP):
            return self.id != last
        if self.rank is Rank.STARTED and rank in _ranks(Rank.APPROVAL):
            return True
        return (now, str(int(self.rank))) > (moment, rank)

    def _ran_at(self, moment: str) -> bool:
        """Whether it was this upgrade that ran then, and no later one."""
        begun = self.of.start_time if self.of is not None else None
        if begun is None or moment < _second(begun):
            return False
        return self.until is None or moment < _second(self.until)


def _second(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _ranks(*ranks: Rank) -> tuple[str, ...]:
    return tuple(str(int(one)) for one in ranks)


def milestones(one: UpgradeConfig, last: str) -> tuple[Milestone, ...]:
    """All that came after the one that was told last, in their order. Whoever was never told anything is
    told of what goes on, not of what was."""
    found = sorted(_all(one, last), key=_order)
    return tuple(milestone for milestone in found if not last or milestone.is_after(last))


def _order(one: Milestone) -> tuple[datetime, bool, Rank]:
    """Where one upgrade ends and the next starts in one second, the end comes first."""
    return (one.at, one.rank is not Rank.ENDED, one.rank)


def _all(one: UpgradeConfig, last: str) -> Iterator[Milestone]:
    status = one.status
    if last:
        yield from _ends(one)
    if status.target_version is None:
        yield from _needs_approval(one)
        return
    runs = status.history[0] if status.history else None
    if status.start_time is not None:
        text = f"the upgrade to {status.target_version} starts"
        yield Milestone(status.start_time, Rank.STARTED, "started", text, runs)
    for each in (*_step(one), *_needs_approval(one), *_needs_somebody(one, last)):
        # nothing of an upgrade comes before its start, whatever the clock said
        yield msgspec.structs.replace(each, of=runs, at=max(each.at, status.start_time or each.at))


def _ends(one: UpgradeConfig) -> Iterator[Milestone]:
    """Of all upgrades that are over: the next may have started before anybody looked."""
    began: datetime | None = None
    for entry in one.status.history:
        until, began = began, entry.start_time or began
        if entry.complete_time is None or entry.phase not in _ENDS or entry.start_time is None:
            continue
        kind = _ENDS[entry.phase]
        word = "the cluster was brought to" if kind == "upgraded" else "the upgrade was given up, it went to"
        yield Milestone(entry.complete_time, Rank.ENDED, kind, f"{word} {entry.version}", entry, until)


def _step(one: UpgradeConfig) -> Iterator[Milestone]:
    """Whose turn it is where somebody else changes nodes; else the step that is under way."""
    turn = one.status.turn
    if turn is not None:
        pools = f" (pools {', '.join(turn.pools)})" if turn.pools else ""
        yield Milestone(turn.since, Rank.STEP, f"turn-{turn.of.lower()}", f"{turn.of.words}{pools}")
        return
    if one.spec.type is UpgradeType.EXTERNAL:
        return
    for said in one.status.conditions:
        if said.type in STEPS and said.status is ConditionStatus.FALSE:
            yield Milestone(said.last_transition_time, Rank.STEP, f"step-{said.type.lower()}", said.message)


def _needs_approval(one: UpgradeConfig) -> Iterator[Milestone]:
    """Before the start a plan is told once it is made; half-way, once a step waits for somebody to approve it
    anew, whatever the plan is then."""
    status = one.status
    if status.reason != _NEEDS_APPROVAL:
        return
    if status.target_version is None:
        if status.plan is not None and status.plan.creation_time is not None:
            yield Milestone(status.plan.creation_time, Rank.APPROVAL, _APPROVAL, status.message)
        return
    for said in status.conditions:
        if said.type == "Approved" and said.status is ConditionStatus.FALSE:
            yield Milestone(said.last_transition_time, Rank.STALLED, _APPROVAL, status.message)


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
            "from": milestone.of.preceding_version if milestone.of else status.current_version,
            "to": milestone.of.version if milestone.of else one.spec.desired.version,
            "nodes": {"done": status.nodes.done, "total": status.nodes.total},
            "workloads": {"done": status.workloads.done, "total": status.workloads.total},
            "turn": status.turn.of if status.turn else None,
            "pools": list(status.turn.pools) if status.turn else [],
        },
    }
