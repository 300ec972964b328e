"""Leader election on a real API server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.kinds import LEASE
from shiplift.kube import credentials, lease
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, NotFound, Unauthorized, Unreachable
from shiplift.kube.lease import (
    LAST_EPOCH,
    LONGEST,
    NOT_ACTING,
    Leader,
    Move,
    NotLeading,
    Record,
    Timing,
    idleness,
    next_epoch,
    next_move,
)
from shiplift.local.accounts import with_token
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.kube import operator_identity
from tests.until import until

SHORT = Timing(duration=2, renew_deadline=1.5, retry=0.2, follow=0.05)
LONG = Timing(duration=600, renew_deadline=300, retry=0.2, follow=0.05)

OTHERS = Record(holder_identity="other", lease_duration_seconds=15)

Start = Callable[..., Leader]


@pytest.fixture
def start(cluster: Cluster, namespace: str) -> Iterator[Start]:
    """Candidates for the one Lease of the test's namespace."""
    started: list[Leader] = []

    def begin(timing: Timing = SHORT, **options: Any) -> Leader:
        where = options.pop("credentials", None) or cluster.credentials()
        leader = Leader(where, options.pop("namespace", namespace), timing=timing, **options)
        leader.start()
        started.append(leader)
        return leader

    yield begin
    for leader in started:
        leader.stop()


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


def spec_of(admin: Client, namespace: str) -> dict[str, Any]:
    return admin.get(LEASE, "shiplift", namespace)["spec"]


def overwrite(admin: Client, namespace: str, **spec: Any) -> None:
    found = admin.get(LEASE, "shiplift", namespace)
    patch = {"spec": spec}
    admin.patch(LEASE, "shiplift", patch, namespace, uid=found["metadata"]["uid"])


# --- what a candidate may do ---


@pytest.mark.parametrize(
    ("record", "leading", "unchanged_for", "move"),
    [
        (None, False, 0, Move.CREATE),
        (None, True, 0, Move.CREATE),
        (Record(), False, 0, Move.TAKE),
        (Record(holder_identity="me", lease_duration_seconds=15), True, 0, Move.RENEW),
        (Record(holder_identity="me", lease_duration_seconds=15), False, 0, Move.TAKE),
        (Record(holder_identity="other", lease_duration_seconds=15), False, 14.9, Move.FOLLOW),
        (Record(holder_identity="other", lease_duration_seconds=15), True, 14.9, Move.FOLLOW),
        (Record(holder_identity="other", lease_duration_seconds=15), False, 15, Move.TAKE),
        (Record(holder_identity="ghost", lease_duration_seconds=3600), False, 59.9, Move.FOLLOW),
        (Record(holder_identity="ghost", lease_duration_seconds=3600), False, 60, Move.TAKE),
    ],
)
def test_what_follows_from_a_lease(
    record: Record | None, leading: bool, unchanged_for: float, move: Move
) -> None:
    assert next_move(record, "me", leading=leading, unchanged_for=unchanged_for) is move


@pytest.mark.parametrize(
    ("record", "not_acting", "unchanged_for", "said"),
    [
        (None, "", 0.0, "nobody leads"),
        (Record(lease_duration_seconds=1), "", 0.0, "nobody leads"),
        (OTHERS, "", 14.0, ""),
        (OTHERS, "", 15.0, "other led, and does not renew its lease any more"),
        (OTHERS, "no fence", 1.0, "other leads, but does not act: no fence"),
    ],
)
def test_a_lease_says_whether_anybody_acts(
    record: Record | None, not_acting: str, unchanged_for: float, said: str
) -> None:
    assert idleness(record, not_acting, unchanged_for) == said


@given(st.floats(0, 1e6), st.integers(1, 1000), st.booleans())
def test_a_lease_that_another_holds_is_never_taken_before_it_has_run_out(
    unchanged_for: float, duration: int, leading: bool
) -> None:
    held = Record(holder_identity="other", lease_duration_seconds=duration)
    move = next_move(held, "me", leading=leading, unchanged_for=unchanged_for)
    assert (move is Move.FOLLOW) == (unchanged_for < min(duration, LONGEST))


