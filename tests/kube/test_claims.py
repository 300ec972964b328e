"""Claims: written down before the step, ended only with proof."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine import claims
from shiplift.engine.claims import Claim, ClaimError, NotSpoiled, Sighting, StaleClaim, Target
from shiplift.facts.kinds import NODE, POD

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def claim(step: str = "evict", uid: str = "u1", epoch: int = 1, version: str = "10") -> Claim:
    return Claim(step, Target(POD, f"pod-{uid}", uid, version, "shop"), epoch, AT)


any_claim = st.builds(
    claim,
    step=st.sampled_from(["evict", "delete"]),
    uid=st.sampled_from(["u1", "u2", "u3"]),
    epoch=st.integers(1, 5),
    version=st.sampled_from(["10", "11"]),
)


def added(*wanted: Claim) -> claims.Claims:
    known: claims.Claims = ()
    for one in sorted(wanted, key=lambda claim: claim.epoch):
        known = claims.add(known, one)
    return known


@given(st.lists(any_claim, max_size=8))
def test_what_is_written_is_read_back(wanted: list[Claim]) -> None:
    known = added(*wanted)
    text = claims.write(known)
    assert claims.read({claims.ANNOTATION: text} if text else {}) == known


@given(st.lists(any_claim, max_size=8), any_claim)
def test_claiming_twice_is_claiming_once(wanted: list[Claim], one: Claim) -> None:
    known = claims.add(tuple(c for c in added(*wanted) if c.epoch <= one.epoch), one)
    assert claims.add(known, one) == known
    assert [c for c in known if c.identity == one.identity] == [one]


@given(st.lists(any_claim, max_size=8), any_claim)
def test_a_leader_of_an_earlier_epoch_adds_nothing(wanted: list[Claim], one: Claim) -> None:
    known = added(*wanted)
    if any(c.epoch > one.epoch for c in known):
        with pytest.raises(StaleClaim, match=f"epoch {one.epoch} is over"):
            claims.add(known, one)
    else:
        assert one in claims.add(known, one)


@given(st.lists(any_claim, max_size=8), any_claim)
def test_completing_ends_that_claim_and_no_other(wanted: list[Claim], one: Claim) -> None:
    known = added(*wanted)
    after = claims.complete(known, one)
    assert set(known) - set(after) <= {
        c for c in known if c.identity == one.identity and c.epoch <= one.epoch
    }
    assert not [c for c in after if c.identity == one.identity and c.epoch <= one.epoch]


def test_a_stale_leader_does_not_complete_what_a_later_one_claimed() -> None:
    known = added(claim(epoch=3))
    assert claims.complete(known, claim(epoch=2)) == known


@given(any_claim, st.sampled_from(["", "u1", "u2"]), st.sampled_from(["10", "11", "12"]))
def test_a_claim_is_withdrawn_only_when_its_preconditions_fail(one: Claim, uid: str, version: str) -> None:
    seen = Sighting(uid, version)
    if (uid, version) == (one.target.uid, one.target.resource_version):
        with pytest.raises(NotSpoiled, match="may still happen"):
            claims.withdraw((one,), one, seen)
    else:
        assert claims.withdraw((one,), one, seen) == ()


def test_claims_of_earlier_leaders_are_told_apart_from_ours() -> None:
    old, ours = claim(uid="u1", epoch=1), claim(uid="u2", epoch=2)
    assert claims.from_before(added(old, ours), 2) == (old,)


@pytest.mark.parametrize("text", ["nonsense", "{}", '[{"step": 1}]', '[{"step": "evict"}]'])
def test_claims_that_cannot_be_read_are_an_error_not_an_absence(text: str) -> None:
    with pytest.raises(ClaimError, match="cannot be read"):
        claims.read({claims.ANNOTATION: text})


def test_there_is_a_bound_and_it_fits_into_an_annotation() -> None:
    known = tuple(claim("delete " + "s" * 100, f"{number:036}") for number in range(claims.MOST_OPEN))
    text = claims.write(known)
    assert text is not None
    assert len(text) < 200 * 1024
    with pytest.raises(ClaimError, match="256 claims are open already"):
        claims.add(known, claim("one more"))


def test_a_target_says_itself_with_and_without_a_namespace() -> None:
    assert str(claim().target) == "Pod shop/pod-u1"
    assert str(Target(NODE, "worker-1", "u", "1")) == "Node worker-1"
