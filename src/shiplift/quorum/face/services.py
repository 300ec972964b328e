"""What a person wants to know of quorum services at one moment, all of it from the QuorumServices.

Every text that others wrote is one line of printable characters here. Times are seconds from now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.quorum import Member, MemberState, QuorumService, QuorumStep
from shiplift.api.values import Condition, ConditionStatus
from shiplift.view.section import Arrival
from shiplift.view.values import Heard, Share, ago, plain

STEPS = {
    QuorumStep.IDLE: "at rest",
    QuorumStep.VALIDATE: "step 1 of 5: the image is validated",
    QuorumStep.UPDATE_STATEFUL_SETS: "step 2 of 5: StatefulSets get the new image",
    QuorumStep.STAGE: "step 3 of 5: servers fetch the binary",
    QuorumStep.SWITCH: "step 4 of 5: all servers switch",
    QuorumStep.RECREATE_PODS: "step 5 of 5: pods are made anew",
}
_WORST = (MemberState.UNKNOWN, MemberState.OLD, MemberState.STAGED, MemberState.NEW, MemberState.RECREATED)
"""Who is furthest from the end comes first."""


class ServerLine(msgspec.Struct, frozen=True):
    """One server."""

    pod: str
    state: MemberState
    version: str
    message: str


class ServiceView(msgspec.Struct, frozen=True):
    """One service."""

    namespace: str
    name: str
    step: str
    reason: str
    message: str
    current: str
    target: str
    image: str
    servers: Share
    lines: tuple[ServerLine, ...]
    stalled: str
    verified: str
    """What is known of the image."""
    seconds: int | None
    """For how long it has been ready, or not."""
    switched: int | None
    """How long ago servers were last switched."""
    arrival: Arrival
    hints: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


class ServicesView(msgspec.Struct, frozen=True):
    """All services, those that are under way first."""

    services: tuple[ServiceView, ...]

    @property
    def arrival(self) -> Arrival:
        moved = all(one.arrival is Arrival.MOVED for one in self.services)
        return Arrival.MOVED if moved else Arrival.NOT_YET

    @property
    def stalled(self) -> str:
        return next((f"{one.full_name}: {one.stalled}" for one in self.services if one.stalled), "")


def services_view(found: Sequence[QuorumService], now: int, heard: Heard | None) -> ServicesView | None:
    """What there is to tell; None without a service."""
    if not found:
        return None
    silent = heard is not None and heard.silent(now) is not None
    views = [service_view(one, now, silent=silent) for one in found]
    return ServicesView(tuple(sorted(views, key=lambda one: (one.arrival is Arrival.MOVED, one.full_name))))


def service_view(service: QuorumService, now: int, *, silent: bool = False) -> ServiceView:
    about, status = service.metadata, service.status
    ready = _condition(service, "Ready")
    stalled = _true(service, "Stalled")
    verified = _condition(service, "ImageVerified")
    return ServiceView(
        namespace=about.namespace,
        name=about.name,
        step=STEPS[status.step],
        reason=status.reason or "",
        message=plain(status.message),
        current=plain(status.current_version),
        target=plain(status.target_version),
        image=service.spec.image,
        servers=Share.of(status.progress),
        lines=_lines(status.members),
        stalled=plain(stalled.message or stalled.reason) if stalled else "",
        verified=plain(verified.message) if verified else "",
        seconds=ago(ready.last_transition_time, now) if ready else None,
        switched=ago(status.switch_time, now),
        arrival=_arrival(service),
        hints=tuple(_hints(service, silent=silent)),
    )


def _arrival(service: QuorumService) -> Arrival:
    about, status = service.metadata, service.status
    seen = status.observed_generation >= about.generation and about.deletion_timestamp is None
    ready = _true(service, "Ready")
    return Arrival.MOVED if seen and ready is not None else Arrival.NOT_YET


def _condition(service: QuorumService, name: str) -> Condition | None:
    return next((one for one in service.status.conditions if one.type == name), None)


def _true(service: QuorumService, name: str) -> Condition | None:
    found = _condition(service, name)
    return found if found is not None and found.status is ConditionStatus.TRUE else None


def _lines(members: Iterable[Member]) -> tuple[ServerLine, ...]:
    lines = [ServerLine(one.pod, one.state, plain(one.version), plain(one.message)) for one in members]
    return tuple(sorted(lines, key=lambda one: (_WORST.index(one.state), one.pod)))


def _hints(service: QuorumService, *, silent: bool) -> Iterable[str]:
    about, status = service.metadata, service.status
    if silent:
        yield "nothing happens until an operator runs again; `shiplift operator` runs one from here"
    elif not status.observed_generation:
        yield "no operator has looked at it yet; `shiplift operator --layers quorum` runs one"
    elif status.observed_generation < about.generation:
        yield "the operator has not seen the last change of the spec yet"
    if service.spec.paused:
        yield "it is paused: set spec.paused of the QuorumService to false to go on"
    if status.refused:
        yield "all is as it was; a change of the spec (or paused and back) tries again"


def changes(before: ServicesView | None, now: ServicesView) -> list[str]:
    """A line for each thing to tell of the way from one look to the next."""
    then = {one.full_name: one for one in before.services} if before else {}
    return [
        f"{one.full_name} {one.step}, {one.servers} servers: {one.message}"
        for one in now.services
        if _told(then.get(one.full_name)) != _told(one)
    ]


def _told(view: ServiceView | None) -> object:
    return (view.step, view.reason, view.servers) if view else None
