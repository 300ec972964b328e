from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.barrier import Gone, Seen
from shiplift.engine.step import Answer, Operation, Outcome, Outcomes, Started, Step
from shiplift.facts.kinds import NODE, POD

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Cordon(Step, frozen=True):
    node: str
    uid: str
    taints: tuple[str, ...] = ()
    urgent: bool = False

    @property
    def key(self) -> str:
        return f"cordon {self.uid}"

    def describe(self) -> str:
        return f"cordon node {self.node}"


class Install(Operation, frozen=True):
    node: str

    @property
    def key(self) -> str:
        return f"install {self.node}"

    def describe(self) -> str:
        return f"install kubelet on {self.node}"


class Mute(Step, frozen=True):
    node: str


cordon = Cordon("n1", "u1")


def test_a_step_that_cannot_say_itself_cannot_be_made():
    with pytest.raises(TypeError, match="describe"):
        Mute("n1")


def test_a_step_says_itself_in_one_line_and_gives_plain_fields():
    assert cordon.describe() == "cordon node n1"
    assert cordon.fields() == {"step": "Cordon", "node": "n1", "uid": "u1", "urgent": False}


def test_steps_are_told_apart_by_their_tag_on_the_wire():
    assert msgspec.json.decode(msgspec.json.encode(cordon))["type"] == "Cordon"
    both = Cordon | Install
    assert msgspec.json.decode(msgspec.json.encode(cordon), type=both) == cordon


def test_steps_are_values():
    assert cordon == Cordon("n1", "u1")
    with pytest.raises(AttributeError):
        cordon.node = "n2"


def test_an_operation_needs_the_record_of_its_start():
    with pytest.raises(TypeError, match="started"):
        Install(node="n1")


def test_the_record_of_a_start_holds_its_deadline():
    started = Started.begin("install-n1", NOW, 90 * SECOND)
    assert started == Started("install-n1-1", NOW, NOW + 90 * SECOND, 1)
    assert not started.overdue(NOW + 89 * SECOND)
    assert started.overdue(NOW + 90 * SECOND)
    assert started.remaining(NOW + 60 * SECOND) == 30 * SECOND
    assert started.remaining(NOW + 600 * SECOND) == timedelta(0)


def test_another_attempt_is_another_operation():
    first = Started.begin("install-n1", NOW, 90 * SECOND)
    second = first.again("install-n1", NOW + 100 * SECOND, 90 * SECOND)
    assert second.attempt == 2
    assert second.deadline == NOW + 190 * SECOND
    assert Install(first, "n1").key == Install(second, "n1").key
    assert Install(first, "n1").identity != Install(second, "n1").identity


@pytest.mark.parametrize("limit", [timedelta(0), -SECOND])
def test_an_operation_without_time_is_refused(limit):
    with pytest.raises(ValueError, match="install-n1 has a limit"):
        Started.begin("install-n1", NOW, limit)


def test_the_record_survives_being_persisted():
    started = Started.begin("install-n1", NOW, 90 * SECOND)
    text = msgspec.json.encode(started)
    assert msgspec.json.decode(text, type=Started) == started


def test_each_answer_has_its_own_constructor():
    barrier = Seen(NODE, 7)
    assert Outcome.done(cordon, barrier).barriers == (barrier,)
    assert Outcome.done(cordon).ok
    refused = Outcome.refused(cordon, "pdb web", 10 * SECOND)
    assert (refused.answer, refused.ok, refused.retry_after) == (Answer.REFUSED, False, 10 * SECOND)
    assert Outcome.failed(cordon, "422").answer is Answer.FAILED
    unknown = Outcome.unknown(cordon, "timeout", Gone(POD, "u"))
    assert (unknown.answer, unknown.barriers) == (Answer.UNKNOWN, (Gone(POD, "u"),))


def test_nothing_is_remembered_of_a_step_that_was_never_taken():
    assert Outcomes().of(cordon) is None


def test_outcomes_are_dated_when_remembered():
    outcome = Outcomes().remember([Outcome.done(cordon)], NOW).of(cordon)
    assert outcome is not None
    assert outcome.at == NOW


def test_remembering_does_not_change_what_was_handed_out():
    before = Outcomes()
    before.remember([Outcome.done(cordon)], NOW)
    assert before == Outcomes()


def test_attempts_are_counted_until_one_goes_well():
    answers = [
        Outcome.failed(cordon, "a"),
        Outcome.refused(cordon, "b"),
        Outcome.unknown(cordon, "c"),
        Outcome.done(cordon),
        Outcome.failed(cordon, "d"),
        Outcome.failed(cordon, "e"),
    ]
    memory, attempts = Outcomes(), []
    for answer in answers:
        memory = memory.remember([answer], NOW)
        attempts.append(memory.last[cordon.key].attempt)
    assert attempts == [1, 2, 3, 4, 1, 2]


def test_only_so_many_outcomes_are_kept_and_the_oldest_go_first():
    memory = Outcomes(most=3)
    for number in range(5):
        memory = memory.remember([Outcome.done(Cordon("n", str(number)))], NOW)
    memory = memory.remember([Outcome.done(Cordon("n", "2"))], NOW)
    memory = memory.remember([Outcome.done(Cordon("n", "9"))], NOW)
    assert list(memory.last) == ["cordon 4", "cordon 2", "cordon 9"]


def test_what_fails_keeps_its_count_however_many_fail():
    many = [Cordon("n", str(number)) for number in range(3000)]
    memory = Outcomes()
    for _ in range(3):
        memory = memory.remember([Outcome.failed(step, "no") for step in many], NOW)
        memory = memory.remember([Outcome.done(Cordon("n", f"well {one}")) for one in range(2000)], NOW)
    assert {memory.last[step.key].attempt for step in many} == {3}
    assert not any(one.ok for one in memory.last.values()), "what went well is forgotten first"


def test_what_fails_is_bounded_too(monkeypatch):
    monkeypatch.setattr("shiplift.engine.step.MOST_FAILING", 5)
    memory = Outcomes(most=3)
    memory = memory.remember([Outcome.failed(Cordon("n", str(one)), "no") for one in range(9)], NOW)
    assert list(memory.last) == [f"cordon {one}" for one in range(4, 9)]


@given(st.lists(st.sampled_from(Answer), min_size=1))
def test_the_attempt_counts_the_failures_just_before_it(answers):
    memory = Outcomes()
    for answer in answers:
        memory = memory.remember([Outcome(step="s", answer=answer)], NOW)
    row = 0
    for answer in answers[:-1]:
        row = 0 if answer is Answer.OK else row + 1
    assert memory.last["s"].attempt == row + 1
