"""Which addresses may be reached, whatever disguise they come in."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.outside.addresses import is_public, may_reach, networks

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1",
    "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
    "2002:a00:1::", "2001:db8::1",
)  # fmt: skip


@pytest.mark.parametrize("text", PRIVATE)
def test_a_private_address_is_not_reached(text: str) -> None:
    assert not may_reach(ipaddress.ip_address(text), ())


@pytest.mark.parametrize(
    "text", ["93.184.215.14", "2606:2800:21f::1", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e"]
)
def test_a_public_address_is_reached(text: str) -> None:
    assert may_reach(ipaddress.ip_address(text), ())


def test_a_network_that_is_allowed_opens_itself_and_nothing_else() -> None:
    allowed = networks(["10.0.0.0/8", "fc00::/7"])
    assert may_reach(ipaddress.ip_address("10.9.9.9"), allowed)
    assert may_reach(ipaddress.ip_address("::ffff:10.9.9.9"), allowed)
    assert may_reach(ipaddress.ip_address("fc00::9"), allowed)
    assert not may_reach(ipaddress.ip_address("192.168.0.1"), allowed)


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_judged_as_what_it_is(plain: ipaddress.IPv4Address) -> None:
    for disguised in (f"::ffff:{plain}", str(ipaddress.IPv6Address((0x64FF9B << 96) | int(plain)))):
        assert is_public(ipaddress.ip_address(disguised)) == is_public(plain)


def test_what_is_no_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"'ten' is no network such as 10\.0\.0\.0/8"):
        networks(["ten"])
