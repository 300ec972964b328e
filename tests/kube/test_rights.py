"""Which rights are missing: asked of the API server, kept for a while, named one by one."""

from __future__ import annotations

import pytest

from shiplift.kube.client import Client
from shiplift.kube.errors import BadAnswer
from shiplift.kube.rbac import rule
from shiplift.kube.rights import KEPT_MISSING_SECONDS, KEPT_SECONDS, Rights, allowed
from tests.kube.answering import answer, answering

YES = answer(b'{"status": {"allowed": true}}', Connection="close")
NO = answer(b'{"status": {"allowed": false}}', Connection="close")
AWAY = answer(b"", "500 Internal Server Error", Connection="close")
RULES = (rule("apps", ["deployments", "statefulsets/scale"], ["patch"]), rule("", ["pods"], ["get"]))


def test_what_is_missing_is_named_with_its_group() -> None:
    with answering(NO, NO, NO) as server, Client(server.credentials) as client:
        missing = Rights(client, RULES).missing()
    assert missing == ("patch deployments.apps", "patch statefulsets/scale.apps", "get pods")


def test_what_is_granted_is_not_named() -> None:
    with answering(YES, NO, YES) as server, Client(server.credentials) as client:
        assert Rights(client, RULES).missing() == ("patch statefulsets/scale.apps",)


def test_an_answer_counts_for_a_while_and_a_missing_right_for_a_moment() -> None:
    now = [0.0]
    one = (rule("apps", ["deployments"], ["patch"]),)
    with answering(NO, YES) as server, Client(server.credentials) as client:
        rights = Rights(client, one, lambda: now[0])
        assert [len(rights.missing()) for _ in range(3)] == [1, 1, 1]
        now[0] = KEPT_MISSING_SECONDS
        assert [len(rights.missing()) for _ in range(3)] == [0, 0, 0]
        now[0] = KEPT_MISSING_SECONDS + KEPT_SECONDS - 0.1
        rights.missing()
        assert len(server.requests) == 2
        now[0] += 0.1
        rights.missing()
        assert len(server.requests) == 3


def test_where_nobody_can_be_asked_the_last_answer_counts() -> None:
    now = [0.0]
    with answering(NO, AWAY) as server, Client(server.credentials) as client:
        rights = Rights(client, (rule("apps", ["deployments"], ["patch"]),), lambda: now[0])
        assert rights.missing() == ("patch deployments.apps",)
        now[0] = KEPT_MISSING_SECONDS
        assert rights.missing() == ("patch deployments.apps",)
        assert len(server.requests) == 2


PAGES = [b"<html>the service is away</html>", b"[]", b"{}", b'{"status": {"allowed": "yes"}}', b"\xff"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_what_is_before_the_server_is_no_answer(page: bytes) -> None:
    with (
        answering(answer(page, Connection="close")) as server,
        Client(server.credentials) as client,
        pytest.raises(BadAnswer, match="not what an API server says") as caught,
    ):
        allowed(client, "get", "", "pods")
    assert "load balancer" in caught.value.hint
