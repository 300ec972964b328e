"""Metrics and probes over TLS: who speaks none or is slow, renewed certificates, what is no token."""

from __future__ import annotations

import shutil
import socket
import ssl
from pathlib import Path

import pytest

from shiplift.kube.client import Client
from shiplift.kube.credentials.address import Server as Address
from shiplift.kube.credentials.identity import Anonymous
from shiplift.kube.credentials.live import Credentials, Trust
from shiplift.kube.reviews import Reviews, Verdict
from shiplift.local import pki
from shiplift.operator import securing
from shiplift.operator.serving import MOST_AT_ONCE, Secured
from tests.operator.secure_serving import got, serving
from tests.until import until


def nobody(_: str) -> Verdict:
    return Verdict.NOBODY


def test_who_speaks_no_tls_or_says_nothing_keeps_nobody_from_an_answer() -> None:
    own = securing.tls.of_server(securing.self_signed("shiplift.test"))
    with serving(Secured(lambda: own, nobody)) as server:
        port = int(server.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
            plain.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert b"HTTP" not in plain.recv(1000)
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3 * MOST_AT_ONCE)]
        try:
            assert got(server, "/healthz") == (200, "ok\n")
        finally:
            for one in silent:
                one.close()


def test_a_certificate_of_a_folder_is_shown_and_its_successor_without_a_restart(tmp_path: Path) -> None:
    first, second, shown = tmp_path / "first", tmp_path / "second", tmp_path / "shown"
    for folder in (first, second, shown):
        folder.mkdir()
    for folder in (first, second):
        pki.write_all(folder)

    def show(folder: Path) -> None:
        for name, of in ((securing.CERTIFICATE, "server.crt"), (securing.KEY, "server.key")):
            shutil.copyfile(folder / of, shown / f"new-{name}")
            (shown / f"new-{name}").rename(shown / name)

    def trusted(folder: Path) -> bool:
        tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        try:
            return got(server, "/healthz", tls=tls)[0] == 200
        except ssl.SSLCertVerificationError:
            return False

    show(first)
    with serving(Secured(securing.Renewed(shown).context, nobody)) as server:
        assert (trusted(first), trusted(second)) == (True, False)
        (shown / securing.CERTIFICATE).write_bytes((second / "server.crt").read_bytes())
        assert (trusted(first), trusted(second)) == (True, False)  # half of a renewal
        show(second)
        until(lambda: trusted(second))
        assert not trusted(first)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic eDp5", "Bearer " + "x" * (17 << 10)])
def test_what_is_no_token_is_not_sent_on(header: str) -> None:
    nowhere = load_nowhere()
    assert nowhere.verdict(header) is Verdict.NOBODY
    nowhere.close()


def load_nowhere() -> Reviews:
    """Whoever it asks is not there."""
    credentials = Credentials(Address("http", "127.0.0.1", 9), Trust(), Anonymous())
    return Reviews(Client(credentials, timeout=0.5))
