"""Statuses that several loops speak of: each its own condition, and one sum of all."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.operators import OperatorPhase, OperatorVersionStatus
from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.operators.catalog.model import Catalog, Fault, FaultKind
from shiplift.operators.model import NEED_SOMEBODY, About, Line, Reading, Reason, SourceView, Told
from shiplift.operators.tell import report
from shiplift.operators.tell.happenings import happenings
from tests.operators.decide.views import NOW, line, row, version

OF_VERSIONS = (About.INSTALLED, About.PROVIDED, About.HANDED_OVER)


def after(of: Custom, told: Told) -> Custom:
    """As the store has it once that is written."""
    return msgspec.structs.replace(of, object=msgspec.structs.replace(of.object, status=told.status))


def said(told: Told, about: str) -> tuple[str, str] | None:
    found = [one for one in told.status.conditions if one.type == about]
    return (found[0].status.value, found[0].reason) if found else None


def status(told: Told) -> OperatorVersionStatus:
    assert isinstance(told.status, OperatorVersionStatus)
    return told.status


@pytest.mark.parametrize(
    ("reason", "holds", "phase"),
    [
        (Reason.INSTALLED, Holds.TRUE, OperatorPhase.SUCCEEDED),
        (Reason.REQUIREMENTS_NOT_MET, Holds.FALSE, OperatorPhase.PENDING),
        (Reason.INSTALLING, Holds.FALSE, OperatorPhase.INSTALLING),
        (Reason.CRD_UNSAFE, Holds.FALSE, OperatorPhase.FAILED),
        (Reason.PAUSED, Holds.TRUE, OperatorPhase.SUCCEEDED),
    ],
)
def test_a_phase_is_derived_from_the_condition(reason: Reason, holds: Holds, phase: OperatorPhase) -> None:
    told = report.version_told(
        version("1.0.0"), NOW, [report.statement(About.INSTALLED, Line(reason, "", holds))]
    )
    assert status(told).phase is phase


def test_what_one_loop_says_stays_when_another_speaks() -> None:
    of = version("1.1.0", 2, "1.0.0")
    installed = Line(Reason.INSTALLED, "it runs", Holds.TRUE)
    first = report.version_told(of, NOW, [report.statement(About.INSTALLED, installed)])
    assert said(first, "Ready") == ("True", "Installed")
    handing = Line(Reason.HANDING_OVER, "3 more")
    second = report.version_told(after(of, first), NOW, [report.statement(About.HANDED_OVER, handing)])
    assert said(second, About.INSTALLED) == ("True", "Installed")
    assert said(second, "Ready") == ("False", "HandingOver")
    assert status(second).message == "3 more"


def test_a_veto_that_somebody_wrote_is_never_touched() -> None:
    of = version("1.0.0", 1, "", "no:Upgradeable")
    told = report.version_told(
        of, NOW, [report.statement(About.INSTALLED, Line(Reason.INSTALLED, "", Holds.TRUE))]
    )
    assert said(told, "Upgradeable") == ("False", "Installed")


_LINES = st.tuples(
    st.sampled_from(list(Reason)),
    st.sampled_from(["", "because", "x" * 5000]),
    st.sampled_from(list(Holds)),
).map(lambda parts: Line(*parts))


@given(st.lists(st.tuples(st.sampled_from(OF_VERSIONS), _LINES), max_size=8))
def test_whoever_speaks_in_whichever_order_the_sum_is_sound_and_comes_to_rest(
    spoken: list[tuple[About, Line]],
) -> None:
    of = version("1.0.0")
    for number, (about, one) in enumerate(spoken):
        told = report.version_told(of, NOW + timedelta(seconds=number), [report.statement(about, one)])
        of = after(of, told)
        kinds = [each.type for each in told.status.conditions]
        assert len(kinds) == len(set(kinds))
        assert not {"Reconciling", "Stalled"} <= set(kinds)
        stalled = said(told, "Stalled")
        assert stalled is None or Reason(stalled[1]) in NEED_SOMEBODY
    for about, one in dict(spoken).items():
        again = report.version_told(of, NOW + timedelta(hours=1), [report.statement(about, one)])
        assert again.status == of.object.status, "the same said again changes nothing"


def test_the_same_thing_is_one_event() -> None:
    of = version("1.0.0")
    unsafe = Line(Reason.CRD_UNSAFE, "a field goes")
    told = report.version_told(of, NOW, [report.statement(About.INSTALLED, unsafe)])
    found = list(happenings(of.object.status, told.status))
    assert [(one.reason, one.warning) for one in found] == [("CRDUnsafe", True)]
    assert list(happenings(told.status, told.status)) == []


# --- catalogs ---


def catalog(**status: object) -> Custom:
    from shiplift.facts.kinds import OPERATOR_CATALOG

    made = row(OPERATOR_CATALOG, "main", {"source": {"folder": {"path": "/catalog"}}})
    changed = msgspec.structs.replace(made.object.status, **status)
    return msgspec.structs.replace(made, object=msgspec.structs.replace(made.object, status=changed))


def test_faults_are_told_once_for_each_package() -> None:
    faults = tuple(Fault("boats", FaultKind.CYCLE, f"fault {number}") for number in range(9))
    read = Catalog((line("1.0.0"),), (*faults, Fault("", FaultKind.FILE, "x.yaml: no YAML")))
    view = SourceView(row=catalog(), reading=Reading(catalog=read, digest="sha256:" + "a" * 64, taken=NOW))
    told = report.source_told(view, NOW, Line(Reason.READ, "", Holds.TRUE))
    broken = {one.package: one.message for one in told.status.broken}  # type: ignore[attr-defined]
    assert set(broken) == {"boats", "-"}
    assert broken["boats"].startswith("Cycle: fault 0; Cycle: fault 1")


def test_a_note_on_an_uninstalled_operator_goes_when_somebody_wants_it_again() -> None:
    from shiplift.api.operators import Tombstone

    grave = Tombstone(namespace="ops", package="boats", deletion_time=NOW)
    of = catalog(tombstones=(grave,))
    for wanted, left in ((frozenset[tuple[str, str]](), (grave,)), (frozenset({("ops", "boats")}), ())):
        view = SourceView(row=of, reading=Reading(), app_types=wanted)
        told = report.source_told(view, NOW, Line(Reason.READING))
        assert told.status.tombstones == left  # type: ignore[attr-defined]
