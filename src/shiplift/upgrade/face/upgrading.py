"""What a person wants to know of the upgrade at one moment, all of it from the UpgradeConfig.

Every text that others wrote is one line of printable characters here. Times are seconds from now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.upgrade import Severity, UpgradeConfig, UpgradePhase
from shiplift.api.values import Condition, ConditionStatus
from shiplift.engine import versions
from shiplift.upgrade.model import Reason, Stage
from shiplift.view.section import Arrival
from shiplift.view.values import Eta, Heard, Share, ago, plain

RUN_ONE = "`shiplift operator` runs one"
_STAGES = (
    Stage.CONTROL_PLANE,
    Stage.NODES,
    Stage.WORKLOADS,
    Stage.SERVICES,
    Stage.OPERATORS,
    Stage.CHECKED,
)
_NAMES = {
    Stage.CONTROL_PLANE: "control plane",
    Stage.NODES: "nodes",
    Stage.WORKLOADS: "workloads",
    Stage.SERVICES: "quorum services",
    Stage.OPERATORS: "operators",
    Stage.CHECKED: "checks",
}


class UpgradeView(msgspec.Struct, frozen=True):
    """The upgrade."""

    phase: str
    came_from: str
    target: str
    message: str
    seconds: int | None
    """For how long it has run, or how long it took."""
    eta: Eta | None
    nodes: Share
    steps: tuple[tuple[str, bool], ...]
    """The steps that were begun, and whether each is over."""
    findings: tuple[str, ...]
    plan: str
    digest: str
    stalled: str
    arrival: Arrival
    hints: tuple[str, ...] = ()


def upgrade_view(found: Sequence[UpgradeConfig], now: int, heard: Heard | None) -> UpgradeView | None:
    """What there is to tell; None without an UpgradeConfig."""
    if not found:
        return None
    one = found[0]
    status = one.status
    last = status.history[0] if status.history else None
    runs = status.target_version is not None
    over = last is not None and not runs and versions.goal(last.version) == wanted(one)
    planned = not over and not one.spec.abort
    return UpgradeView(
        phase=_phase(one),
        came_from=_came_from(one, told=runs or over),
        target=status.target_version or wanted(one),
        message="" if _unheard(one) else plain(status.message),
        seconds=_elapsed(one, now, over=over),
        eta=Eta.of(status.eta, now) if status.eta else None,
        nodes=Share.of(status.nodes),
        steps=_steps(status.conditions) if runs else (),
        findings=tuple(
            plain(f"{one.code} ({one.severity.value}): {one.message}")
            for one in status.findings
            if planned and not runs and one.severity is not Severity.INFO
        ),
        plan=plain(status.plan.summary) if status.plan and planned else "",
        digest=status.plan.digest if status.plan else "",
        stalled=plain(_stalled(one)),
        arrival=_arrival(one),
        hints=tuple(_hints(one, now, heard)),
    )


def _came_from(one: UpgradeConfig, *, told: bool) -> str:
    """What it ran before the upgrade that runs, or was the last; else what it runs now."""
    last = one.status.history[0] if told and one.status.history else None
    return (last.preceding_version if last else None) or one.status.current_version or ""


def wanted(one: UpgradeConfig) -> str:
    return versions.goal(one.spec.desired.version or "")


def _phase(one: UpgradeConfig) -> str:
    """One word for where it is; what was asked for and nobody has seen yet is said as well."""
    status = one.status
    if one.metadata.deletion_timestamp:
        return "being deleted"
    if one.spec.abort and status.reason != Reason.ABORTED:
        return "aborting"
    if status.reason in (Reason.ABORTED, Reason.PAUSED):
        return str(status.reason).lower()
    return status.phase.value.lower() if status.phase else "not begun"


def _unheard(one: UpgradeConfig) -> bool:
    """Whether it was aborted, and the operator has not said anything since: what it said before is over."""
    return one.spec.abort and one.status.observed_generation < one.metadata.generation


def _elapsed(one: UpgradeConfig, now: int, *, over: bool) -> int | None:
    status = one.status
    if status.target_version is not None:
        return ago(status.start_time, now)
    last = status.history[0] if over else None
    return ago(last.start_time, int(last.complete_time.timestamp())) if last and last.complete_time else None


def _steps(said: Iterable[Condition]) -> tuple[tuple[str, bool], ...]:
    had_work = [one for one in said if one.reason != Reason.NOTHING_TO_DO]
    by_type = {one.type: one.status is ConditionStatus.TRUE for one in had_work}
    return tuple((_NAMES[stage], by_type[stage]) for stage in _STAGES if stage in by_type)


def _stalled(one: UpgradeConfig) -> str:
    if _unheard(one):
        return ""
    true = (each for each in one.status.conditions if each.status is ConditionStatus.TRUE)
    found = next((each for each in true if each.type == "Stalled"), None)
    return (found.message or found.reason) if found else _resting(one)


def _resting(one: UpgradeConfig) -> str:
    """What only somebody can change, and nothing is wrong."""
    if one.status.reason in (Reason.NEEDS_APPROVAL, Reason.PAUSED):
        return one.status.message
    return ""


def _arrival(one: UpgradeConfig) -> Arrival:
    status, about = one.status, one.metadata
    if about.deletion_timestamp is not None or status.reason == Reason.ABORTED:
        return Arrival.GIVEN_UP
    seen = status.observed_generation >= about.generation
    return Arrival.MOVED if seen and status.phase is UpgradePhase.UPGRADED else Arrival.NOT_YET


def _hints(one: UpgradeConfig, now: int, heard: Heard | None) -> Iterable[str]:
    status = one.status
    silent = heard is not None and heard.silent(now) is not None
    if silent and one.spec.abort:
        yield f"an operator that runs again ends it, and {RUN_ONE}; `shiplift undo` does without"
    elif silent:
        yield f"nothing happens until an operator runs again; {RUN_ONE} from here"
    elif not status.observed_generation:
        yield f"no operator with the layer upgrade has looked at it yet; {RUN_ONE}"
    elif status.observed_generation < one.metadata.generation:
        yield "the operator has not seen the last change of the spec yet"


def changes(before: UpgradeView | None, now: UpgradeView) -> list[str]:
    """A line where there is something to tell of the way from one look to the next."""
    if before is not None and (before.phase, before.message) == (now.phase, now.message):
        return []
    return [f"{now.phase}: {now.message}" if now.message else now.phase]
