"""What happened to an upgrade as a whole: its own words, those of its NodeRollouts and of the
WorkloadMigration.

Who asked for what, which step is over, what it waits for and why; each wait under the name of what waited.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.api.upgrade import Request, UpgradeConfig, UpgradeTurn
from shiplift.api.values import Condition, ConditionStatus
from shiplift.api.windows import to_the_minute
from shiplift.api.workloads import MigrationState, OrderException, WorkloadMigration
from shiplift.journal.model import MOST_ENTRIES, MOST_EXCEPTIONS, Chapter, Exempt, Wait
from shiplift.journal.tale import Tale, short

_STEPS = {
    "ControlPlaneUpgraded": "the control plane is upgraded",
    "NodesUpgraded": "the nodes are upgraded",
    "WorkloadsMoved": "the workloads have moved",
    "ServicesUpgraded": "the quorum services are what they ask for",
    "OperatorsUpgraded": "the operators are what they ask for",
    "Checked": "every node was looked at once more",
}
_RESTS = frozenset({"Paused", "PolicyLost", "WindowClosed", "NeedsApproval", "WaitingForNodes"})
"""Reasons for which nothing goes on though nothing is wrong."""
_PHASES = {
    RolloutPhase.RUNNING: "runs",
    RolloutPhase.STOPPED: "has stopped",
    RolloutPhase.ABORTED: "was aborted",
    RolloutPhase.COMPLETE: "is complete",
}


class _Spoken(Protocol):
    """A status that has conditions."""

    @property
    def conditions(self) -> tuple[Condition, ...]: ...


def _approved(one: UpgradeConfig) -> str:
    """Who approved the plan that runs before it started; a later approval is told as what was asked for."""
    granted, plan, start = one.spec.approved, one.status.plan, one.status.start_time
    if granted is None or plan is None or start is None or granted.plan_digest != plan.digest:
        return ""
    if granted.at is not None and granted.at > start:
        return ""
    when = f" at {to_the_minute(granted.at)}" if granted.at else ""
    why = f": {granted.reason}" if granted.reason else ""
    return f"the plan was approved by {granted.by}{when}{why}"


class CourseStory:
    """The chapter as a whole; from one thread."""

    def __init__(self, told: Chapter) -> None:
        # a request from before is not news; one of which nobody told since is
        self._since = told.seen or told.start
        self._tale = Tale(told.entries, most=MOST_ENTRIES)
        self._waits: dict[str, Tale] = {}
        for one in told.waits:
            self._waits.setdefault(one.about, Tale(waits=[w for w in told.waits if w.about == one.about]))
        self._exceptions = list(told.exceptions)
        self._said: dict[str, object] = {}
        self._unsaid = 0

    @property
    def told(self) -> Tale:
        return self._tale

    @property
    def waits(self) -> tuple[Wait, ...]:
        found = [wait for tale in self._waits.values() for wait in tale.waits]
        return tuple(sorted(found, key=lambda one: one.start))

    @property
    def exceptions(self) -> tuple[Exempt, ...]:
        return tuple(self._exceptions)

    @property
    def left_out(self) -> int:
        """Entries and waits that there was no room for."""
        return self._tale.more + sum(one.more for one in self._waits.values())

    @property
    def exceptions_left_out(self) -> int:
        return self._unsaid

    def upgrade(self, at: datetime, one: UpgradeConfig) -> None:
        status, about = one.status, "the upgrade"
        self._once(at, "approval", _approved(one))
        self._once(at, "message of start", status.message if status.reason == "Starting" else "")
        for said in status.conditions:
            had_work = said.reason != "NothingToDo"
            if said.type in _STEPS and said.status is ConditionStatus.TRUE and had_work:
                self._once(at, said.type, _STEPS[said.type])
        for asked in one.spec.requests:
            self._asked(at, asked)
        if status.turn is not None:
            self._once(at, "turn", _turn(status.turn))
        self._waited(at, about, _why(status, status.reason or ""), status.message)

    def rollout(self, at: datetime, one: NodeRollout) -> None:
        status, about = one.status, f"NodeRollout {one.metadata.name}"
        if status.phase is not None and status.phase in _PHASES:
            self._once(at, about, f"{about} {_PHASES[status.phase]}")
        self._waited(at, about, _why(status), status.message)

    def migration(self, at: datetime, one: WorkloadMigration) -> None:
        status, about = one.status, f"WorkloadMigration {one.metadata.name}"
        moving = status.state is MigrationState.UPGRADE
        if moving:
            self._once(at, about, f"workloads are moved to nodes of {status.target}")
        for exempt in status.exceptions:
            self._exempt(exempt)
        self._waited(at, about, (_why(status) or "Needs") if moving and status.needs else "", status.needs)

    def gone(self, at: datetime, about: str) -> None:
        """An object is there no more."""
        self._said.pop(about, None)
        self._waited(at, about, "", "")

    def _once(self, at: datetime, about: str, text: str) -> None:
        if text and self._said.get(about) != text:
            self._said[about] = text
            if all(one.text != short(text) for one in self._tale.entries):
                self._tale.tell(at, text)

    def _asked(self, at: datetime, one: Request) -> None:
        when = one.at
        if when is None or when < self._since:
            return
        why = f": {one.reason}" if one.reason else ""
        self._once(at, f"request {one.verb} {when}", f"{one.verb.lower()}, asked for by {one.by}{why}")

    def _waited(self, at: datetime, about: str, reason: str, cause: str) -> None:
        if reason:
            self._waits.setdefault(about, Tale()).waits_for(at, reason, cause, about)
        elif about in self._waits:
            self._waits[about].goes_on(at)

    def _exempt(self, one: OrderException) -> None:
        made = Exempt(pod=one.pod, workload=one.workload, reason=one.reason, at=one.at)
        if made in self._exceptions:
            return
        if len(self._exceptions) < MOST_EXCEPTIONS:
            self._exceptions.append(made)
        else:
            self._unsaid += 1


def _turn(turn: UpgradeTurn) -> str:
    pools = f" (pools {', '.join(turn.pools)})" if turn.pools else ""
    return f"{turn.of.words}{pools}, since {turn.since:%H:%M:%S}"


def _why(status: _Spoken, reason: str = "") -> str:
    """In one word what is waited for; empty where it goes on by itself."""
    true = {one.type: one.reason for one in status.conditions if one.status is ConditionStatus.TRUE}
    said = true.get("Stalled") or reason or true.get("Reconciling", "")
    return said if "Stalled" in true or said in _RESTS else ""
