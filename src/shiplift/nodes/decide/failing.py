"""A node that fails: what it was is put back where that is possible, else it is quarantined and named.

- Nothing was changed on it (its agent never began, or refused): it is given back as it is.
- Its versions from before are of the same minor: its agent puts them back, then it is given back.
- Otherwise it stays cordoned until somebody has looked at it.
What follows is written down first; the steps for it come with the next look.
"""

from __future__ import annotations

import re

import msgspec

from shiplift.agent.protocol import Operation, Token
from shiplift.api.nodes import NodeState, NodeStatus
from shiplift.api.values import SoftwareState
from shiplift.nodes.decide.case import MOST_ATTEMPTS, Case, Passed
from shiplift.nodes.model import Reason

_MINOR = re.compile(r"(?:\d+:)?v?(\d+)\.(\d+)")
FAILED = frozenset((NodeState.FAILED, NodeState.QUARANTINED))


def counts(record: NodeStatus) -> bool:
    """Whether a node counts as failed."""
    return record.state in FAILED or record.state is NodeState.REVERTING or record.reason == Reason.TIMED_OUT


def failed(case: Case, reason: Reason, message: str) -> Passed:
    """A node on which something may have been changed."""
    if case.record.state is NodeState.REVERTING:
        return quarantined(case, reason, f"{message}; its versions from before could not be put back")
    if case.operation is not Operation.PACKAGES:
        return left_alone(case, reason, message)
    if not _same_minor(case.record):
        return quarantined(case, reason, f"{message}; it is not put back across minors")
    return Passed(_back(case, reason, message).record)


def silent(case: Case, message: str) -> Passed:
    """An agent that never began: the node is as it was."""
    if case.record.state is NodeState.REVERTING:
        return quarantined(case, Reason.AGENT_SILENT, message)
    if case.before.down and not case.before.quarantined_by:
        told = f"{message}; it was down before, so that is no failure: it is tried again once it is Ready"
        return Passed(case.to(NodeState.SKIPPED, Reason.DOWN_BEFORE, told).record)
    return left_alone(case, Reason.AGENT_SILENT, message)


def left_alone(case: Case, reason: Reason | str, message: str) -> Passed:
    """It is given back as it is, and named; one that was quarantined before stays so."""
    if case.before.quarantined_by:
        return Passed(case.to(NodeState.QUARANTINED, reason, message).record)
    return Passed(case.to(NodeState.FAILED, reason, message).record)


def quarantined(case: Case, reason: Reason, message: str) -> Passed:
    """It stays cordoned, and named."""
    return Passed(case.to(NodeState.QUARANTINED, reason, message).record)


def _back(case: Case, reason: Reason, message: str) -> Case:
    old = {one.name: one.version for one in case.before.software}
    current = case.member.current
    return next_attempt(case).to(
        NodeState.REVERTING,
        reason,
        message,
        software=tuple(
            SoftwareState(name=name, desired=version, current=current.get(name, "")[:256])
            for name, version in old.items()
        ),
    )


def next_attempt(case: Case) -> Case:
    """The same operation under another number: an agent is asked once for each."""
    attempt = min(case.record.attempt + 1, MOST_ATTEMPTS)
    token = Token(case.rollout.metadata.uid, case.record.uid, case.operation, attempt)
    record = msgspec.structs.replace(case.record, attempt=attempt, token=str(token), claimed=False)
    return msgspec.structs.replace(case, record=record)


def _same_minor(record: NodeStatus) -> bool:
    """Whether all that was changed can be put back: each package was there, in the same minor."""
    old = {one.name: one.version for one in record.before.software} if record.before else {}
    wanted = {one.name: one.desired for one in record.software}
    return bool(old) and all(
        name in old and (minor := _minor(old[name])) is not None and minor == _minor(version)
        for name, version in wanted.items()
    )


def _minor(version: str) -> tuple[str, str] | None:
    found = _MINOR.match(version)
    return (found[1], found[2]) if found else None
