"""Something before an API server that is away answers 200 in its place: no object, no list, no removal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import msgspec
import pytest

from shiplift.facts.kinds import CONFIG_MAP, POD
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import BadAnswer, Unknown
from shiplift.kube.fence import Fence, Names, whoami
from shiplift.kube.lease import Leader, Timing
from tests.kube.answering import answer, answering
from tests.until import until

SHORT = Timing(duration=2, renew_deadline=1.5, retry=0.1, follow=0.05)
PAGE = b"<html>Service is being restarted</html>"
WRONG = [
    PAGE,
    b"",
    b"\xff",
    b"{}",
    b'{"status":"maintenance"}',
    b'{"metadata":null}',
    b'{"metadata":"none"}',
    b'{"metadata":{}}',
    b'{"metadata":{"uid":"u","resourceVersion":"1","annotations":"none"}}',
    b'{"kind":"Status","status":"maintenance"}',
]
WRONG_LEASES = [
    b'{"metadata":{"uid":"u","resourceVersion":"1"},"spec":"none"}',
    b'{"metadata":{"uid":"u","resourceVersion":"1"},"spec":{"holderIdentity":5}}',
]
BEFORE_THE_SERVER = "does something before the API server"


def page(body: bytes) -> bytes:
    return answer(body, Connection="close")


def lease(holder: str) -> bytes:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 60, "leaseTransitions": 3}
    about = {"name": "shiplift", "namespace": "space", "uid": "u", "resourceVersion": "1"}
    return page(msgspec.json.encode({"metadata": about, "spec": spec}))


@contextlib.contextmanager
def behind(body: bytes) -> Iterator[Client]:
    """A client to which everything is answered with this."""
    with answering(page(body)) as server, Client(server.credentials, timeout=5) as client:
        yield client


@pytest.mark.parametrize("body", WRONG)
def test_what_is_no_object_is_a_bad_answer_to_a_read(body: bytes) -> None:
    with behind(body) as client, pytest.raises(BadAnswer, match=BEFORE_THE_SERVER):
        client.get(CONFIG_MAP, "settings", "space")
    with behind(body) as client, pytest.raises(BadAnswer, match=BEFORE_THE_SERVER):
        Fence(client.credentials, Names("space", "me")).epoch()


@pytest.mark.parametrize("body", WRONG)
def test_what_is_no_list_is_not_taken_for_an_empty_one(body: bytes) -> None:
    with behind(body) as client, pytest.raises(BadAnswer, match=BEFORE_THE_SERVER):
        list(client.list(CONFIG_MAP))


def test_a_list_without_objects_is_one() -> None:
    empty = b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":null}'
    with behind(empty) as client:
        assert list(client.list(CONFIG_MAP)) == []


@pytest.mark.parametrize("body", WRONG[:7])
def test_what_is_no_object_does_not_prove_a_removal(body: bytes) -> None:
    with behind(body) as client, pytest.raises(Unknown):
        client.evict("web", "space", uid="u")


@pytest.mark.parametrize("about", [b'"metadata":{},', b""])
def test_a_removal_may_be_answered_by_a_status(about: bytes) -> None:
    done = b'{"kind":"Status","apiVersion":"v1",' + about + b'"status":"Success"}'
    with behind(done) as client:
        assert client.delete(POD, "web", "space", uid="u").object["status"] == "Success"


@pytest.mark.parametrize("body", [*WRONG[:5], b'{"status":{"userInfo":{"username":"x","extra":null}}}'])
def test_who_we_are_is_not_told_by_a_page(body: bytes) -> None:
    with behind(body) as client, pytest.raises(BadAnswer, match=BEFORE_THE_SERVER):
        whoami(client)


@pytest.fixture
def start() -> Iterator[Callable[[Credentials], Leader]]:
    started: list[Leader] = []

    def begin(credentials: Credentials) -> Leader:
        leader = Leader(credentials, "space", timing=SHORT)
        leader.start()
        started.append(leader)
        return leader

    yield begin
    for leader in started:
        leader.stop()


@pytest.mark.parametrize("body", [*WRONG, *WRONG_LEASES])
def test_a_candidate_says_what_is_wrong_and_goes_on(
    start: Callable[[Credentials], Leader], body: bytes
) -> None:
    wrong = [True]

    def said(_: str) -> bytes:
        return page(body) if wrong else lease("other")

    with answering(said) as server:
        leader = start(server.credentials)
        until(lambda: leader.trouble is not None)
        assert BEFORE_THE_SERVER in str(leader.trouble)
        wrong.clear()
        until(lambda: leader.holder == "other" and leader.trouble is None)
        assert leader.alive


@pytest.mark.parametrize("body", [*WRONG, *WRONG_LEASES])
def test_a_leader_goes_on_and_leads_anew_when_the_server_is_back(
    start: Callable[[Credentials], Leader], body: bytes
) -> None:
    """Its next renewal is decided on what the server said last, not on a page."""
    wrong: list[bool] = []

    def said(head: str) -> bytes:
        if wrong:
            return page(body)
        return answer(b"", "404 Not Found", Connection="close") if head.startswith("GET") else lease("")

    with answering(said) as server:
        leader = start(server.credentials)
        until(lambda: leader.leading)
        wrong.append(True)
        until(lambda: leader.trouble is not None and not leader.leading)
        wrong.clear()
        until(lambda: leader.leading and leader.trouble is None)
        assert leader.alive
