"""What a term remembers of a service, and for how long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shiplift.engine import clock
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.validating import Trust
from tests.quorum.decide.views import GOOD, IMAGE, TAGGED

TRUST = Trust(minisign_key="RW")


def test_an_image_is_known_by_its_name_and_by_its_digest_and_no_other_is() -> None:
    memory = Memory()
    memory.learn(TAGGED, TRUST, GOOD, None)
    assert memory.candidate(TAGGED, TRUST) == memory.candidate(IMAGE, TRUST) == GOOD
    assert memory.candidate("another:1", TRUST).validity is Validity.UNKNOWN
    memory.forget()
    assert memory.candidate(TAGGED, TRUST).validity is Validity.UNKNOWN


@pytest.mark.parametrize(
    "trust",
    [Trust(), Trust("RW", cosign_key="PEM"), Trust("RW", registries=("quay.io",)), Trust("another")],
)
def test_what_was_found_with_another_trust_is_not_known(trust: Trust) -> None:
    memory = Memory()
    for found in (GOOD, Candidate(Validity.REFUSED, message="x", verified=clock.now())):
        memory.learn(TAGGED, TRUST, found, None)
        assert memory.candidate(TAGGED, trust).validity is Validity.UNKNOWN


def test_an_image_that_was_refused_is_looked_at_again_after_a_while() -> None:
    memory = Memory()
    for age, validity in (
        (timedelta(minutes=9), Validity.REFUSED),
        (timedelta(minutes=11), Validity.UNKNOWN),
    ):
        memory.learn(
            TAGGED, TRUST, Candidate(Validity.REFUSED, message="x", verified=clock.now() - age), None
        )
        assert memory.candidate(TAGGED, TRUST).validity is validity


def test_who_rehearsed_or_staged_another_binary_has_not_this_one() -> None:
    memory = Memory()
    memory.staged = memory.rehearsed = frozenset({"uid"})
    memory.learn(TAGGED, TRUST, GOOD, None)
    assert not memory.staged
    assert not memory.rehearsed
