from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.conditions import (
    KSTATUS,
    LONGEST_MESSAGE,
    Condition,
    Phase,
    Reason,
    Statement,
    Status,
    merge,
    phase,
    ready,
    reconciling,
    stalled,
    summarise,
    unknown,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


class Why(Reason):
    ALL_DONE = "AllDone"
    DRAINING = "Draining"
    BLOCKED = "BlockedByBudget"
    NO_ANSWER = "NoAnswer"


BUILDERS = (ready, reconciling, stalled, unknown)
OWNED = (*KSTATUS, "Drained", "Upgraded")


def publish(current, statements, generation=1, now=NOW, owned=OWNED):
    return merge(current, statements, owned=owned, generation=generation, now=now)


def types(conditions):
    return {condition.type: condition.status.value for condition in conditions}


@pytest.mark.parametrize(
    ("build", "shown"),
    [
        (ready, {"Ready": "True"}),
        (reconciling, {"Ready": "False", "Reconciling": "True"}),
        (stalled, {"Ready": "False", "Stalled": "True"}),
        (unknown, {"Ready": "Unknown", "Reconciling": "True"}),
    ],
)
def test_ready_is_always_there_and_the_abnormal_ones_only_when_true(build, shown):
    assert types(publish((), build(Why.DRAINING))) == shown


def test_each_condition_carries_reason_message_and_generation():
    (condition,) = publish((), ready(Why.ALL_DONE, "6 of 6 nodes"), generation=4)
    assert condition == Condition("Ready", Status.TRUE, "AllDone", NOW, "6 of 6 nodes", 4)


def test_the_transition_time_stays_while_the_status_does():
    first = publish((), reconciling(Why.DRAINING, "1 of 6"))
    second = publish(first, reconciling(Why.BLOCKED, "2 of 6"), generation=2, now=LATER)
    assert [condition.last_transition_time for condition in second] == [NOW, NOW]
    assert [(condition.reason, condition.observed_generation) for condition in second] == [
        ("BlockedByBudget", 2),
        ("BlockedByBudget", 2),
    ]


def test_the_transition_time_moves_when_the_status_flips():
    first = publish((), reconciling(Why.DRAINING))
    second = publish(first, ready(Why.ALL_DONE), now=LATER)
    assert [(condition.type, condition.last_transition_time) for condition in second] == [("Ready", LATER)]


def test_a_condition_that_comes_back_is_dated_anew():
    first = publish((), reconciling(Why.DRAINING))
    between = publish(first, ready(Why.ALL_DONE))
    again = publish(between, reconciling(Why.DRAINING), now=LATER)
    assert all(condition.last_transition_time == LATER for condition in again)


def test_saying_the_same_again_changes_nothing():
    first = publish((), reconciling(Why.DRAINING, "1 of 6"))
    assert publish(first, reconciling(Why.DRAINING, "1 of 6"), now=LATER) == first


def test_times_are_whole_seconds_of_utc_so_that_the_server_gives_back_the_same():
    odd = datetime(2026, 3, 1, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
    (condition,) = publish((), ready(Why.ALL_DONE), now=odd)
    assert condition.last_transition_time == NOW
    assert msgspec.json.decode(msgspec.json.encode(condition))["lastTransitionTime"] == "2026-03-01T12:00:00Z"


def test_conditions_of_others_stay_where_they_are():
    foreign = Condition("Paused", Status.TRUE, "SomebodySaidSo", NOW)
    first = publish((foreign,), reconciling(Why.DRAINING))
    assert types(publish(first, ready(Why.ALL_DONE))) == {"Paused": "True", "Ready": "True"}
    assert publish(first, ready(Why.ALL_DONE))[0] is foreign


def test_a_condition_of_ours_that_is_no_longer_stated_goes():
    drained = Statement("Drained", Status.TRUE, Why.ALL_DONE)
    first = publish((), (*reconciling(Why.DRAINING), drained))
    assert types(publish(first, reconciling(Why.DRAINING))) == {"Ready": "False", "Reconciling": "True"}


def test_somebody_elses_condition_cannot_be_stated():
    with pytest.raises(ValueError, match="condition Paused is not one of ours: Ready"):
        publish((), [Statement("Paused", Status.TRUE, Why.ALL_DONE)], owned=("Ready",))


def test_a_condition_is_stated_once():
    with pytest.raises(ValueError, match="Ready is stated twice"):
        publish((), (*ready(Why.ALL_DONE), *ready(Why.ALL_DONE)))


def test_nothing_is_both_reconciling_and_stalled():
    both = [Statement(type_, Status.TRUE, Why.BLOCKED) for type_ in ("Reconciling", "Stalled")]
    with pytest.raises(ValueError, match="not both"):
        publish((), both)


def test_a_long_message_is_cut_and_says_so():
    (condition,) = publish((), ready(Why.ALL_DONE, "x" * 50_000))
    assert len(condition.message) == LONGEST_MESSAGE
    assert condition.message.endswith("…")


@pytest.mark.parametrize("value", ["", "lower", "With Space", "With-Dash", "X" * 129, "Ünder"])
def test_a_reason_that_the_server_would_refuse_cannot_be_defined(value):
    with pytest.raises(ValueError, match="CamelCase"):
        Reason("Bad", {"BAD": value})


def test_a_condition_reads_back_from_the_server():
    (condition,) = publish((), ready(Why.ALL_DONE, "fine"), generation=3)
    text = msgspec.json.encode(condition)
    assert msgspec.json.decode(text, type=Condition) == condition
    assert set(msgspec.json.decode(text)) == {
        "type", "status", "reason", "message", "lastTransitionTime", "observedGeneration",
    }  # fmt: skip


def part(name, status, reason, message="", **more):
    return Statement(name, status, reason, message, **more)


def test_all_parts_good_is_ready():
    parts = [part("Drained", Status.TRUE, Why.ALL_DONE), part("Upgraded", Status.TRUE, Why.ALL_DONE)]
    assert summarise(parts, Why.ALL_DONE, "done") == ready(Why.ALL_DONE, "done")
    assert summarise([], Why.ALL_DONE) == ready(Why.ALL_DONE)


def test_a_stalled_part_outweighs_everything():
    parts = [
        part("A", Status.UNKNOWN, Why.NO_ANSWER),
        part("B", Status.FALSE, Why.DRAINING, "on the way"),
        part("C", Status.FALSE, Why.BLOCKED, "pdb web needs 3 has 2", stalled=True),
    ]
    assert summarise(parts, Why.ALL_DONE) == stalled(Why.BLOCKED, "C: pdb web needs 3 has 2")


def test_a_part_on_its_way_outweighs_an_unknown_one():
    parts = [part("A", Status.UNKNOWN, Why.NO_ANSWER), part("B", Status.FALSE, Why.DRAINING, "1 of 6")]
    assert summarise(parts, Why.ALL_DONE) == reconciling(Why.DRAINING, "B: 1 of 6")


def test_an_unknown_part_never_gives_ready():
    parts = [part("A", Status.TRUE, Why.ALL_DONE), part("B", Status.UNKNOWN, Why.NO_ANSWER)]
    assert summarise(parts, Why.ALL_DONE) == unknown(Why.NO_ANSWER, "B: NoAnswer")


def test_only_the_first_few_parts_are_named():
    parts = [part(f"P{number}", Status.FALSE, Why.DRAINING, "x") for number in range(5)]
    assert summarise(parts, Why.ALL_DONE)[0].message == "P0: x; P1: x; P2: x; and 2 more"


@pytest.mark.parametrize(
    ("build", "generation", "deleting", "expected"),
    [
        (ready, 1, False, Phase.READY),
        (reconciling, 1, False, Phase.PROGRESSING),
        (stalled, 1, False, Phase.STALLED),
        (unknown, 1, False, Phase.UNKNOWN),
        (ready, 2, False, Phase.PROGRESSING),
        (stalled, 2, False, Phase.PROGRESSING),
        (ready, 1, True, Phase.TERMINATING),
    ],
)
def test_the_phase_follows_from_the_conditions(build, generation, deleting, expected):
    conditions = publish((), build(Why.DRAINING), generation=1)
    assert phase(conditions, generation, deleting=deleting) is expected


def test_an_object_nobody_has_looked_at_has_no_known_phase():
    assert phase((), 1) is Phase.UNKNOWN


@given(st.lists(st.tuples(st.sampled_from(BUILDERS), st.sampled_from(Why), st.integers(1, 5)), min_size=1))
def test_whatever_is_published_in_a_row_the_kstatus_rules_hold(rounds):
    conditions, flips, last = (), NOW, None
    for minute, (build, reason, generation) in enumerate(rounds):
        now = NOW + timedelta(minutes=minute)
        conditions = publish(conditions, build(reason), generation=generation, now=now)
        shown = types(conditions)
        flips, last = (now, shown["Ready"]) if shown["Ready"] != last else (flips, last)
        assert not {"Reconciling", "Stalled"} <= set(shown)
        assert set(shown.values()) - {shown["Ready"]} <= {"True"}
        assert all(condition.reason == reason.value for condition in conditions)
        assert all(condition.observed_generation == generation for condition in conditions)
        main = next(condition for condition in conditions if condition.type == "Ready")
        assert main.last_transition_time == flips


statements = st.builds(
    Statement,
    st.sampled_from(["Drained", "Upgraded", "Checked"]),
    st.sampled_from(Status),
    st.sampled_from(Why),
    st.just(""),
    st.booleans(),
)


@given(st.lists(statements))
def test_a_summary_is_ready_only_when_every_part_is_good(parts):
    good = all(part.status is Status.TRUE and not part.stalled for part in parts)
    summary = summarise(parts, Why.ALL_DONE)
    assert (summary[0].status is Status.TRUE) == good
