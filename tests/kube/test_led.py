"""A layer writes only as long as we lead."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from shiplift.engine.barrier import Barrier, Seen
from shiplift.engine.decision import Decision, Requeue
from shiplift.engine.loop import Loop
from shiplift.engine.step import Answer, Outcome, Outcomes, Step
from shiplift.facts.kinds import NODE
from shiplift.kube.lease import NotLeading
from shiplift.kube.led import Led
from tests.kube.steps import Write
from tests.until import until

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Writer:
    def __init__(self) -> None:
        self.writes: list[str] = []
        self.looks = 0

    def observe(self, key: str, outcomes: Outcomes) -> str:
        self.looks += 1
        return key

    def decide(self, view: str, now: datetime) -> Decision:
        return Decision((Write(),))

    def act(self, step: Step) -> Outcome:
        self.writes.append("step")
        return Outcome.done(step)

    def publish(self, key: str, decision: Decision) -> Iterable[Barrier | Requeue]:
        self.writes.append("status")
        return (Seen(NODE, 1),)


class Teller(Writer):
    """Has nothing to do, only to tell."""

    def decide(self, view: str, now: datetime) -> Decision:
        return Decision()


def leads() -> None:
    """Still."""


def lost() -> None:
    raise NotLeading("somebody else leads")


def test_a_leader_takes_steps_and_tells() -> None:
    writer = Writer()
    led = Led(writer, leads)
    decision = led.decide(led.observe("a", Outcomes()), NOW)
    assert led.act(decision.steps[0]).ok
    assert list(led.publish("a", decision)) == [Seen(NODE, 1)]
    assert writer.writes == ["step", "status"]


def test_who_leads_no_more_writes_nothing_and_says_why() -> None:
    writer = Writer()
    led = Led(writer, lost)
    outcome = led.act(Write())
    assert (outcome.answer, outcome.message) == (Answer.REFUSED, "somebody else leads")
    assert list(led.publish("a", Decision())) == [Requeue(timedelta(seconds=1))]
    assert not writer.writes


def test_what_was_not_told_while_the_lease_was_late_is_decided_anew_when_it_is_fine() -> None:
    """No event may come for it: the key would be silent until its next look, or for ever."""
    writer, late = Teller(), [True]

    def check() -> None:
        if late:
            raise NotLeading("it is late")

    loop = Loop("toy", Led(writer, check), settled=lambda _: True)
    loop.start()
    try:
        loop.wake("a", timedelta(0))
        until(lambda: writer.looks >= 1)
        late.clear()
        until(lambda: "status" in writer.writes)
    finally:
        assert loop.stop(timedelta(seconds=5))
