"""QuorumServices and AppTypes, as far as an upgrade goes: whether each is as its own layer wants it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiplift.api.base import ObjectMeta
from shiplift.api.marks import MANAGED_BY, MANAGER, UPGRADE_HOLD
from shiplift.api.operators import AppType
from shiplift.api.quorum import QuorumService, QuorumStep
from shiplift.api.values import Condition, ConditionStatus, Status
from shiplift.facts.kinds import APP_TYPE, QUORUM_SERVICE
from shiplift.kube.store import Snapshot
from shiplift.upgrade.model import Later

_NOT_BEGUN = (QuorumStep.IDLE, QuorumStep.VALIDATE)
_UP_TO_DATE = "UpToDate"
_GOES_ON = frozenset({"Paused", "Turn", "Making", "Upgrading", "GoingBack", "StaleView"})
"""Why an operator is not up to date that comes to be so by itself: what waits for its user does not count."""

_UNDER_WAY = frozenset({"Upgrading", "GoingBack"})
"""A version takes over from another: held in the middle of that, neither would run."""


def services(snapshot: Snapshot) -> tuple[Later, ...]:
    return _sorted(service(row.object) for row in snapshot.customs(QUORUM_SERVICE) if not row.deleting)


def apps(snapshot: Snapshot) -> tuple[Later, ...]:
    return _sorted(app(row.object) for row in snapshot.customs(APP_TYPE) if not row.deleting)


def _sorted(those: Iterable[Later]) -> tuple[Later, ...]:
    return tuple(sorted(those, key=lambda one: one.id))


def service(one: QuorumService) -> Later:
    about, status = one.metadata, one.status
    return Later(
        QUORUM_SERVICE,
        about.namespace,
        about.name,
        about.uid,
        wants=one.spec.image,
        held=about.annotations.get(UPGRADE_HOLD, ""),
        paused=one.spec.paused,
        under_way=status.step not in _NOT_BEGUN,
        ready=_is_ready(about, status),
        stalled=_holds(status, "Stalled"),
        message=status.message,
    )


def app(one: AppType) -> Later:
    about, status = one.metadata, one.status
    behind = next(_said(status, _UP_TO_DATE), None)
    goes_on = behind is not None and behind.status is not ConditionStatus.TRUE and behind.reason in _GOES_ON
    return Later(
        APP_TYPE,
        about.namespace,
        about.name,
        about.uid,
        wants=_wanted(one),
        held=about.annotations.get(UPGRADE_HOLD, ""),
        paused=one.spec.paused,
        under_way=behind is not None and behind.reason in _UNDER_WAY,
        ready=_is_ready(about, status) and not goes_on,
        stalled=_holds(status, "Stalled"),
        message=status.message,
    )


def _wanted(one: AppType) -> str:
    """What its user asks for; of one that came with another nobody does."""
    if one.metadata.labels.get(MANAGED_BY) == MANAGER:
        return ""
    spec = one.spec
    which = spec.version or f"the newest{f' of channel {spec.channel}' if spec.channel else ''}"
    return f"{spec.package}, {which}"


def _is_ready(about: ObjectMeta, status: Status) -> bool:
    return status.observed_generation >= about.generation and _holds(status, "Ready")


def _holds(status: Status, condition: str) -> bool:
    return any(one.status is ConditionStatus.TRUE for one in _said(status, condition))


def _said(status: Status, condition: str) -> Iterator[Condition]:
    return (one for one in status.conditions if one.type == condition)
