"""What is taken of a step: a letter to where it belongs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from shiplift.kube.client import Client
from shiplift.kube.config import ConfigReader
from shiplift.notify.act import Actor
from shiplift.notify.config import Section
from shiplift.notify.model import Deliver
from shiplift.notify.silences import Silences
from shiplift.outside.letters import Letter
from shiplift.outside.outbox import Outbox
from tests.notify.configs import START


class Box:
    """Notes what was taken out."""

    def __init__(self) -> None:
        self.taken: list[Letter] = []

    def done(self, letter: Letter) -> None:
        self.taken.append(letter)


def test_a_letter_that_cannot_be_read_is_left_and_holds_up_nobody() -> None:
    box = Box()
    silences = Silences(lambda: datetime.now(UTC), lambda: None)
    nobody, nothing = cast("Client", None), cast("ConfigReader[Section]", None)
    actor = Actor(nobody, "x", cast("Outbox", box), nothing, silences)
    letter = Letter("1", "chat", START, "{")
    outcome = actor.act(Deliver(letter))
    assert (outcome.ok, box.taken) == (True, [letter])
    assert outcome.message == "what chat was to be told cannot be read"
