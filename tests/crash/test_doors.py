"""Providers and the operator's own port stand behind the same fault proxy as the API server."""

from __future__ import annotations

import contextlib
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from tests.crash.calls import Call, Sort, recognise_http
from tests.crash.director import PlanDirector
from tests.crash.doors import Doors, Web
from tests.crash.outside import Listener, Outside, Upstream
from tests.crash.plans import Crash, CrashPoint, Failure, Fault, Outage, Pause, Spot
from tests.crash.proxy import Proxy
from tests.crash.test_proxy import Witness
from tests.crash.toy.harbour import Harbour
from tests.until import until

PUT = Spot("harbour: PUT berths", "ship")
_CUT_OFF = (urllib.error.URLError, ConnectionError)


class Rig:
    """A harbour behind a door, on its own thread, and who is told what to do."""

    def __init__(self, outside: Outside, closing: ExitStack, door: type[Web] = Web) -> None:
        self.witness, self.harbour = Witness(), Harbour()
        closing.callback(self.harbour.close)
        self.director = PlanDirector(self.witness)
        self.web = door(outside)
        self.web.address = self.harbour.address
        self.proxy = Proxy(self.web, self.director)
        closing.callback(self.proxy.close)

    def put(self, name: str = "ship") -> int:
        request = urllib.request.Request(f"{self.proxy.address}/berths/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)["berth"]


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def rig(closing: ExitStack) -> Rig:
    return Rig(Upstream("harbour", "HARBOUR"), closing)


def test_a_call_of_somebody_outside_has_their_name_in_front() -> None:
    call = recognise_http("cloud", "PUT", "/machines/eu%2F1/start?now=1")
    assert (call.sort, call.step, call.about) == (Sort.WRITE, "cloud: PUT machines", "eu/1/start")
    assert recognise_http("cloud", "GET", "/machines").sort is Sort.READ


def test_calls_are_counted_and_written_down(rig: Rig) -> None:
    assert rig.put() == rig.put() != rig.put("other")
    assert [one.spot for one in rig.director.book().writes] == [
        PUT,
        Spot(PUT.step, "ship", 2),
        Spot(PUT.step, "other"),
    ]
    assert all(one.accepted and one.call.outside == "harbour" for one in rig.director.book().writes)


def test_a_refused_call_never_arrives(rig: Rig) -> None:
    rig.director.arm(Fault(PUT, Failure.ERROR))
    with pytest.raises(urllib.error.HTTPError):
        rig.put()
    assert not rig.harbour.berths
    assert rig.put()


def test_a_crash_before_the_reply_comes_after_it_was_done(rig: Rig) -> None:
    rig.director.arm(Crash(PUT, CrashPoint.BEFORE_REPLY))
    with pytest.raises(_CUT_OFF):
        rig.put()
    assert rig.witness.told == ["crash"]
    assert rig.harbour.berths


def test_a_leader_that_is_stopped_wakes_before_it_is_called(closing: ExitStack) -> None:
    inward = Rig(Listener("harbour", "LISTEN"), closing)
    inward.director.arm(Pause(PUT))
    assert inward.put()
    assert inward.witness.told[:2] == ["pause", "wake"]


def test_where_path_and_method_do_not_say_it_all_somebody_else_recognises(closing: ExitStack) -> None:
    def by_body(method: str, target: str, body: bytes) -> Call:
        return Call(Sort.WRITE, f"cloud: {body.decode()}", target)

    rig = Rig(Upstream("cloud", "CLOUD", by_body), closing)
    url = f"{rig.proxy.address}/berths/ship"
    with urllib.request.urlopen(urllib.request.Request(url, b"RunInstances", method="PUT"), timeout=5):
        pass
    (entry,) = rig.director.book().entries
    assert (entry.spot, entry.call.outside) == (Spot("cloud: RunInstances", "/berths/ship"), "cloud")


def test_nobody_behind_a_door_ends_the_connection(rig: Rig) -> None:
    rig.web.address = ""
    with pytest.raises(_CUT_OFF):
        rig.put()
    assert not rig.director.book().entries


def test_a_door_with_tls_is_trusted_by_who_knows_the_authority(closing: ExitStack, tmp_path: Path) -> None:
    harbour = Harbour()
    closing.callback(harbour.close)
    doors = Doors(PlanDirector(Witness()), tmp_path)
    closing.callback(doors.close)
    doors.use([Upstream("harbour", "HARBOUR", trust="TRUST")])
    doors.lead_to({"harbour": harbour.address})
    told = doors.environment()
    assert told["HARBOUR"] == doors.url("harbour")
    request = urllib.request.Request(f"{told['HARBOUR']}/berths/ship", method="PUT")
    trust = ssl.create_default_context(cafile=told["TRUST"])
    with urllib.request.urlopen(request, timeout=5, context=trust) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
        urllib.request.urlopen(request, timeout=5)


def test_each_operator_listens_for_itself_and_others_find_the_latest(tmp_path: Path) -> None:
    doors = Doors(PlanDirector(Witness()), tmp_path)
    doors.use([Listener("wishes", "LISTEN")])
    first, url = doors.environment(), doors.url("wishes")
    second = doors.environment()
    assert first["LISTEN"] != second["LISTEN"]
    assert doors.url("wishes") == url
    doors.close()


def test_where_somebody_is_away_nobody_gets_through_until_they_are_back(rig: Rig) -> None:
    assert rig.put() == rig.put()
    rig.proxy.away(60)
    with pytest.raises(_CUT_OFF):
        rig.put()
    rig.proxy.away(0)
    assert rig.put()


def test_an_outage_begins_at_its_call_which_is_never_heard(rig: Rig) -> None:
    rig.director.arm(Outage(PUT, 6.0))
    with pytest.raises(_CUT_OFF):
        rig.put()
    assert (rig.witness.told, rig.harbour.berths) == (["away 6.0"], {})
    assert [one.status for one in rig.director.book().writes] == [0]
    assert rig.put()


class Beside(Web):
    """A door by which a program beside the operator goes."""

    def recognise(self, method: str, target: str, body: bytes) -> Call:
        return msgspec.structs.replace(super().recognise(method, target, body), by="agents")


@pytest.mark.parametrize("point", CrashPoint)
def test_at_its_calls_a_program_beside_the_operator_is_the_one_that_crashes(
    closing: ExitStack, point: CrashPoint
) -> None:
    rig = Rig(Upstream("harbour", "HARBOUR"), closing, Beside)
    rig.director.arm(Crash(PUT, point))
    with contextlib.suppress(*_CUT_OFF):
        rig.put()
    until(lambda: rig.witness.told == ["crash agents"])
