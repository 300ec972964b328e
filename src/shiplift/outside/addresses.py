"""Which addresses may be reached: public ones, and of all others those that somebody has allowed.

A name may lead anywhere, and somewhere else a moment later. So it is not the name that is judged but each
address, and the connection is made to an address that was.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NEVER = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv6Network("fec0::/10"))
"""Addresses of one site alone that Python takes for public ones."""


def is_public(address: Address) -> bool:
    """Whether it is on the Internet and nowhere else; one that stands for another is judged as that other."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast
    if (inner := _inner(address)) is not None:
        return is_public(inner)
    apart = address.is_multicast or any(address in one for one in _NEVER)
    return address.is_global and not apart


def may_reach(address: Address, allowed: Iterable[Network]) -> bool:
    """Public, or within a network that was allowed."""
    inner = _inner(address) if isinstance(address, ipaddress.IPv6Address) else None
    meant = inner or address
    return is_public(meant) or any(meant.version == one.version and meant in one for one in allowed)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks as people write them; one that is none is named."""
    return tuple(_network(text) for text in texts)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is no network such as 10.0.0.0/8") from None


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
