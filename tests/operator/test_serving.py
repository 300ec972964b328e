"""The server of probes and metrics: on addresses of either family, with a bound that nobody can use up."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry

from shiplift.operator.serving import MOST_AT_ONCE, Server
from tests.until import until


@contextmanager
def serving(host: str) -> Iterator[Server]:
    server = Server((host, 0), CollectorRegistry(), {"/healthz": list})
    server.start()
    try:
        yield server
    finally:
        server.stop()


def port_of(server: Server) -> int:
    return int(server.address.rpartition(":")[2])


def asked(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/healthz", timeout=5) as answer:
        return answer.read().decode()


needs_ipv6 = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this computer has no IPv6")


@needs_ipv6
@pytest.mark.parametrize("host", ["", "::"])
def test_all_addresses_are_those_of_both_families(host: str) -> None:
    with serving(host) as server:
        assert asked(f"127.0.0.1:{port_of(server)}") == "ok\n"
        assert asked(f"[::1]:{port_of(server)}") == "ok\n"


@needs_ipv6
def test_an_address_of_ipv6_is_listened_on_alone_and_can_be_asked_as_it_is_told() -> None:
    with serving("::1") as server:
        assert server.address.startswith("[::1]:")
        assert asked(server.address) == "ok\n"
        with pytest.raises(OSError, match="refused"):
            asked(f"127.0.0.1:{port_of(server)}")


def test_an_address_of_ipv4_is_as_before() -> None:
    with serving("127.0.0.1") as server:
        assert asked(server.address) == "ok\n"


def test_connections_that_say_nothing_take_no_more_threads_and_keep_no_probe_from_its_answer() -> None:
    before = threading.active_count()
    with serving("127.0.0.1") as server:
        silent = [socket.create_connection(("127.0.0.1", port_of(server))) for _ in range(3 * MOST_AT_ONCE)]
        try:
            assert asked(server.address) == "ok\n"
            until(lambda: threading.active_count() <= before + 1 + MOST_AT_ONCE)
            assert asked(server.address) == "ok\n"
        finally:
            for one in silent:
                one.close()
