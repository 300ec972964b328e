"""A dead operator is noticed by its Lease, whatever the clocks of the two computers say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from shiplift.cli.hearing import Ear
from shiplift.facts.kinds import CLUSTER_ROLE_BINDING, LEASE, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, NotFound, Unreachable
from shiplift.kube.lease import NOT_ACTING

NOW = 1_777_629_600


class Leases:
    """An API server with the Lease of one operator, which renews it every two seconds while it lives. In
    `others` are Leases of the same name that somebody made, and until when those are renewed."""

    def __init__(self, age: int, *, alive: bool, holder: str | None = "one") -> None:
        self.now, self.age, self.alive, self.holder = float(NOW), age, alive, holder
        self.reachable, self.slept = True, 0.0
        self.home, self.may_read_binding = "ops", True
        self.others: dict[str, str] = {}

    def get(self, kind: Kind, name: str, namespace: str = "") -> dict[str, Any]:
        assert name == "shiplift"
        if not self.reachable:
            raise Unreachable("gone")
        if kind == CLUSTER_ROLE_BINDING:
            return self._binding()
        assert kind == LEASE
        if namespace in self.others:
            return {"metadata": {"uid": "theirs"}, "spec": {"renewTime": self.others[namespace]}}
        if namespace != self.home:
            raise NotFound(f"no Lease in {namespace}", status=404)
        return self._lease()

    def _binding(self) -> dict[str, Any]:
        if not self.may_read_binding:
            raise Forbidden("who are you?", status=403)
        return {"subjects": [{"kind": "ServiceAccount", "name": "shiplift", "namespace": self.home}]}

    def _lease(self) -> dict[str, Any]:
        steps = int(self.slept / 2) * 2 if self.alive else 0
        stamp = datetime.fromtimestamp(NOW - self.age + steps, UTC).isoformat()
        spec = {"renewTime": stamp, "leaseDurationSeconds": 15}
        spec |= {"holderIdentity": self.holder} if self.holder else {}
        return {"metadata": {"uid": "lease", "annotations": {NOT_ACTING: "no fence"}}, "spec": spec}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds

    def ear(self) -> Ear:
        return Ear(cast("Client", self), lambda: self.now, self.sleep)


@pytest.mark.parametrize(
    ("age", "alive", "silent", "looked_for"),
    [
        (1, True, False, 0),
        (15, False, False, 0),
        (20, False, True, 4),
        (20, True, False, 2),
        (-60, True, False, 2),
        (-60, False, True, 4),
        (-2, True, False, 0),
        (-2_300_000_000, False, True, 4),
        (7200, False, True, 0),
    ],
)
def test_twenty_seconds_after_its_death_it_is_known_and_clocks_that_differ_deceive_nobody(
    age: int, alive: bool, silent: bool, looked_for: float
) -> None:
    leases = Leases(age, alive=alive)
    heard = leases.ear().surely()
    assert heard is not None
    assert (heard.silent(int(leases.now)) is not None) is silent
    assert leases.slept == looked_for


def test_an_operator_that_ended_in_order_is_known_to_be_away_at_once() -> None:
    leases = Leases(1, alive=False, holder=None)
    heard = leases.ear().surely()
    assert heard is not None
    assert heard.silent(NOW) == 1
    assert leases.slept == 0


def test_what_kept_an_operator_from_acting_is_not_told_of_one_that_is_gone() -> None:
    """Older releases let go of the Lease and left it there."""
    there, gone = Leases(1, alive=True).ear().surely(), Leases(1, alive=False, holder=None).ear().surely()
    assert there is not None
    assert gone is not None
    assert (there.not_acting, gone.not_acting) == ("no fence", "")


def test_who_goes_on_listening_counts_silence_by_one_clock() -> None:
    """The other clock is five minutes ahead."""
    leases = Leases(-300, alive=True)
    ear = leases.ear()
    ear.surely()
    leases.alive = False
    leases.slept = 2.0
    for _ in range(10):
        leases.now += 2
        heard = ear.listen()
    assert heard is not None
    assert heard.silent(int(leases.now)) is not None


def test_where_leases_cannot_be_read_nobody_can_tell() -> None:
    leases = Leases(1, alive=True)
    leases.reachable = False
    assert leases.ear().surely() is None


def test_a_lease_of_that_name_in_another_namespace_says_nothing_of_the_operator() -> None:
    dead = Leases(7200, alive=False)
    dead.others = {"evil": "2099-01-01T00:00:00.000000Z"}
    heard = dead.ear().surely()
    assert heard is not None
    assert heard.silent(NOW) is not None
    alive = Leases(1, alive=True)
    alive.others = {"evil": "2026-05-01T09:59:59.000000Z", "shiplift-system": "2099-01-01T00:00:00.000000Z"}
    heard = alive.ear().surely()
    assert heard is not None
    assert (heard.gone, heard.silent(NOW)) == (False, None)


@pytest.mark.parametrize(("home", "known"), [("shiplift-system", True), ("ops", False)])
def test_who_may_not_see_where_it_is_installed_hears_of_the_usual_namespace_only(
    home: str, known: bool
) -> None:
    leases = Leases(1, alive=True)
    leases.home, leases.may_read_binding = home, False
    leases.others = {"evil": "2099-01-01T00:00:00.000000Z"}
    assert (leases.ear().surely() is not None) is known
