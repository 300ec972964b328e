"""Every API server says its version: two that differ are both known, and one that restarts stays known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from shiplift.engine.probes import NobodyAsks, Probe, Probing, Question
from shiplift.kube.api_servers import ApiServers
from shiplift.kube.client import Client
from shiplift.kube.errors import ServerError
from shiplift.kube.server_versions import KnownVersions, ServerVersions, where
from tests.kube.answering import answer, answering

OLD, NEW = "v1.35.4-eks-1", "v1.36.1-eks-2"


class Servers:
    """Where they say that they are, by hand."""

    def __init__(self, *clients: Client) -> None:
        self.there = clients

    def each(self) -> tuple[Client, ...]:
        if not self.there:
            raise ServerError("busy", status=500)
        return self.there


def reading(client: Client, servers: Servers, clock: list[float]) -> ServerVersions:
    return ServerVersions(client, cast("ApiServers", servers), lambda: clock[0])


def says(version: str) -> bytes:
    return answer(f'{{"gitVersion":"{version}"}}'.encode(), Connection="close")


SILENT = answer(b"{}", "403 Forbidden", Connection="close")


def test_two_behind_one_address_are_both_known_and_one_that_restarts_stays_known() -> None:
    clock = [0.0]
    with answering(says(NEW)) as first, answering(says(OLD), SILENT, says(NEW)) as second:
        own, other = Client(first.credentials), Client(second.credentials)
        versions = reading(own, Servers(own, other), clock)
        for expected in (OLD, OLD, NEW):
            assert versions.read() == {"kubernetes": NEW, where(other): expected}


def test_one_that_is_gone_is_forgotten_and_one_that_was_never_reached_is_not_asked_each_time() -> None:
    clock = [0.0]
    with answering(says(NEW)) as first, answering(SILENT, says(OLD)) as second:
        own, other = Client(first.credentials), Client(second.credentials)
        servers = Servers(own, other)
        versions = reading(own, servers, clock)
        assert versions.read() == versions.read() == {"kubernetes": NEW}
        assert len(second.requests) == 1
        clock[0] = 301.0
        assert versions.read() == {"kubernetes": NEW, where(other): OLD}
        servers.there = (own,)
        assert versions.read() == {"kubernetes": NEW}


def test_where_nobody_says_where_they_are_the_one_that_answers_counts() -> None:
    with answering(says(OLD), SILENT) as first:
        own = Client(first.credentials)
        versions = reading(own, Servers(), [0.0])
        assert versions.read() == {"kubernetes": OLD}
        assert versions.read() == {"kubernetes": ""}


class Played:
    """Asks when the test says so."""

    def __init__(self) -> None:
        self.probe: Probe[Mapping[str, str]] = Probe("versions", timedelta(seconds=120))
        self.pending, self.wanted = False, 0

    def open(self, _: Question[Mapping[str, str]]) -> Played:
        return self

    def again(self) -> None:
        self.pending, self.wanted = True, self.wanted + 1

    def answers(self, version: str, now: datetime) -> None:
        self.pending, self.probe = False, self.probe.answered({"kubernetes": version}, now)


def test_nobody_waits_for_them_and_they_are_asked_again_when_somebody_wants_to_know() -> None:
    now, played = [datetime(2026, 11, 18, tzinfo=UTC)], Played()
    known = KnownVersions(cast("Probing", played), dict, "cluster", lambda: now[0])
    assert [known.get(), known.get()] == [{"kubernetes": ""}] * 2, "not known is not done"
    assert played.wanted == 1, "one that is asked is not asked beside itself"
    played.answers(OLD, now[0])
    assert known.get() == {"kubernetes": OLD}
    now[0] += timedelta(seconds=29)
    assert (known.get(), played.wanted) == ({"kubernetes": OLD}, 1)
    now[0] += timedelta(seconds=2)
    assert (known.get(), played.wanted) == ({"kubernetes": OLD}, 2), "the last answer counts meanwhile"
    now[0] += timedelta(seconds=120)
    assert known.get() == {"kubernetes": ""}, "but not for ever"


def test_a_question_that_fails_is_not_asked_without_pause_and_a_clock_that_goes_back_stops_nothing() -> None:
    now, played = [datetime(2026, 11, 18, tzinfo=UTC)], Played()
    known = KnownVersions(cast("Probing", played), dict, "cluster", lambda: now[0])
    known.get()
    played.pending, played.probe = False, played.probe.failed("no", now[0])
    assert (known.get(), played.wanted) == ({"kubernetes": ""}, 1)
    now[0] -= timedelta(hours=1)
    known.get()
    assert played.wanted == 2


def test_where_no_operator_runs_nobody_knows() -> None:
    assert KnownVersions(NobodyAsks(), dict, "cluster").get() == {"kubernetes": ""}
