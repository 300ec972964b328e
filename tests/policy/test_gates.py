"""What is done about the UpgradeConfig, case by case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import POLICY_APPLIED, POLICY_ID, PROVIDER_LABEL, REFRESH_ASKED, REFRESH_DONE
from shiplift.engine.contested import Memory
from shiplift.engine.probes import Probe
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.outside.letters import Box
from shiplift.policy.model import Record, View
from shiplift.policy.steps import Confirm, Create, Delete, Replace
from tests.policy.views import (
    AT,
    HTTP,
    LATER,
    LOCAL,
    NEVER_ASKED,
    NEW,
    NOW,
    OCM,
    answered,
    decided,
    failing,
    over,
    policy,
    row,
    steps,
    view,
)

RUNNING = {"startTime": AT, "phase": "Upgrading", "targetVersion": NEW}
STOPPED = {"startTime": AT, "phase": "Failed", "targetVersion": NEW}
"""Something has failed, and somebody may try it again: it runs."""
OVER, FAILED = over(), over(phase="Failed")
ONE = policy()
TOLD = Box(last={"OCM": "p1/v1.36.3/completed"})


def test_a_policy_becomes_an_upgrade_config() -> None:
    (step,) = decided(view(answered(ONE))).steps
    assert step == Create("HTTP", ONE)
    assert step.describe() == "make the UpgradeConfig of policy p1 from HTTP"


def test_what_is_the_same_is_not_written() -> None:
    decision = decided(view(answered(ONE), row(ONE, status={"policy": {"provider": "HTTP", "id": "p1"}})))
    assert (decision.steps, decision.record, decision.told) == ((), None, None)


@pytest.mark.parametrize(
    "said",
    [
        policy(LATER),
        policy(upgradeAt=AT),
        policy(windows=[{"schedule": "0 22 * * *", "duration": "2h"}]),
        policy(name="p2"),
        policy(approval="Manual"),
    ],
)
def test_what_differs_is_replaced_in_place(said: Any) -> None:
    (step,) = decided(view(answered(said), row(ONE))).steps
    assert isinstance(step, Replace)
    assert (step.uid, step.version, step.provider, step.policy) == ("u1", 7, "HTTP", said)


def test_times_are_compared_as_times() -> None:
    before = policy(upgradeAt="2026-11-20T03:00:00+01:00")
    assert (
        steps(
            view(
                answered(policy(upgradeAt=AT)),
                row(before, marks={"policy.shiplift.dev/applied": policy(upgradeAt=AT).digest}),
            )
        )
        == []
    )


def test_what_a_policy_no_longer_says_is_taken_out() -> None:
    assert steps(view(answered(ONE), row(policy(upgradeAt=AT)))) == ["Replace"]


def test_what_is_a_users_own_stays() -> None:
    mine = {"paused": True, "retry": 3, "notify": [{"name": "chat", "url": "https://chat.example/"}]}
    assert steps(view(answered(ONE), row(ONE, spec=mine))) == []


def test_what_somebody_changed_of_the_policys_own_is_put_back() -> None:
    assert steps(view(answered(ONE), row(ONE, spec={"desired": {"version": LATER}}))) == ["Replace"]


def test_what_may_be_old_is_looked_at_again_in_a_moment_and_what_the_provider_said_is_done_then() -> None:
    seen = view(answered(policy(LATER)), row(ONE))
    old = msgspec.structs.replace(seen, unsure="what is known of the UpgradeConfig may be old")
    decision = decided(old)
    assert decision.steps == ()
    assert decision.look_again_after == timedelta(seconds=1)
    assert steps(seen) == ["Replace"]


def test_an_upgrade_config_goes_with_its_policy_before_its_start() -> None:
    (step,) = decided(view(answered(None), row(ONE, status={"phase": "Pending"}))).steps
    assert step == Delete("u1", 7, "p1")


@pytest.mark.parametrize("status", [RUNNING, STOPPED, OVER, FAILED, {"startTime": AT}])
def test_an_upgrade_that_has_begun_outlives_its_policy(status: dict[str, Any]) -> None:
    decision = decided(view(answered(None), row(ONE, spec={"abort": status is FAILED}, status=status)))
    assert decision.steps == ()
    assert decision.told is not None
    _, told = decision.told
    assert told is not None
    assert told.lost == (status in (RUNNING, STOPPED))


def test_an_upgrade_whose_history_has_it_has_begun() -> None:
    past = {"history": [{"version": NEW, "phase": "Upgraded", "startTime": AT}]}
    assert steps(view(answered(None), row(ONE, status=past))) == []


def test_a_version_that_was_aborted_before_and_is_asked_for_again_goes_with_its_policy_until_it_begins() -> (
    None
):
    """Another version was asked for meanwhile, which withdrew the abort."""
    again, asked = policy(name="p3"), {REFRESH_ASKED: "a1"}
    pending = {**FAILED, "phase": "Pending"}
    for marks in ({}, asked):
        seen = view(
            answered(None, refresh=marks.get(REFRESH_ASKED, "")), row(again, status=pending, marks=marks)
        )
        assert steps(seen) == ["Delete"]
    running = {**FAILED, "phase": "Upgrading", "targetVersion": NEW}
    assert steps(view(answered(None), row(again, status=running))) == []


def test_what_was_replaced_after_an_upgrade_goes_with_its_policy_until_it_begins() -> None:
    assert steps(view(answered(None), row(policy(LATER), status=OVER))) == ["Delete"]
    assert steps(view(answered(None), row(policy(LATER), status=RUNNING))) == []


def test_without_policy_and_without_upgrade_config_nothing_is_done() -> None:
    assert steps(view(answered(None))) == []


def test_while_an_upgrade_runs_a_later_policy_waits_and_is_shown() -> None:
    decision = decided(view(answered(policy(LATER, upgradeAt=AT)), row(ONE, status=RUNNING)))
    assert decision.steps == ()
    assert decision.told is not None
    told = decision.told[1]
    assert told is not None
    assert told.queued is not None
    assert told.queued.desired.version == LATER
    assert told.queued.upgrade_at is not None


def test_an_upgrade_that_has_stopped_keeps_its_target() -> None:
    assert steps(view(answered(policy(LATER)), row(ONE, status=STOPPED))) == []


@pytest.mark.parametrize(
    ("aborted", "said", "anew"),
    [
        ({"version": NEW}, {"version": LATER}, True),
        ({"version": NEW}, {"version": "1.36.3"}, False),
        (
            {"version": "4.20.1", "channel": "stable-4.20"},
            {"version": "4.20.1", "channel": "fast-4.20"},
            False,
        ),
        (
            {"version": "4.20.1", "channel": "stable-4.20"},
            {"version": "4.20.2", "channel": "fast-4.20"},
            True,
        ),
    ],
    ids=["another", "the same in other words", "another channel", "another of another channel"],
)
def test_only_another_version_withdraws_an_abort(
    aborted: dict[str, str], said: dict[str, str], anew: bool
) -> None:
    """Or the upgrade that its user gave up would begin again by itself."""
    before, after = (policy(desired=one, type="OpenShift") for one in (aborted, said))
    status = over(aborted["version"], "Failed")
    (step,) = decided(view(answered(after), row(before, spec={"abort": True}, status=status))).steps
    assert isinstance(step, Replace)
    assert step.anew is anew


def test_the_same_version_in_other_words_is_the_same() -> None:
    plain = policy("1.36.3")
    assert steps(view(answered(plain), row(plain, status=RUNNING))) == []


def test_when_it_is_over_the_later_policy_is_applied() -> None:
    for status in (OVER, FAILED):
        assert steps(view(answered(policy(LATER)), row(ONE, status=status))) == ["Replace"]


def test_while_an_upgrade_runs_what_else_the_policy_says_is_applied() -> None:
    said = policy(onPolicyLost="Pause")
    assert steps(view(answered(said), row(ONE, status=RUNNING))) == ["Replace"]


def test_a_target_that_somebody_changed_in_a_running_upgrade_is_put_back() -> None:
    changed = row(ONE, spec={"desired": {"version": LATER}}, status=RUNNING)
    assert steps(view(answered(ONE), changed)) == ["Replace"]


def test_what_was_made_by_hand_is_neither_changed_nor_deleted() -> None:
    for said in (ONE, policy(LATER), None):
        decision = decided(view(answered(said), row()))
        assert decision.steps == ()
        assert decision.record is not None
        assert (
            "UpgradeConfig cluster was made by hand, but policies come from HTTP" in decision.record.trouble
        )


def test_what_came_from_another_provider_is_ours_too() -> None:
    assert steps(view(answered(ONE), row(ONE, provider="OCM"))) == ["Replace"]
    assert steps(view(answered(None), row(ONE, provider="OCM"))) == ["Delete"]


def test_what_is_being_deleted_is_waited_for() -> None:
    for said in (ONE, policy(LATER), None):
        assert steps(view(answered(said), row(ONE, deleting=1))) == []


def test_the_local_provider_does_nothing_at_all() -> None:
    for current in (None, row(), row(ONE), row(status=RUNNING)):
        seen = view(answered(None), current, config=LOCAL)
        assert steps(seen) == []


# --- what is not certain changes nothing ---

SITUATIONS: list[Custom | None] = [None, row(), row(ONE), row(policy(LATER)), row(ONE, status=RUNNING)]


@pytest.mark.parametrize("current", SITUATIONS)
@pytest.mark.parametrize(
    "seen",
    [
        view(failing(answered(None))),
        view(failing(answered(policy(LATER)))),
        view(failing(NEVER_ASKED)),
        view(answered(None, at=NOW - timedelta(minutes=26))),
        view(answered(None, OCM)),
        view(answered(None), unsure="what is known of the UpgradeConfig may be old"),
        view(answered(None), config=None, config_trouble="ConfigMap x/shiplift-config: not YAML"),
    ],
    ids=["fails", "fails-change", "fails-first", "old-answer", "other-source", "old-rows", "no-config"],
)
def test_what_is_not_certain_changes_nothing(seen: View, current: Custom | None) -> None:
    found = decided(msgspec.structs.replace(seen, current=current)).steps
    assert not [one for one in found if isinstance(one, Create | Replace | Delete | Confirm)]


def test_a_provider_that_flaps_changes_nothing() -> None:
    for asking in (answered(policy()), failing(answered(policy())), answered(policy())):
        assert steps(view(asking, row(policy()))) == []


def test_an_outage_takes_nothing_back_that_was_told() -> None:
    told = {"provider": "HTTP", "id": "p1", "queued": {"desired": {"version": LATER}}}
    before = row(ONE, status={**RUNNING, "policy": told})
    decision = decided(view(failing(answered(policy(LATER))), before))
    assert decision.told is not None
    after = decision.told[1]
    assert after is not None
    assert after.queued is not None
    assert after.message == "provider HTTP cannot be asked: connection refused"
    assert after.last_sync_time == NOW


# --- once more before the start ---


def test_whoever_is_about_to_start_waits_until_the_provider_was_asked_once_more() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a1"})
    seen = view(answered(ONE), current)
    (step,) = decided(seen).steps
    assert type(step).__name__ == "Ask"
    assert steps(view(answered(ONE, refresh="a1"), current)) == ["Confirm"]
    done = row(ONE, marks={REFRESH_ASKED: "a1", REFRESH_DONE: "a1"})
    assert steps(view(answered(ONE, refresh="a1"), done)) == []


@pytest.mark.parametrize("status", [OVER, FAILED])
def test_who_tries_again_what_is_over_is_confirmed_though_its_policy_is_gone(status: dict[str, Any]) -> None:
    """OCM shows no policy that is completed."""
    current = row(ONE, spec={"abort": status is FAILED}, status=status, marks={REFRESH_ASKED: "a1"})
    assert steps(view(answered(None), current)) == ["Ask"]
    assert steps(view(answered(None, refresh="a1"), current)) == ["Confirm"]
    assert steps(view(failing(answered(None, refresh="a1")), current)) == []


def test_a_provider_that_fails_confirms_nothing() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a1"})
    assert steps(view(failing(answered(ONE, refresh="a1")), current)) == []


def test_a_change_is_applied_before_it_is_confirmed() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a1"})
    later = policy(LATER)
    assert steps(view(answered(later, refresh="a1"), current)) == ["Replace"]
    assert steps(view(answered(later, refresh="a1"), row(later, marks={REFRESH_ASKED: "a1"}))) == ["Confirm"]


def test_a_wish_that_is_older_than_another_is_not_confirmed() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a2", REFRESH_DONE: "a1"})
    assert steps(view(answered(ONE, refresh="a1"), current)) == ["Ask"]


def test_the_local_provider_confirms_at_once() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a1"})
    assert steps(view(answered(None), current, config=LOCAL)) == ["Confirm"]


def test_what_is_found_is_told_once() -> None:
    seen = view(failing(answered(ONE)), None)
    record = decided(seen).record
    assert record is not None
    assert (record.since, record.last_sync_time) == (NOW, NOW)
    again = view(failing(answered(ONE)), None, record=record)
    assert decided(again, NOW + timedelta(seconds=5)).record is None
    mended = decided(view(answered(ONE), row(ONE), record=record), NOW + timedelta(seconds=5)).record
    assert mended is not None
    assert (mended.trouble, mended.since) == ("", None)


def test_an_outbox_that_cannot_be_read_is_told_where_it_is_in_the_way() -> None:
    later, done = policy(LATER, "p2"), row(ONE, status=over(), provider="OCM")
    why = "ConfigMap shiplift-outbox-policy is missing"
    seen = view(answered(later, OCM), done, config=OCM, box=None, box_trouble=why)
    decision = decided(seen)
    assert decision.steps == ()
    assert decision.record is not None
    assert (
        decision.record.trouble == f"nothing can be reported to OCM, and no later policy is followed: {why}"
    )
    elsewhere = decided(view(answered(ONE), row(ONE), box=None, box_trouble=why, record=Record("HTTP")))
    assert elsewhere.record is None


def test_bad_settings_are_told_though_the_last_good_ones_are_in_force() -> None:
    decision = decided(view(answered(ONE), row(ONE), config_trouble="ConfigMap x/y: not YAML"))
    assert decision.record is not None
    assert decision.record.trouble == "ConfigMap x/y: not YAML"
    assert HTTP.provider == "HTTP"
    assert Probe("x", timedelta(1)).failures == 0


@pytest.mark.parametrize("running", [False, True])
def test_another_version_after_an_abort_begins_anew(running: bool) -> None:
    """The wish to abort was about the upgrade before it; while that one is being ended, it waits."""
    current = row(policy(NEW), provider="OCM", spec={"abort": True}, status=STOPPED if running else FAILED)
    found = decided(view(answered(policy(LATER, "p2"), OCM), current, config=OCM, box=TOLD)).steps
    replaced = [one for one in found if isinstance(one, Replace)]
    assert [one.anew for one in replaced] == ([] if running else [True])


def test_the_same_version_after_an_abort_stays_aborted() -> None:
    current = row(policy(NEW), spec={"abort": True}, status=FAILED)
    (step,) = decided(view(answered(policy(NEW, approval="Manual")), current)).steps
    assert isinstance(step, Replace)
    assert not step.anew


@pytest.mark.parametrize(
    "box", [None, Box(last={"OCM": "p1/v1.36.3/started"})], ids=["unreadable", "not noted"]
)
def test_a_policy_does_not_take_the_place_of_one_whose_end_is_not_noted(box: Box | None) -> None:
    seen = view(
        answered(policy(LATER, "p2"), OCM), row(ONE, provider="OCM", status=OVER), config=OCM, box=box
    )
    assert not [one for one in decided(seen).steps if isinstance(one, Replace)]
    noted = msgspec.structs.replace(seen, box=TOLD)
    assert [one for one in decided(noted).steps if isinstance(one, Replace)]


def test_a_cluster_that_was_there_before_the_start_is_told_as_upgraded_and_kept() -> None:
    there = {"phase": "Upgraded", "history": [{"version": NEW, "phase": "Upgraded", "completeTime": AT}]}
    seen = view(answered(None, OCM), row(ONE, provider="OCM", status=there), config=OCM, box=TOLD)
    assert steps(seen) == []


def test_a_controller_that_sets_the_spec_back_is_told_and_not_fought_at_full_speed() -> None:
    """As a GitOps tool does that has its own UpgradeConfig of that name."""
    memory, now, replaced, told = Memory(), NOW, 0, False
    for _ in range(600):
        seen = view(answered(ONE, at=now), row(ONE, spec={"desired": {"version": LATER}}))
        decision = decided(msgspec.structs.replace(seen, changes=memory.changes), now)
        for step in decision.steps:
            memory.note(step, now)
            replaced += isinstance(step, Replace)
        told = told or (decision.told is not None and "somebody else changes" in str(decision.told[1]))
        now += timedelta(seconds=1)
    assert told
    assert replaced < 30


def test_one_that_is_deleted_again_and_again_likewise() -> None:
    memory, now, made = Memory(), NOW, 0
    for _ in range(600):
        decision = decided(msgspec.structs.replace(view(answered(ONE, at=now)), changes=memory.changes), now)
        for step in decision.steps:
            memory.note(step, now)
            made += isinstance(step, Create)
        now += timedelta(seconds=1)
    assert made < 30


def test_when_the_provider_answered_is_confirmed_too() -> None:
    """It may have taken minutes: what it said is as fresh as that."""
    current, later = row(ONE, marks={REFRESH_ASKED: "a1"}), NOW + timedelta(minutes=4)
    (step,) = decided(view(answered(ONE, refresh="a1"), current), later).steps
    assert isinstance(step, Confirm)
    assert step.answered == "2026-11-17T12:00:00Z"
    (step,) = decided(view(answered(None), current, config=LOCAL), later).steps
    assert isinstance(step, Confirm)
    assert step.answered == "2026-11-17T12:04:00Z"


@pytest.mark.parametrize("mark", [POLICY_ID, POLICY_APPLIED])
def test_a_mark_of_the_policy_that_somebody_takes_off_is_put_back(mark: str) -> None:
    """Without its id nothing of it can be reported."""
    whole = row(ONE)
    left = {key: value for key, value in whole.annotations.items() if key != mark}
    bare = msgspec.structs.replace(whole, annotations=Labels(left))
    assert steps(view(answered(ONE), bare)) == ["Replace"]
    other = msgspec.structs.replace(whole, annotations=Labels({**left, mark: "another"}))
    assert steps(view(answered(ONE), other)) == ["Replace"]


def fought(again: View) -> tuple[int, bool, str]:
    """How often the one step is taken in ten minutes of somebody who undoes it at once, and what is told."""
    memory, now, taken, told = Memory(), NOW, 0, ""
    for _ in range(600):
        decision = decided(msgspec.structs.replace(again, changes=dict(memory.changes)), now)
        for step in decision.steps:
            memory.note(step, now)
            taken += 1
        said = decision.record.trouble if decision.record else ""
        told = said if "somebody else" in said else told
        now += timedelta(seconds=1)
    return taken, bool(told), told


def test_a_controller_that_makes_again_what_goes_with_its_policy_is_told_and_not_fought() -> None:
    taken, told, says = fought(view(answered(None, at=NOW + timedelta(minutes=5)), row(ONE)))
    assert told
    assert "somebody else makes the UpgradeConfig of policy p1 again" in says
    assert taken < 60


def test_a_controller_that_takes_the_confirmation_off_is_told_and_not_fought() -> None:
    current = row(ONE, marks={REFRESH_ASKED: "a1"})
    taken, told, says = fought(view(answered(ONE, refresh="a1", at=NOW + timedelta(minutes=5)), current))
    assert told
    assert f"takes the annotation {REFRESH_DONE} off" in says
    assert taken < 60


def test_a_record_that_cannot_be_kept_is_told_on_the_upgrade_config_and_by_an_event() -> None:
    why = "ConfigMap shiplift-system/shiplift-policy is missing"
    decision = decided(view(answered(ONE), row(ONE), record=None, record_trouble=why))
    assert decision.told is not None
    policy_told = decision.told[1]
    assert policy_told is not None
    assert policy_told.message == f"how the sync is going cannot be kept: {why}"
    assert decision.alarm == policy_told.message
    alone = decided(view(answered(None), None, record=None, record_trouble=why))
    assert alone.alarm == policy_told.message
    local = decided(view(answered(None), row(), config=LOCAL, record=None, record_trouble=why))
    assert (local.alarm, local.told) == ("", None)


@pytest.mark.parametrize("of", [ONE, None], ids=["of a provider", "made by hand"])
def test_settings_that_were_never_good_are_told_on_what_came_from_a_provider(of: Any) -> None:
    why = "ConfigMap x/shiplift-config: section configManager: no"
    status = {**RUNNING, "policy": {"provider": "HTTP", "id": "p1", "lost": True}}
    decision = decided(view(config=None, config_trouble=why, current=row(of, status=status if of else {})))
    if of is None:
        assert decision.told is None
        return
    assert decision.told is not None
    told = decision.told[1]
    assert told is not None
    assert (told.provider, told.message, told.lost) == ("HTTP", why, True)


@pytest.mark.parametrize(
    ("current", "says"),
    [
        (row(ONE, spec={"desired": {"version": LATER}}), "changes spec.desired of the UpgradeConfig"),
        (row(ONE, spec={"desired": {"version": LATER}, "type": "External"}), "changes spec.desired of"),
        (row(ONE, marks={POLICY_ID: "p9"}), f"changes {POLICY_ID} of the UpgradeConfig"),
        (row(ONE, provider="OCM"), f"changes {PROVIDER_LABEL} of the UpgradeConfig"),
    ],
)
def test_who_changes_what_comes_with_a_policy_is_told_field_by_field(current: Custom, says: str) -> None:
    memory = Memory()
    (step,) = decided(view(answered(ONE), current)).steps
    memory.note(step, NOW)
    decision = decided(view(answered(ONE), current, changes=memory.changes))
    assert decision.told is not None
    assert says in str(decision.told[1])


def test_one_who_changes_it_every_few_minutes_is_told_in_between_and_nothing_is_called_well() -> None:
    memory, now, current, kept = Memory(), NOW, row(ONE), Record("HTTP")
    written = []
    for second in range(20 * 60):
        if second % 180 == 0:
            current = row(ONE, spec={"desired": {"version": LATER}})
        seen = view(answered(ONE, at=now), current, changes=memory.changes, record=kept)
        decision = decided(seen, now)
        if decision.record is not None:
            kept = decision.record
            written.append(bool(kept.trouble))
        for step in decision.steps:
            memory.note(step, now)
            current = row(ONE)
        now += timedelta(seconds=1)
    assert written == [True]
