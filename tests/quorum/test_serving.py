"""Pods get the files of their attempt for as long as its token is good; nobody gets anything else."""

from __future__ import annotations

import hashlib
import http.client
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shiplift.quorum.serving import MOST_AT_ONCE, Artifact, ArtifactServer
from tests.until import until

CONTENT = b"\x7fELF" + bytes(3 << 20)
NAME = "minio.RELEASE.2025-09-07T16-13-09Z"


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_794_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[ArtifactServer]:
    one = ArtifactServer(("127.0.0.1", 0), now=clock)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    path = tmp_path / "binary"
    path.write_bytes(CONTENT)
    return Artifact(NAME, path, hashlib.sha256(CONTENT).hexdigest(), b"signed")


def url(server: ArtifactServer, attempt: str, seconds: float = 60) -> str:
    return server.url(f"http://127.0.0.1:{server.port}", attempt, seconds)


def get(address: str) -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_the_three_files_are_had_with_one_token(server: ArtifactServer, artifact: Artifact) -> None:
    server.publish("a-1", artifact)
    start = url(server, "a-1")
    assert get(start) == (200, f"{artifact.sha256}  {NAME}\n".encode())
    assert get(start.replace(".sha256sum", "")) == (200, CONTENT)
    assert get(start.replace(".sha256sum", ".minisig")) == (200, b"signed")


def test_the_checksum_file_has_the_two_fields_that_servers_read(artifact: Artifact) -> None:
    assert artifact.checksum.split() == [artifact.sha256.encode(), NAME.encode()]


def test_a_token_is_good_for_its_attempt_alone(server: ArtifactServer, artifact: Artifact) -> None:
    server.publish("a-1", artifact)
    server.publish("a-2", artifact)
    token = urlsplit(url(server, "a-1")).query
    other = url(server, "a-2").partition("?")[0]
    assert get(f"{other}?{token}")[0] == 404


def test_a_token_ends(server: ArtifactServer, artifact: Artifact, clock: Clock) -> None:
    server.publish("a-1", artifact)
    start = url(server, "a-1", 60)
    clock.seconds += 59
    assert get(start)[0] == 200
    clock.seconds += 2
    assert get(start)[0] == 404


def test_a_token_cannot_be_made_to_last(server: ArtifactServer, artifact: Artifact, clock: Clock) -> None:
    server.publish("a-1", artifact)
    start = url(server, "a-1", 60)
    until_, _, mac = start.partition("token=")[2].partition(".")
    clock.seconds += 100
    assert get(start.replace(f"{until_}.{mac}", f"{int(until_) + 100}.{mac}"))[0] == 404


def test_what_was_withdrawn_is_gone(server: ArtifactServer, artifact: Artifact) -> None:
    server.publish("a-1", artifact)
    start = url(server, "a-1")
    server.withdraw("a-1")
    assert get(start)[0] == 404


def test_an_address_of_an_earlier_leader_is_nothing_to_the_next(
    server: ArtifactServer, artifact: Artifact, clock: Clock
) -> None:
    earlier = ArtifactServer(("127.0.0.1", 0), now=clock)
    earlier.publish("a-1", artifact)
    server.publish("a-1", artifact)
    old = urlsplit(earlier.url("http://x", "a-1", 60))
    assert get(f"http://127.0.0.1:{server.port}{old.path}?{old.query}")[0] == 404
    earlier._http.server_close()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/a-1",
        "/a-1/",
        "/a-1/../../etc/passwd",
        "/a-1/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        f"/a-1/{NAME}/../{NAME}",
        f"/a-1/{NAME}.other",
        "/a-2/" + NAME,
    ],
)
def test_no_other_path_is_served_whatever_the_token(
    server: ArtifactServer, artifact: Artifact, path: str
) -> None:
    server.publish("a-1", artifact)
    token = urlsplit(url(server, "a-1")).query
    assert get(f"http://127.0.0.1:{server.port}{path}?{token}")[0] == 404


@pytest.mark.parametrize("token", ["", "x", ".", "9.", "1.²", f"{'9' * 4000}.a", "1794000060.", "-1.a"])
def test_a_token_that_is_none_opens_nothing(server: ArtifactServer, artifact: Artifact, token: str) -> None:
    server.publish("a-1", artifact)
    path = urlsplit(url(server, "a-1")).path
    with socket.create_connection(("127.0.0.1", server.port)) as to:
        to.sendall(f"GET {path}?token={token} HTTP/1.0\r\n\r\n".encode())
        assert to.recv(64).split()[1] == b"404"


def test_who_holds_all_connections_open_keeps_others_out_only_until_he_lets_go(
    server: ArtifactServer, artifact: Artifact
) -> None:
    server.publish("a-1", artifact)
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_AT_ONCE)]
    for one in held:
        one.close()
    assert until(lambda: _status(url(server, "a-1"))) == 200


def _status(address: str) -> int:
    try:
        return get(address)[0]
    except OSError:
        return 0


def test_no_log_holds_a_token(
    server: ArtifactServer,
    artifact: Artifact,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.publish("a-1", artifact)
    start = url(server, "a-1")
    get(start)
    token = start.partition("token=")[2]
    written = capfd.readouterr()
    assert token not in written.out + written.err + caplog.text
