"""Who is told what, and whose alerts are silenced for how long."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from shiplift.engine.step import Outcome, Outcomes
from shiplift.notify.decide import decide
from shiplift.notify.model import (
    LASTS,
    RENEWED,
    Address,
    Addressed,
    Deliver,
    EndSilence,
    Forget,
    Held,
    HoldSilence,
    Put,
    Silence,
    View,
)
from shiplift.notify.silences import Silences
from shiplift.outside.letters import Box, Letter
from tests.notify.configs import ALERTS, START, WEBHOOK, config, over, running

OTHER = {"name": "pager", "url": "https://pager.example"}
HOLDS = Silence("alerts", "https://alerts.example", "u")


def names(view: View) -> list[str]:
    return [type(one).__name__ for one in decide(view, START).steps]


def boxed(view: View) -> Box:
    """The outbox after what is decided."""
    box = view.box or Box()
    for step in decide(view, START).steps:
        if isinstance(step, Put):
            box = box.put(step.letters)
    return box


def test_without_anybody_to_tell_nothing_is_done() -> None:
    assert names(View(upgrade=config(running()), box=Box())) == []
    assert names(View(box=Box())) == []


def test_each_receiver_is_told_and_has_its_own_place_in_what_was_told() -> None:
    view = View(upgrade=config(running(), WEBHOOK, OTHER), box=Box())
    box = boxed(view)
    assert [(one.receiver, one.id.rpartition("-")[2]) for one in box.letters] == [
        ("chat", "started"),
        ("pager", "started"),
    ]
    body = msgspec.json.decode(box.letters[0].body, type=Addressed)
    assert (body.url, body.event["type"]) == (WEBHOOK["url"], "dev.shiplift.upgrade.started")
    later = View(upgrade=config(running(), WEBHOOK, OTHER), box=box)
    assert names(later) == ["Deliver", "Deliver"]
    assert boxed(later) == box


def test_of_an_upgrade_config_that_is_gone_all_that_was_noted_is_told() -> None:
    box = boxed(View(upgrade=config(running(), WEBHOOK), box=Box()))
    assert names(View(box=box)) == ["Deliver"]


def test_whoever_is_named_no_more_is_not_told() -> None:
    box = boxed(View(upgrade=config(running(), WEBHOOK), box=Box()))
    (step,) = decide(View(upgrade=config(running()), box=box), START).steps
    assert isinstance(step, Forget)


def test_what_could_not_be_delivered_waits_for_as_long_as_was_said() -> None:
    letter = Letter("x", "chat", START)
    failed = Outcome.refused(Deliver(letter, Address(WEBHOOK["url"])), "away", timedelta(seconds=15))
    outcomes = Outcomes().remember([failed], START)
    view = View(upgrade=config({}, WEBHOOK), box=Box(letters=(letter,)), outcomes=outcomes)
    decision = decide(view, START + timedelta(seconds=5))
    assert decision.steps == ()
    assert decision.look_again_after == timedelta(seconds=10)
    assert decision.troubles == ("chat cannot be told: away",)
    assert decide(view, START + timedelta(seconds=15)).steps
    mended = config({}, WEBHOOK | {"url": "https://mended.example/hook"})
    elsewhere = decide(msgspec.structs.replace(view, upgrade=mended), START)
    assert elsewhere.steps == (Deliver(letter, Address("https://mended.example/hook")),)
    assert elsewhere.troubles == ()


def test_a_letter_goes_to_where_its_receiver_is_now_and_by_its_own_address_when_nobody_says_so() -> None:
    box = boxed(View(upgrade=config(running(), WEBHOOK), box=Box()))
    token = {"name": "chat-token", "key": "token"}
    mended = WEBHOOK | {"url": "https://mended.example/hook", "token": token}
    (step,) = decide(View(upgrade=config(running(), mended), box=box), START).steps
    assert isinstance(step, Deliver)
    assert step.to is not None
    assert (step.to.url, step.to.token is not None) == (mended["url"], True)
    (step,) = decide(View(box=box), START).steps
    assert step == Deliver(box.letters[0])


def test_an_outbox_that_cannot_be_read_is_told() -> None:
    view = View(upgrade=config(running(), WEBHOOK), trouble="box of ConfigMap x/y is damaged")
    assert decide(view, START).troubles == ("box of ConfigMap x/y is damaged",)


def test_while_nobody_knows_what_there_is_nothing_is_told_and_nothing_ended() -> None:
    held = {HOLDS.place: Held(HOLDS, START)}
    assert names(View(unsure=True, box=Box(letters=(Letter("x", "chat", START),)), held=held)) == []
    assert names(View(upgrade=config(running(), WEBHOOK), box=None)) == []


def test_alerts_are_silenced_while_an_upgrade_runs_and_only_then() -> None:
    (step,) = decide(View(upgrade=config(running(), ALERTS), box=Box()), START).steps
    assert step == HoldSilence(HOLDS, START + LASTS)
    assert names(View(upgrade=config({}, ALERTS), box=Box())) == []
    assert names(View(upgrade=config(over(), ALERTS), box=Box())) == []


def test_a_silence_is_renewed_long_before_it_ends() -> None:
    view = View(upgrade=config(running(), ALERTS), box=Box(), held={HOLDS.place: Held(HOLDS, START)})
    assert RENEWED * 3 < LASTS
    early = decide(view, START + RENEWED / 2)
    assert (early.steps, early.look_again_after) == ((), RENEWED / 2)
    (step,) = decide(view, START + RENEWED).steps
    assert isinstance(step, HoldSilence)


def test_it_ends_with_the_upgrade_with_its_receiver_and_with_its_object() -> None:
    held = {HOLDS.place: Held(HOLDS, START)}
    for upgrade in (config(over(), ALERTS), config(running()), None):
        (step,) = decide(View(upgrade=upgrade, box=Box(), held=held), START).steps
        assert step == EndSilence(HOLDS)


def test_another_address_is_another_silence_and_does_not_wait_for_the_end_of_the_first() -> None:
    elsewhere = ALERTS | {"url": "https://elsewhere.example"}
    held = {HOLDS.place: Held(HOLDS, START)}
    view = View(upgrade=config(running(), elsewhere), box=Box(), held=held)
    ended, holds = decide(view, START).steps
    assert ended == EndSilence(HOLDS)
    assert isinstance(holds, HoldSilence)
    assert ended.lane != holds.lane
    assert "elsewhere" not in holds.key


def test_what_nobody_could_end_is_over_by_itself() -> None:
    times = [START, START + LASTS / 2, START + LASTS]
    silences = Silences(lambda: times.pop(0), lambda: None)
    silences.held(HOLDS)
    assert list(silences.all()) == [HOLDS.place]
    assert silences.all() == {}


def test_two_receivers_at_one_alertmanager_have_a_silence_each() -> None:
    other = ALERTS | {"name": "others", "matchers": {"cluster": "two"}}
    steps = decide(View(upgrade=config(running(), ALERTS, other), box=Box()), START).steps
    silences = [one.silence for one in steps if isinstance(one, HoldSilence)]
    assert len({one.comment for one in silences}) == len({one.place for one in silences}) == 2
