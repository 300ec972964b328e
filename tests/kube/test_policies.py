"""Whether a policy is installed: what the API server says, and its own words where we may not look."""

from __future__ import annotations

import json

import pytest

from shiplift.kube import policies
from shiplift.kube.client import Client
from tests.kube.answering import answer, answering

THERE = answer(b'{"metadata":{"uid":"u","resourceVersion":"1"}}', Connection="close")


def refusal(code: int, status: str, reason: str, message: str) -> bytes:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(json.dumps(body).encode(), f"{code} {status}", Connection="close")


ABSENT = refusal(404, "Not Found", "NotFound", "it is not there")
WORDS = 'mutatingadmissionpolicies "shiplift-pods" is forbidden: User "shiplift" cannot get it'
DENIED = refusal(403, "Forbidden", "Forbidden", WORDS)
AWAY = refusal(500, "Internal Server Error", "InternalError", "etcd is away")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ((THERE, THERE), True),
        ((ABSENT,), False),
        ((THERE, ABSENT), False),
        ((AWAY,) * 9, None),
    ],
)
def test_what_the_server_says_counts(answers: tuple[bytes, ...], said: bool | None) -> None:
    with answering(*answers) as server, Client(server.credentials) as client:
        assert policies.installed(client, "shiplift-pods") is said


@pytest.mark.parametrize("answers", [(DENIED,), (THERE, DENIED)])
def test_where_we_may_not_look_the_refusal_is_told(answers: tuple[bytes, ...]) -> None:
    with answering(*answers) as server, Client(server.credentials) as client:
        said = policies.installed(client, "shiplift-pods")
    assert isinstance(said, str)
    assert WORDS in said