@given(st.integers(0, LAST_EPOCH - 1), st.integers(0, 2**31 - 1))
def test_the_next_epoch_is_above_the_fence_and_one_that_the_fence_can_compare(
    raised: int, highest: int
) -> None:
    assert raised < next_epoch(raised, highest) <= LAST_EPOCH


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_terms_that_raised_no_fence_count_too(raised: int, highest: int) -> None:
    assert next_epoch(raised, highest) == 1 + max(raised, highest)


def test_what_the_lease_says_now_counts_where_it_said_too_much_before() -> None:
    assert next_epoch(0, LAST_EPOCH, 7) == 8


def test_leaders_that_cannot_go_by_their_lease_do_not_take_the_same_epoch() -> None:
    assert len({next_epoch(7, LAST_EPOCH) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration": 10, "renew_deadline": 10},
        {"renew_deadline": 2, "retry": 2},
        {"retry": 0},
        {"follow": 0},
        {"duration": 15.5},
    ],
)
def test_times_that_cannot_be_safe_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a lease needs"):
        Timing(**wrong)


# --- leading ---


def test_the_first_candidate_leads_and_says_so_in_the_lease(
    start: Start, admin: Client, namespace: str
) -> None:
    told: list[int] = []
    leader = start(on_leading=told.append)
    assert leader.wait_leading(30)
    assert leader.check() == 1
    assert told == [1]
    spec = spec_of(admin, namespace)
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == (leader.identity, 1)
    assert spec["leaseDurationSeconds"] == 2


def test_a_leader_renews_and_keeps_its_epoch(start: Start, admin: Client, namespace: str) -> None:
    leader = start(LONG)
    assert leader.wait_leading(30)
    before, deadline = spec_of(admin, namespace), leader.deadline()
    until(lambda: leader.deadline() > deadline)
    after = spec_of(admin, namespace)
    assert after["renewTime"] > before["renewTime"]
    assert after["acquireTime"] == before["acquireTime"]
    assert leader.check() == 1


def test_an_epoch_starts_above_the_floor(start: Start) -> None:
    leader = start(floor=lambda: 41)
    assert leader.wait_leading(30)
    assert leader.check() == 42


def test_a_candidate_that_does_not_lead_may_not_write(start: Start) -> None:
    first = start(LONG)
    assert first.wait_leading(30)
    second = start(LONG)
    until(lambda: second.holder == first.identity)
    with pytest.raises(NotLeading, match="does not lead"):
        second.check()


def test_a_step_decided_in_an_earlier_term_may_not_be_taken(start: Start) -> None:
    leader = start(LONG)
    assert leader.wait_leading(30)
    assert leader.check(1) == 1
    with pytest.raises(NotLeading, match="epoch 7 is over, now is 1"):
        leader.check(7)


def test_stopping_hands_over_at_once(start: Start, admin: Client, namespace: str) -> None:
    """The Lease would last ten minutes: only letting go of it can let the second lead now."""
    lost: list[str] = []
    first = start(LONG, on_lost=lost.append)
    assert first.wait_leading(30)
    second = start(LONG)
    until(lambda: second.holder == first.identity)
    first.stop()
    with pytest.raises(NotLeading):
        first.check()
    assert lost == ["stopped"]
    assert second.wait_leading(30)
    assert second.check() == 2
    assert not first.alive


def test_what_kept_a_holder_from_acting_goes_with_it(start: Start, admin: Client, namespace: str) -> None:
    def why() -> str:
        about: dict[str, Any] = admin.get(LEASE, "shiplift", namespace)["metadata"]
        annotations: dict[str, str] = about.get("annotations") or {}
        return annotations.get(NOT_ACTING, "")

    first = start()
    assert first.wait_leading(10)
    first.tell("the fence does not hold")
    until(lambda: why() == "the fence does not hold")
    first.stop()
    assert not spec_of(admin, namespace).get("holderIdentity")
    assert why() == ""


