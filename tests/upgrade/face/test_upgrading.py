"""What a person sees of an upgrade, from the UpgradeConfig alone."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from shiplift.api.base import ObjectMeta
from shiplift.api.upgrade import (
    Desired,
    Finding,
    HistoryEntry,
    Plan,
    Severity,
    UpgradeConfig,
    UpgradeConfigSpec,
    UpgradeConfigStatus,
    UpgradePhase,
)
from shiplift.api.values import Condition, ConditionStatus, Estimate, Progress
from shiplift.cli import sections
from shiplift.cli.sections import Seen, Told
from shiplift.nodes.face.status import STATUS as NODES
from shiplift.upgrade.face.status import STATUS, given_up
from shiplift.upgrade.face.upgrading import UpgradeView, changes, upgrade_view
from shiplift.upgrade.face.upgrading_data import upgrade_data
from shiplift.view.section import Arrival
from shiplift.view.values import Heard
from tests.cli.test_status_data import fields, named

MADE = datetime(2026, 11, 1, 12, tzinfo=UTC)
NOW = int((MADE + timedelta(minutes=10)).timestamp())
OLD, NEW = "v1.35.4", "v1.36.3"


def said(type_: str, status: bool = True, message: str = "") -> Condition:
    told = ConditionStatus.TRUE if status else ConditionStatus.FALSE
    return Condition(type=type_, status=told, reason="Why", message=message, last_transition_time=MADE)


def upgrade(spec: dict[str, Any] | None = None, about: dict[str, Any] | None = None, **status: Any) -> Any:
    known: dict[str, Any] = {"observed_generation": 1, "current_version": OLD}
    return UpgradeConfig(
        metadata=ObjectMeta(name="cluster", uid="u", **{"generation": 1} | (about or {})),
        spec=UpgradeConfigSpec(desired=Desired(version=NEW), **spec or {}),
        status=UpgradeConfigStatus(**known | status),
    )


def view(one: UpgradeConfig, heard: Heard | None = None) -> UpgradeView:
    found = upgrade_view([one], NOW, heard)
    assert found is not None
    return found


def drawn(one: UpgradeConfig) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(STATUS.picture(view(one), None, None))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


RUNNING = HistoryEntry(version=NEW, phase=UpgradePhase.UPGRADING, preceding_version=OLD, start_time=MADE)
OVER = HistoryEntry(
    version=NEW,
    phase=UpgradePhase.UPGRADED,
    preceding_version=OLD,
    start_time=MADE,
    complete_time=MADE + timedelta(minutes=7),
)


def running(**more: Any) -> UpgradeConfig:
    known: dict[str, Any] = {
        "phase": UpgradePhase.UPGRADING,
        "reason": "Nodes",
        "message": "NodeRollout upgrade-v1.36.3-workers: 2 of 4 nodes done",
        "target_version": NEW,
        "start_time": MADE,
        "history": (RUNNING,),
        "nodes": Progress.of(3, 5),
        "conditions": (said("Valid"), said("ControlPlaneUpgraded"), said("NodesUpgraded", False)),
    }
    return upgrade(**known | more)


def test_an_upgrade_that_runs_says_from_where_to_where_and_which_step() -> None:
    end = datetime.fromtimestamp(NOW, UTC) + timedelta(minutes=6)
    one = running(eta=Estimate(likely=end, earliest=end - timedelta(minutes=2), latest=end))
    assert drawn(one) == (
        "Upgrade  upgrading from v1.35.4 to v1.36.3, for 10 min, nodes in about 6 min (4 min to 6 min)\n"
        "         [############--------] 3/5 nodes\n"
        "Steps    control plane done, nodes now\n"
        "Now      NodeRollout upgrade-v1.36.3-workers: 2 of 4 nodes done"
    )


def test_before_the_start_plan_and_findings_are_shown() -> None:
    finding = Finding(code="SKEW", severity=Severity.BLOCKER, message="too far behind")
    plan = Plan(digest="sha256:" + "a" * 64, version=NEW, summary="nodes to v1.36.3")
    one = upgrade(
        phase=UpgradePhase.PENDING,
        reason="NeedsApproval",
        message="approve it",
        plan=plan,
        findings=(finding,),
    )
    assert drawn(one) == (
        "Upgrade    pending from v1.35.4 to v1.36.3\n"
        "Plan       nodes to v1.36.3\n"
        "Preflight  SKEW (Blocker): too far behind\n"
        "Needs you  approve it"
    )


def test_one_that_is_over_says_how_long_it_took() -> None:
    one = upgrade(phase=UpgradePhase.UPGRADED, reason="Upgraded", message="done", history=(OVER,))
    assert drawn(one) == "Upgrade  upgraded from v1.35.4 to v1.36.3, in 7 min\nNow      done"
    assert view(one).arrival is Arrival.MOVED


@pytest.mark.parametrize(
    ("one", "arrival", "phase"),
    [
        (running(), Arrival.NOT_YET, "upgrading"),
        (running(reason="Paused"), Arrival.NOT_YET, "paused"),
        (running(reason="StepFailed", phase=UpgradePhase.FAILED), Arrival.NOT_YET, "failed"),
        (upgrade(phase=UpgradePhase.UPGRADED, about={"generation": 2}), Arrival.NOT_YET, "upgraded"),
        (upgrade(spec={"abort": True}, reason="Aborting"), Arrival.NOT_YET, "aborting"),
        (upgrade(spec={"abort": True}, reason="Aborted"), Arrival.GIVEN_UP, "aborted"),
        (upgrade(about={"deletion_timestamp": MADE}), Arrival.GIVEN_UP, "being deleted"),
        (upgrade(observed_generation=0), Arrival.NOT_YET, "not begun"),
    ],
)
def test_who_waits_is_never_let_go_too_early(one: UpgradeConfig, arrival: Arrival, phase: str) -> None:
    assert (view(one).arrival, view(one).phase) == (arrival, phase)


def test_what_somebody_has_to_do_is_told() -> None:
    assert view(running(conditions=(said("Stalled", message="mend it"),))).stalled == "mend it"
    assert view(running(reason="Paused", message="paused: resume")).stalled == "paused: resume"
    assert view(running()).stalled == ""


def test_hints_tell_where_no_operator_has_looked() -> None:
    assert "no operator with the layer upgrade" in view(upgrade(observed_generation=0)).hints[0]
    assert "has not seen the last change" in view(upgrade(about={"generation": 2})).hints[0]
    silent = Heard(at=NOW - 100)
    assert "until an operator runs again" in view(running(), silent).hints[0]


def test_what_others_wrote_does_nothing_to_a_terminal() -> None:
    assert view(running(message="a\x1b[31m\nb")).message == "a [31m b"


def test_changes_are_told_once() -> None:
    one = view(running())
    assert changes(None, one) == [f"upgrading: {one.message}"]
    assert changes(one, one) == []


def test_without_an_upgrade_there_is_nothing_to_tell() -> None:
    assert upgrade_view([], NOW, None) is None


def test_programs_read_all_of_it() -> None:
    data = upgrade_data(view(running()))
    assert (data["from"], data["target"], data["phase"], data["arrival"]) == (OLD, NEW, "upgrading", "NotYet")
    assert data["steps"] == [
        {"name": "control plane", "done": True},
        {"name": "nodes", "done": False},
    ]
    assert data["nodes"] == {"done": 3, "total": 5}


def test_that_the_objects_of_a_conducted_layer_are_gone_is_no_reason_to_give_up() -> None:
    over = view(upgrade(phase=UpgradePhase.UPGRADED, reason="Upgraded", history=(OVER,)))
    seen = Seen((Told("upgrade", STATUS, over), Told("nodes", NODES, None)), None, stale=False)
    assert sections.is_over(seen)
    sections.check_moved(seen)
    alone = Seen((Told("nodes", NODES, None),), None, stale=False)
    with pytest.raises(sections.GivenUpError):
        sections.check_moved(alone)


def test_who_waited_for_one_that_was_aborted_is_told_what_to_do() -> None:
    gone = view(upgrade(spec={"abort": True}, reason="Aborted"))
    assert given_up(gone).message == "the upgrade to v1.36.3 was aborted: what was upgraded stays so"


def test_every_field_is_on_the_page_and_nothing_else_is() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "status.md"
    own = page.read_text().partition("## `layers.upgrade`")[2].partition("## `layers.")[0]
    end = datetime.fromtimestamp(NOW, UTC)
    data = upgrade_data(view(running(eta=Estimate(likely=end))))
    assert named(own) - {"steps", "eta"} == set(fields(data))


def test_of_one_that_was_aborted_without_an_operator_nothing_is_told_that_is_over_by_that() -> None:
    """As `shiplift undo` leaves it: nobody has to approve it any more, nor wait for an operator."""
    before: dict[str, Any] = {
        "reason": "NeedsApproval",
        "message": "somebody has to approve the plan to v1.36.3; `shiplift approve` does",
        "findings": (Finding(code="AGENTS", severity=Severity.WARNING, message="no agent"),),
        "plan": Plan(digest="0" * 64, version=NEW, summary="two nodes"),
    }
    silent = Heard(NOW - 600, gone=True)
    asked = view(upgrade(**before), silent)
    assert (asked.stalled, asked.plan, len(asked.findings)) == (before["message"], "two nodes", 1)
    told = view(upgrade(spec={"abort": True}, about={"generation": 2}, **before), silent)
    assert (told.phase, told.message, told.stalled, told.plan, told.findings) == ("aborting", "", "", "", ())
    assert told.hints == (
        "an operator that runs again ends it, and `shiplift operator` runs one; `shiplift undo` does without",
    )
