"""What real servers answered, word for word, and what it means; a token never comes through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.quorum.engines.minio.answers import MOST_MESSAGE, redacted, refusal, told, updated
from shiplift.quorum.engines.protocol import Answered, Lost, Refused, Server, Silent, Told, Verdict, Why

SERVER = Server("minio-1", "10.0.0.2", 9000, "minio-1.minio.store.svc")
OWN = "minio-1.minio.store.svc.cluster.local:9000"
OTHER = "minio-0.minio.store.svc.cluster.local:9000"


def info(*entries: dict[str, object]) -> bytes:
    return json.dumps({"mode": "online", "servers": list(entries)}).encode()


def own(**changed: object) -> dict[str, object]:
    return {
        "endpoint": OWN,
        "state": "online",
        "version": "2025-04-22T22:12:26Z",
        "go_max_procs": 2,
        **changed,
    }


def test_a_server_is_believed_about_itself_alone() -> None:
    other = {"endpoint": OTHER, "state": "online", "version": "2025-09-07T16:13:09Z", "go_max_procs": 8}
    assert told(info(other, own()), SERVER) == Told("2025-04-22T22:12:26Z", True, 2, (OTHER, OWN))


def test_a_server_that_starts_says_its_version_and_does_not_serve() -> None:
    answer = told(info(own(state="initializing")), SERVER)
    assert isinstance(answer, Told)
    assert (answer.version, answer.serving) == ("2025-04-22T22:12:26Z", False)


@pytest.mark.parametrize(
    ("body", "misnamed"), [(info(), False), (info(own(endpoint=OTHER)), True), (b"", False)]
)
def test_a_server_that_knows_itself_by_another_name_only_is_told_from_one_that_says_nothing(
    body: bytes, misnamed: bool
) -> None:
    answer = told(body, SERVER)
    assert isinstance(answer, Silent)
    assert answer.misnamed is misnamed


def test_of_its_settings_only_what_matters_is_kept() -> None:
    settings = {"MINIO_UPDATE": "off", "MINIO_ROOT_PASSWORD": "*** EXISTS, REDACTED ***", "MINIO_CI_CD": "1"}
    answer = told(info(own(minio_env_vars=settings)), SERVER)
    assert isinstance(answer, Told)
    assert answer.settings == (("MINIO_UPDATE", "off"),)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        info(),
        b'{"servers":null}',
        info(own(endpoint=OTHER)),
        info(own(), own()),
        info(own(endpoint="minio-1.minio.store.svc.cluster.local:9001")),
        info(own(endpoint="minio-1.minio.store.svcx:9000")),
        info(own(version=7)),
    ],
)
def test_an_answer_that_does_not_say_who_it_is_says_nothing(body: bytes) -> None:
    assert isinstance(told(body, SERVER), Silent)


def results(*hosts: dict[str, object]) -> bytes:
    return json.dumps({"dryRun": True, "results": list(hosts)}).encode()


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        ("", Verdict.DONE),
        ("server is running the latest version: 2025-09-07T16:13:09Z", Verdict.AT_TARGET),
        ("Updated file has wrong checksum. Expected: 2b06b5, got: f451ef", Verdict.GARBLED),
        ("invalid input: magic number mismatch", Verdict.GARBLED),
        ("peer is not reachable", Verdict.UNREACHABLE),
        ("update already in progress", Verdict.BUSY),
        (
            "server update failed with: open /usr/bin/.minio.check-perm: permission denied,"
            " do not restart the servers yet",
            Verdict.READ_ONLY,
        ),
        ("selfupdate: signature verification failed", Verdict.NOT_TRUSTED),
        ("the disk is on fire", Verdict.FAILED),
    ],
)
def test_each_hosts_error_has_its_verdict(error: str, verdict: Verdict) -> None:
    answer = updated(200, results({"host": OWN, "err": error, "currentVersion": "x", "updatedVersion": ""}))
    assert isinstance(answer, Answered)
    assert [(host.endpoint, host.verdict) for host in answer.hosts] == [(OWN, verdict)]


def test_a_host_whose_drives_hang_would_not_restart() -> None:
    answer = updated(200, results({"host": OWN, "waitingDrives": {"/data": {}}}))
    assert isinstance(answer, Answered)
    assert answer.hosts[0].verdict is Verdict.HUNG
    assert "/data" in answer.hosts[0].message


def test_hosts_come_in_one_order_whatever_order_they_were_told_in() -> None:
    one, other = {"host": OWN}, {"host": OTHER}
    assert updated(200, results(one, other)) == updated(200, results(other, one))


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (405, b'{"Code":"MethodNotAllowed","Message":"not allowed"}', Why.SWITCHED_OFF),
        (503, b"<Error><Code>XMinioServerNotInitialized</Code></Error>", Why.STARTING),
        (503, b"", Why.STARTING),
        (503, b'{"Code":"XMinioAdminUpdateURLNotReachable","Message":"Get x"}', Why.NO_ARTIFACT),
        (403, b'{"Code":"XMinioAdminUpdateUnexpectedFailure","Message":"Error"}', Why.NO_ARTIFACT),
        (
            500,
            b'{"Code":"XMinioAdminUpdateUnexpectedFailure","Message":"Unknown release data"}',
            Why.NO_ARTIFACT,
        ),
        (403, b'{"Code":"AccessDenied","Message":"Access Denied."}', Why.DENIED),
        (403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", Why.DENIED),
        (404, b"what?", Why.FAILED),
    ],
)
def test_a_refusal_says_why(status: int, body: bytes, why: Why) -> None:
    answer = updated(status, body)
    assert isinstance(answer, Refused)
    assert answer.why is why


@pytest.mark.parametrize("body", [b"<Error><Code>InternalError</Code></Error>", b"", b"{}"])
def test_a_server_that_fell_over_may_have_done_so_in_the_middle(body: bytes) -> None:
    assert isinstance(updated(500, body), Lost)


@pytest.mark.parametrize("body", [b"", b"ok", b'{"results":7}'])
def test_a_good_status_with_an_answer_that_cannot_be_read_may_have_been_carried_out(body: bytes) -> None:
    assert isinstance(updated(200, body), Lost)


def test_tokens_are_redacted_however_they_are_written() -> None:
    said = [
        "signature loading failed for http://h/a.minisig?token=1794902400.5d1f with 404 Not Found",
        'Get "http://h/a.sha256sum?a=b&Token=1794902400.5d1f": refused',
        "http%3A%2F%2Fh%2Fa%3Ftoken%3D1794902400.5d1f",
    ]
    for text in said:
        assert "5d1f" not in redacted(text)
        assert "token" in redacted(text).lower()
    assert "5d1f" not in refusal(403, json.dumps({"Code": "X", "Message": said[0]}).encode()).message


@given(st.integers(100, 599), st.binary(max_size=300))
def test_whatever_a_server_answers_it_is_one_of_the_three(status: int, body: bytes) -> None:
    answer = updated(status, body)
    assert isinstance(answer, Answered | Refused | Lost)
    if isinstance(answer, Refused):
        assert len(answer.message) <= MOST_MESSAGE
