"""Claims: written down before the step, ended only with proof."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine import claims
from shiplift.engine.claims import Claim, ClaimError, NotSpoiled, Sighting, StaleClaim, Target
from shiplift.facts.kinds import CONFIG_MAP, NODE, POD
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, NotFound
from shiplift.local.cluster import Cluster

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


# --- kept in a real object ---


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as made:
        yield made


@pytest.fixture
def book(client: Client, namespace: str) -> ClaimBook:
    client.create(CONFIG_MAP, {"metadata": {"name": "state"}}, namespace)
    return ClaimBook(client, CONFIG_MAP, "state", namespace)


def real_claim(client: Client, namespace: str, name: str = "target", epoch: int = 1) -> Claim:
    meta = client.create(CONFIG_MAP, {"metadata": {"name": name}}, namespace).object["metadata"]
    target = Target(CONFIG_MAP, name, meta["uid"], meta["resourceVersion"], namespace)
    return Claim("delete", target, epoch, AT)


def test_a_claim_is_kept_until_it_is_completed(book: ClaimBook, client: Client, namespace: str) -> None:
    one = real_claim(client, namespace)
    book.claim(one)
    assert book.open_claims() == (one,)
    book.complete(one)
    assert book.open_claims() == ()
    assert not client.get(CONFIG_MAP, "state", namespace)["metadata"].get("annotations")


def test_claiming_again_writes_nothing(book: ClaimBook, client: Client, namespace: str) -> None:
    one = real_claim(client, namespace)
    book.claim(one)
    version = client.get(CONFIG_MAP, "state", namespace)["metadata"]["resourceVersion"]
    book.claim(one)
    assert client.get(CONFIG_MAP, "state", namespace)["metadata"]["resourceVersion"] == version


def test_claims_made_at_the_same_time_are_all_kept(book: ClaimBook, client: Client, namespace: str) -> None:
    wanted = [real_claim(client, namespace, f"target-{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(book.claim, wanted))
    assert set(book.open_claims()) == set(wanted)


def test_a_withdrawn_step_cannot_happen_any_more_and_leaves_no_trace(
    book: ClaimBook, client: Client, namespace: str
) -> None:
    one = real_claim(client, namespace)
    book.claim(one)
    book.withdraw(one)
    assert book.open_claims() == ()
    target = one.target
    with pytest.raises(Conflict):
        client.delete(
            CONFIG_MAP, target.name, namespace, uid=target.uid, resource_version=target.resource_version
        )
    left = client.get(CONFIG_MAP, target.name, namespace)["metadata"]
    assert not left.get("labels")
    assert not left.get("annotations")


def test_a_claim_on_what_is_gone_is_withdrawn_without_making_it_again(
    book: ClaimBook, client: Client, namespace: str
) -> None:
    one = real_claim(client, namespace)
    book.claim(one)
    client.delete(CONFIG_MAP, one.target.name, namespace, uid=one.target.uid)
    book.withdraw(one)
    assert book.open_claims() == ()
    with pytest.raises(NotFound):
        client.get(CONFIG_MAP, one.target.name, namespace)


def test_a_claim_on_what_was_replaced_leaves_the_new_object_alone(
    book: ClaimBook, client: Client, namespace: str
) -> None:
    one = real_claim(client, namespace)
    book.claim(one)
    client.delete(CONFIG_MAP, one.target.name, namespace, uid=one.target.uid)
    replaced = client.create(CONFIG_MAP, {"metadata": {"name": one.target.name}}, namespace).object
    book.withdraw(one)
    now = client.get(CONFIG_MAP, one.target.name, namespace)
    assert now["metadata"]["resourceVersion"] == replaced["metadata"]["resourceVersion"]


def test_a_stale_leader_cannot_claim_beside_a_later_one(
    book: ClaimBook, client: Client, namespace: str
) -> None:
    book.claim(real_claim(client, namespace, "later", epoch=2))
    with pytest.raises(StaleClaim):
        book.claim(real_claim(client, namespace, "stale", epoch=1))
