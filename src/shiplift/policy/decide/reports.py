"""What OCM is told of an upgrade that came from it: its states, in an order that OCM takes.

    scheduled ─▶ started ─▶ delayed ─▶ completed or failed

A state that was missed (the operator was away) is told before the next one; after the last nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from shiplift.api.marks import POLICY_ID, PROVIDER_LABEL
from shiplift.api.upgrade import UpgradeConfig, UpgradePhase
from shiplift.api.values import ConditionStatus
from shiplift.engine import versions
from shiplift.engine.conditions import STALLED
from shiplift.engine.step import Step
from shiplift.outside.letters import Box, Letter
from shiplift.policy.config import Provider, Section
from shiplift.policy.decide import schedule
from shiplift.policy.model import View, config_of, is_of_the_spec, is_running
from shiplift.policy.steps import Deliver, Forget, Put

RECEIVER = Provider.OCM.value
KEPT = timedelta(days=7)
"""So long a report waits for settings that lead to OCM again, where none lead to anybody else: a ConfigMap
that is deleted may be on its way back."""


class State(StrEnum):
    """Of a policy, as OCM names it."""

    STARTED = "started"
    DELAYED = "delayed"
    COMPLETED = "completed"
    FAILED = "failed"


_STATES = frozenset(one.value for one in State)
_ENDS = {UpgradePhase.UPGRADED: State.COMPLETED, UpgradePhase.FAILED: State.FAILED}
NEXT: Mapping[State | None, frozenset[State]] = {
    None: frozenset({State.STARTED}),
    State.STARTED: frozenset({State.DELAYED, State.COMPLETED, State.FAILED}),
    State.DELAYED: frozenset({State.COMPLETED, State.FAILED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
}
"""What may follow what; at first a policy is scheduled, which OCM knows itself."""


class Report(msgspec.Struct, frozen=True):
    """The body of a letter."""

    policy: str
    value: State
    description: str = ""


def steps(view: View, config: Section, now: datetime) -> tuple[Step, ...]:
    """Note what is new, and deliver what was noted."""
    if view.box is None:
        return ()
    if config.provider is not Provider.OCM:
        gone = config.provider is not Provider.LOCAL
        return tuple(Forget(one) for one in view.box.heads if gone or now - one.at >= KEPT)
    letters = new_letters(view, view.box, now)
    put: tuple[Step, ...] = (Put(letters),) if letters else ()
    return (*put, *(Deliver(one) for one in view.box.heads))


def all_noted(view: View, config: Section, now: datetime) -> bool:
    """Whether nothing is to be said of the policy that is applied that was not noted."""
    if config.provider is not Provider.OCM:
        return True
    return view.box is not None and not new_letters(view, view.box, now)


def unreadable(view: View, config: Section) -> str:
    """Why nothing can be reported, and no other policy be followed until that is mended; empty where it
    can."""
    if config.provider is not Provider.OCM or not view.box_trouble:
        return ""
    return f"nothing can be reported to {RECEIVER}, and no later policy is followed: {view.box_trouble}"


def wait(view: View, config: Section, step: Step, now: datetime) -> timedelta:
    """How long a report that OCM could not take has time: as after any other failure, ever longer."""
    last = view.outcomes.of(step)
    if not isinstance(step, Deliver) or last is None or last.ok or last.at is None:
        return timedelta(0)
    pause = schedule.backoff(config.period).delay(last.attempt, view.asking.jitter)
    return max(last.at + pause - now, timedelta(0))


def new_letters(view: View, box: Box, now: datetime) -> tuple[Letter, ...]:
    """What is to be said and was not yet."""
    row = view.current
    if row is None or row.labels.get(PROVIDER_LABEL) != RECEIVER or not row.annotations.get(POLICY_ID):
        return ()
    policy, config = row.annotations[POLICY_ID], config_of(row)
    about = f"{policy}/{versions.goal(config.spec.desired.version or '')}"
    wanted, last = state_of(config), last_state(box, about)
    if wanted is None:
        return ()
    return tuple(_letter(policy, about, one, config, now) for one in way(last, wanted))


def state_of(config: UpgradeConfig) -> State | None:
    """In OCM's words; None before the start: what the status has may be of the upgrade before this one."""
    status, wanted = config.status, versions.goal(config.spec.desired.version or "")
    if is_running(config):
        same = versions.goal(status.target_version or "") == wanted
        stalled = any(one.type == STALLED and one.status is ConditionStatus.TRUE for one in status.conditions)
        return (State.DELAYED if stalled else State.STARTED) if same else None
    last = status.history[0] if status.history else None
    if last is None or not is_of_the_spec(last, config):
        return None
    return _ENDS.get(last.phase)


def last_state(box: Box, about: str) -> State | None:
    """What was last noted of that policy and version: a policy that recurs keeps its id."""
    of, _, state = box.last.get(RECEIVER, "").rpartition("/")
    return State(state) if of == about and state in _STATES else None


def way(last: State | None, wanted: State) -> tuple[State, ...]:
    """The states to tell, in order; none where OCM would not take it."""
    if wanted in NEXT[last]:
        return (wanted,)
    return (State.STARTED, wanted) if last is None else ()


def _letter(policy: str, about: str, state: State, config: UpgradeConfig, now: datetime) -> Letter:
    report = Report(policy, state, config.status.message[:512])
    return Letter(f"{about}/{state}", RECEIVER, now, msgspec.json.encode(report).decode())