def test_a_follower_that_stops_leaves_the_lease_alone(start: Start, admin: Client, namespace: str) -> None:
    first = start(LONG)
    assert first.wait_leading(30)
    second = start(LONG)
    until(lambda: second.holder == first.identity)
    second.stop()
    assert spec_of(admin, namespace)["holderIdentity"] == first.identity
    assert first.leading


@pytest.mark.crash
def test_a_dead_leader_is_followed_when_its_lease_has_run_out(
    start: Start, admin: Client, namespace: str
) -> None:
    """Its wall clock was a year ahead, which must not matter."""
    spec = {"holderIdentity": "dead", "leaseDurationSeconds": 2, "renewTime": "2099-01-01T00:00:00.000000Z"}
    admin.create(LEASE, {"metadata": {"name": "shiplift"}, "spec": spec | {"leaseTransitions": 7}}, namespace)
    begun = lease.now()
    leader = start()
    assert leader.wait_leading(30)
    assert lease.now() - begun >= 2
    assert leader.check() == 8


def test_a_leader_whose_lease_was_taken_stops_at_once(start: Start, admin: Client, namespace: str) -> None:
    lost: list[str] = []
    leader = start(LONG, on_lost=lost.append)
    assert leader.wait_leading(30)
    overwrite(admin, namespace, holderIdentity="thief", leaseTransitions=2)
    assert until(lambda: lost) == ["thief leads"]
    assert not leader.leading


def test_a_lease_edited_by_somebody_else_is_still_ours(start: Start, admin: Client, namespace: str) -> None:
    leader = start(LONG)
    assert leader.wait_leading(30)
    found = admin.get(LEASE, "shiplift", namespace)
    label = {"metadata": {"labels": {"some": "label"}}}
    version = admin.patch(LEASE, "shiplift", label, namespace, uid=found["metadata"]["uid"]).object
    deadline = leader.deadline()
    until(lambda: leader.deadline() > deadline + 1)
    assert leader.check() == 1
    assert version["metadata"]["labels"] == admin.get(LEASE, "shiplift", namespace)["metadata"]["labels"]


def test_a_deleted_lease_gives_a_new_and_higher_epoch(start: Start, admin: Client, namespace: str) -> None:
    leader = start(LONG)
    assert leader.wait_leading(30)
    uid = admin.get(LEASE, "shiplift", namespace)["metadata"]["uid"]
    admin.delete(LEASE, "shiplift", namespace, uid=uid)
    until(lambda: leader.check() == 2)
    assert spec_of(admin, namespace)["leaseTransitions"] == 2


@pytest.mark.parametrize("edited", [LAST_EPOCH, 2**31 - 1])
def test_a_number_that_somebody_wrote_into_the_lease_is_no_epoch(
    start: Start, admin: Client, namespace: str, edited: int
) -> None:
    """Neither for who led then, nor for who has never seen another number there."""
    leader = start(LONG, floor=lambda: 41)
    assert leader.wait_leading(30)
    overwrite(admin, namespace, leaseTransitions=edited)
    until(lambda: spec_of(admin, namespace)["leaseTransitions"] == 42)
    leader.abandon(42, "tried")
    until(lambda: leader.leading and leader.check() == 43)
    leader.stop()
    overwrite(admin, namespace, leaseTransitions=edited)
    second = start(LONG, floor=lambda: 43)
    assert second.wait_leading(30)
    assert 43 < second.check() < 2_000_000


# --- trouble ---


def test_missing_rights_are_named(
    start: Start, cluster: Cluster, admin: Client, namespace: str, tmp_path: Path
) -> None:
    operator_identity.make_service_account(admin, namespace, [])
    path = operator_identity.kubeconfig(admin, cluster.kubeconfig, tmp_path / "kubeconfig", namespace)
    leader = start(credentials=credentials.load(path))
    trouble = until(lambda: leader.trouble)
    assert isinstance(trouble, Forbidden)
    assert (
        f"grant this user get and update on leases/shiplift, and create on leases, in namespace {namespace}"
        in (str(trouble))
    )
    assert leader.alive


