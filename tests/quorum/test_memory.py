"""What a term remembers of a service, and for how long."""

from __future__ import annotations

from datetime import timedelta

from shiplift.engine import clock
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Candidate, Validity
from tests.quorum.decide.views import GOOD, IMAGE, TAGGED


def test_an_image_is_known_by_its_name_and_by_its_digest_and_no_other_is() -> None:
    memory = Memory()
    memory.learn(TAGGED, GOOD, None)
    assert memory.candidate(TAGGED) == memory.candidate(IMAGE) == GOOD
    assert memory.candidate("another:1").validity is Validity.UNKNOWN
    memory.forget()
    assert memory.candidate(TAGGED).validity is Validity.UNKNOWN


def test_an_image_that_was_refused_is_looked_at_again_after_a_while() -> None:
    memory = Memory()
    for age, validity in (
        (timedelta(minutes=9), Validity.REFUSED),
        (timedelta(minutes=11), Validity.UNKNOWN),
    ):
        memory.learn(TAGGED, Candidate(Validity.REFUSED, message="x", verified=clock.now() - age), None)
        assert memory.candidate(TAGGED).validity is validity


def test_who_rehearsed_or_staged_another_binary_has_not_this_one() -> None:
    memory = Memory()
    memory.staged = memory.rehearsed = frozenset({"uid"})
    memory.learn(TAGGED, GOOD, None)
    assert not memory.staged
    assert not memory.rehearsed
