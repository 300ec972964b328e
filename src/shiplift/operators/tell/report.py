"""Statuses from what loops conclude. Pure.

Several loops speak of one object: each states its own condition, and Ready, phase and message are derived
from all of them, whoever speaks last.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from msgspec import structs

from shiplift.api.conditions import stated
from shiplift.api.operators import (
    BrokenPackage,
    CrdFinding,
    Hop,
    OperatorCatalogStatus,
    OperatorPhase,
    Tombstone,
)
from shiplift.api.values import Condition, Progress, Status
from shiplift.engine import conditions
from shiplift.engine.conditions import Statement
from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.operators.catalog.model import Fault
from shiplift.operators.decide import lineage
from shiplift.operators.decide.case import Case
from shiplift.operators.decide.collect import Collected
from shiplift.operators.decide.definitions import findings
from shiplift.operators.decide.install import is_available
from shiplift.operators.decide.successor import Course
from shiplift.operators.decide.taking_over import Taken
from shiplift.operators.model import (
    MOST_GRAVES,
    NEED_SOMEBODY,
    About,
    AppView,
    Line,
    Reason,
    SourceView,
    Told,
)
from shiplift.operators.rows import app_of, catalog_of, is_untouched, version_of

S = TypeVar("S", bound=Status)
_LONGEST = 1000
_MOST_BROKEN = 500
_OF_VERSIONS = (About.COLLECTED, About.INSTALLED, About.PROVIDED, About.HANDED_OVER)
_OF_APP_TYPES = (About.RESOLVED, About.INSTALLED, About.UP_TO_DATE)
_WAITING = frozenset(
    {
        Reason.REQUIREMENTS_NOT_MET,
        Reason.VETOED,
        Reason.NO_PAYLOAD,
        Reason.PAUSED,
        Reason.CHECKING_CRDS,
        Reason.CHECKING_RIGHTS,
        Reason.HOOK_RUNNING,
        Reason.HOOK_FAILED,
        Reason.STORING_ANEW,
    }
)
"""Nothing was begun yet."""


def short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def statement(about: str, line: Line) -> Statement:
    return Statement(about, line.holds, line.reason, short(line.message), line.reason in NEED_SOMEBODY)


def _merged(
    before: Iterable[Condition], statements: Iterable[Statement], kinds: tuple[str, ...]
) -> dict[str, Statement]:
    """What every loop says now, in order: of those that do not speak, what they said last."""
    said = {one.type: _read(one) for one in before if one.type in kinds}
    said |= {one.type: one for one in statements}
    return {kind: said[kind] for kind in kinds if kind in said}


def _read(one: Condition) -> Statement:
    try:
        reason = Reason(one.reason)
    except ValueError:  # told by an older or newer release
        reason = Reason.STALE_VIEW
    return Statement(one.type, Holds(one.status.value), reason, one.message, reason in NEED_SOMEBODY)


def _kstatus(parts: Iterable[Statement], healthy: Statement | None) -> tuple[Statement, ...]:
    """The first part that does not hold gives the reason, one that needs somebody before all others."""
    wrong = [one for one in parts if one.status is not Holds.TRUE]
    stuck = [one for one in wrong if one.stalled]
    for build, found in ((conditions.stalled, stuck), (conditions.reconciling, wrong)):
        if found:
            return build(found[0].reason, found[0].message)
    return conditions.ready(healthy.reason, healthy.message) if healthy is not None else ()


# --- versions ---


def version_told(row: Custom, now: datetime, statements: Iterable[Statement], **fields: Any) -> Told:
    """The status of an OperatorVersion after one loop has spoken."""
    before = version_of(row).status
    said = _merged(before.conditions, statements, _OF_VERSIONS)
    return _version_told(row, now, said, **fields)


def _version_told(row: Custom, now: datetime, said: dict[str, Statement], **fields: Any) -> Told:
    before = version_of(row).status
    installed = said.get(About.INSTALLED)
    counted = [one for one in said.values() if _counts(row, one, installed)]
    kstatus = _kstatus(counted, installed)
    main = kstatus[0] if kstatus else None
    status = structs.replace(
        before,
        observed_generation=row.generation,
        conditions=_conditions(row, before, (*kstatus, *said.values()), now, _OF_VERSIONS),
        phase=_phase(row, installed, fields),
        reason=main.reason.value if main else before.reason,
        message=main.message if main else before.message,
        **fields,
    )
    return Told(row, status)


def _counts(row: Custom, one: Statement, installed: Statement | None) -> bool:
    """Whether a condition that does not hold makes the version unready: of one that is replaced while it
    runs, that it is still there does not."""
    match one.type:
        case About.PROVIDED:
            return not _is_installed(installed)
        case About.COLLECTED:
            return bool(row.deleting) or one.stalled
        case _:
            return True


def _is_installed(one: Statement | None) -> bool:
    return one is not None and one.status is Holds.TRUE


def _phase(row: Custom, installed: Statement | None, fields: dict[str, Any]) -> OperatorPhase:
    replaced = fields.get("replaced_by", version_of(row).status.replaced_by)
    if row.deleting:
        return OperatorPhase.DELETING
    if replaced:
        return OperatorPhase.REPLACING
    if installed is None or installed.reason in _WAITING:
        return OperatorPhase.SUCCEEDED if _is_installed(installed) else OperatorPhase.PENDING
    if installed.status is Holds.TRUE:
        return OperatorPhase.SUCCEEDED
    return OperatorPhase.FAILED if installed.stalled else OperatorPhase.INSTALLING


def _conditions(
    row: Custom, before: Status, statements: Iterable[Statement], now: datetime, more: tuple[str, ...]
) -> tuple[Condition, ...]:
    return stated(before.conditions, statements, generation=row.generation, now=now, more=more)


def install_told(row: Custom, now: datetime, line: Line, case: Case) -> Told:
    there = sum(is_available(case, one) for one in case.deployments)
    known = bool(case.view.pieces)
    counts = Progress.of(there, len(case.deployments)) if known else version_of(row).status.deployments
    heir = lineage.heir(case.view.site, row)
    return version_told(
        row,
        now,
        [statement(About.INSTALLED, line)],
        requirements=case.required,
        crd_findings=_findings(row, line, case),
        deployments=counts,
        replaced_by=heir.name if heir is not None else None,
        first_run_time=_first_run(row, line, now),
    )


def _first_run(row: Custom, line: Line, now: datetime) -> datetime | None:
    known = version_of(row).status.first_run_time
    return now.replace(microsecond=0) if known is None and line.holds is Holds.TRUE else known


def _findings(row: Custom, line: Line, case: Case) -> tuple[CrdFinding, ...]:
    """Those of the last check; what is installed has nothing left to be found."""
    if case.view.checked:
        return findings(case.view)[:256]
    return () if line.holds is Holds.TRUE else version_of(row).status.crd_findings


def provided_told(row: Custom, now: datetime, line: Line) -> Told:
    return version_told(row, now, [statement(About.PROVIDED, line)])


def taken_told(row: Custom, now: datetime, taken: Taken) -> Told:
    return version_told(
        row, now, [statement(About.HANDED_OVER, taken.line)], adopted=Progress.of(taken.done, taken.total)
    )


def collected_told(row: Custom, now: datetime, found: Collected) -> Told:
    fields: dict[str, Any] = {"owned": found.owned, "leftovers": tuple(one[:256] for one in found.leftovers)}
    if found.replaced_by:
        fields["replaced_by"] = found.replaced_by
    said = _merged(version_of(row).status.conditions, (), _OF_VERSIONS)
    if found.line.reason is Reason.BEING_REPLACED and not row.deleting:
        said.pop(About.COLLECTED, None)
        return _version_told(row, now, said, **fields)
    return version_told(row, now, [statement(About.COLLECTED, found.line)], **fields)


def kept_told(row: Custom, now: datetime) -> tuple[Told, ...]:
    """Nothing, but where it was said of a version that it goes."""
    said = _merged(version_of(row).status.conditions, (), _OF_VERSIONS)
    if said.pop(About.COLLECTED, None) is None:
        return ()
    return (_version_told(row, now, said),)


# --- AppTypes ---


def app_told(row: Custom, now: datetime, statements: Iterable[Statement], **fields: Any) -> Told:
    """The status of an AppType after one loop has spoken. Whether there is something newer is said beside
    Ready: an operator that waits for an approval runs well."""
    before = app_of(row).status
    said = _merged(before.conditions, statements, _OF_APP_TYPES)
    parts = [one for one in said.values() if one.type != About.UP_TO_DATE]
    kstatus = _kstatus(parts, said.get(About.INSTALLED))
    behind = said.get(About.UP_TO_DATE)
    ready = bool(kstatus) and kstatus[0].status is Holds.TRUE
    tells = behind if ready and behind is not None and behind.status is Holds.FALSE else None
    main = tells or (kstatus[0] if kstatus else None)
    status = structs.replace(
        before,
        observed_generation=row.generation,
        conditions=_conditions(row, before, (*kstatus, *said.values()), now, _OF_APP_TYPES),
        message=main.message if main else before.message,
        **fields,
    )
    return Told(row, status)


def resolved_told(row: Custom, now: datetime, line: Line, view: AppView, catalog: str) -> Told:
    current = lineage.current(view.site)
    installed = version_of(current).spec.version if current is not None else ""
    return app_told(
        row,
        now,
        [statement(About.RESOLVED, line), _mirrored(view)],
        installed=installed,
        operator_version=current.name if current is not None else None,
        catalog=catalog or app_of(row).status.catalog,
    )


def _mirrored(view: AppView) -> Statement:
    """What the newest version says of itself; before anything of it is installed, the one that runs."""
    newest = lineage.newest(view.site)
    if newest is not None and is_untouched(newest):
        newest = lineage.current(view.site) or newest
    if newest is None:
        return Statement(About.INSTALLED, Holds.FALSE, Reason.NOTHING_YET, "there is no version yet")
    status: Status = newest.object.status
    said = next((one for one in status.conditions if one.type == conditions.READY), None)
    if said is None:
        return Statement(About.INSTALLED, Holds.FALSE, Reason.INSTALLING, f"{newest.name} is taken up")
    read = _read(said)
    return Statement(
        About.INSTALLED, read.status, read.reason, short(f"{newest.name}: {read.message}"), read.stalled
    )


def followed_told(row: Custom, now: datetime, course: Course) -> Told:
    hops = [Hop(name=one.bundle.name, version=one.bundle.version) for one in course.way[:256]]
    return app_told(
        row,
        now,
        [statement(About.UP_TO_DATE, course.line)],
        latest=course.latest,
        path=tuple(hops),
        blocked_by=tuple(short(one) for one in course.blocked),
    )


# --- catalogs ---


def source_told(view: SourceView, now: datetime, line: Line) -> Told:
    row, reading = view.row, view.reading
    before = catalog_of(row).status
    fields: dict[str, Any] = {}
    if reading.catalog is not None:
        fields = {
            "packages": len(reading.catalog.packages),
            "bundles": reading.catalog.bundles,
            "digest": reading.digest or None,
            "last_sync_time": _synced(before, view),
            "broken": _broken(reading.catalog.faults),
        }
    ready = statement(conditions.READY, line)
    kstatus = (
        conditions.ready(line.reason, ready.message)
        if line.holds is Holds.TRUE
        else _unready(line, ready.message)
    )
    status = structs.replace(
        before,
        observed_generation=row.generation,
        conditions=stated(before.conditions, kstatus, generation=row.generation, now=now),
        message=short(line.message),
        tombstones=_graves(before, view),
        **fields,
    )
    return Told(row, status)


def _unready(line: Line, message: str) -> tuple[Statement, ...]:
    build = conditions.stalled if line.reason in NEED_SOMEBODY else conditions.reconciling
    return build(line.reason, message)


def _synced(before: OperatorCatalogStatus, view: SourceView) -> datetime | None:
    """When what stands there was first read: that it was read again and is the same is not written."""
    taken = view.reading.taken
    same = before.digest == view.reading.digest and before.last_sync_time is not None
    return before.last_sync_time if same or taken is None else taken.replace(microsecond=0)


def _broken(faults: Iterable[Fault]) -> tuple[BrokenPackage, ...]:
    """One line a package, since the list is keyed by it."""
    found: dict[str, list[str]] = {}
    for fault in faults:
        found.setdefault(fault.package[:256] or "-", []).append(f"{fault.kind}: {fault.message}")
    listed = [(name, lines) for name, lines in found.items()][:_MOST_BROKEN]
    return tuple(BrokenPackage(package=name, message=short("; ".join(lines[:4]))) for name, lines in listed)


def _graves(before: OperatorCatalogStatus, view: SourceView) -> tuple[Tombstone, ...]:
    """With what other catalogs know: any of them may go. Whoever makes an AppType again takes back that it
    was deleted."""
    known = {(one.namespace, one.package): one for one in (*view.buried, *before.tombstones)}
    ours = [(one.namespace, one.package) for one in before.tombstones]
    places = [place for place in dict.fromkeys([*ours, *sorted(known)]) if place not in view.app_types]
    if len(places) > MOST_GRAVES:
        places = sorted(places, key=lambda place: (known[place].deletion_time, place))[-MOST_GRAVES:]
    return tuple(known[place] for place in places)