def test_the_rights_that_are_asked_for_are_enough(
    start: Start, cluster: Cluster, admin: Client, namespace: str, tmp_path: Path
) -> None:
    operator_identity.make_service_account(admin, namespace, lease.rules())
    path = operator_identity.kubeconfig(admin, cluster.kubeconfig, tmp_path / "kubeconfig", namespace)
    leader = start(credentials=credentials.load(path))
    assert leader.wait_leading(30)
    leader.stop()
    assert "holderIdentity" not in spec_of(admin, namespace)


def test_refused_credentials_are_named(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    path = with_token(cluster.kubeconfig, tmp_path / "kubeconfig", "no-such-token")
    leader = start(credentials=credentials.load(path))
    trouble = until(lambda: leader.trouble)
    assert isinstance(trouble, Unauthorized)
    assert "is the token expired" in str(trouble)


def test_a_missing_namespace_is_named(start: Start) -> None:
    leader = start(namespace="nowhere")
    trouble = until(lambda: leader.trouble)
    assert isinstance(trouble, NotFound)
    assert "does namespace nowhere exist?" in str(trouble)


@pytest.mark.crash
def test_a_short_absence_of_the_api_server_costs_nothing(
    start: Start, private_cluster: Callable[[], Cluster]
) -> None:
    away = private_cluster()
    leader = start(LONG, credentials=away.credentials(), namespace="default")
    assert leader.wait_leading(30)
    away.kill(Component.API_SERVER)
    assert isinstance(until(lambda: leader.trouble), Unreachable)
    assert leader.check() == 1
    away.start(Component.API_SERVER)
    deadline = leader.deadline()
    until(lambda: leader.deadline() > deadline)
    assert leader.check() == 1
    assert leader.trouble is None


@pytest.mark.crash
def test_a_long_absence_ends_the_term_and_not_the_process(
    start: Start, private_cluster: Callable[[], Cluster]
) -> None:
    away = private_cluster()
    lost = threading.Event()
    leader = start(credentials=away.credentials(), namespace="default", on_lost=lambda _: lost.set())
    assert leader.wait_leading(30)
    away.kill(Component.API_SERVER)
    assert lost.wait(30)
    with pytest.raises(NotLeading):
        leader.check()
    away.start(Component.API_SERVER)
    assert leader.wait_leading(30)
    assert leader.check() == 2


# --- never two ---


class Contender:
    """A candidate in a process of its own, and every moment at which it could have written."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.moments: dict[int, list[float]] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.kube.contender", kubeconfig, namespace],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            epoch, moment = line.split()
            self.moments.setdefault(int(epoch), []).append(float(moment))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    @property
    def epoch(self) -> int:
        return max(self.moments, default=0)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(30)
        self._reader.join()
        self.process.stdout.close()


@pytest.mark.crash
def test_two_candidates_never_lead_at_the_same_time(cluster: Cluster, namespace: str) -> None:
    """Twenty times the leader is stopped in its tracks, the other takes over, and the first wakes up."""
    pair = [Contender(cluster.kubeconfig, namespace) for _ in range(2)]
    try:
        for _ in range(20):
            stop_the_leader(pair)
    finally:
        for contender in pair:
            contender.signal(signal.SIGCONT)
            contender.close()
    terms = sorted(
        (min(moments), max(moments), epoch) for one in pair for epoch, moments in one.moments.items()
    )
    assert len(terms) >= 20
    for (_, end, epoch), (begin, _, later) in pairwise(terms):
        assert end < begin
        assert epoch < later


def stop_the_leader(pair: list[Contender]) -> None:
    until(lambda: pair[0].epoch or pair[1].epoch, 60)
    leader, other = sorted(pair, key=lambda one: -one.epoch)
    before = leader.epoch
    leader.signal(signal.SIGSTOP)
    until(lambda: other.epoch > before, 60)
    leader.signal(signal.SIGCONT)
