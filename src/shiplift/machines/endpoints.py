"""Where an API server is reached, written in one way: host and port, IPv6 in brackets. Pure.

What is kept true: two texts that kubeadm takes for one place have one normal form; what kubeadm would refuse
has none.
"""

from __future__ import annotations

import ipaddress
import re

PORT = 6443
"""Where an API server listens unless it is told otherwise."""
_PARTS = re.compile(r"(?P<host>\[[^]]*\]|[^:]*)(:(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST = 253


class EndpointError(ValueError):
    """A text that is no host, with or without a port."""


def normal(text: str, port: int = PORT) -> str:
    """Host and port; where none is written, that port."""
    if _is_ipv6(text):
        return f"[{ipaddress.IPv6Address(text)}]:{port}"
    found = _PARTS.fullmatch(text)
    if found is None or not 1 <= (number := int(found["port"] or port)) <= 65535:
        raise EndpointError(f"{text[:300]!r} is no host with a port")
    return f"{_host(found['host'])}:{number}"


def place(server: str) -> str:
    """The normal form of what a kubeconfig names; a text that has none stays as it is."""
    bare = server.removeprefix("https://").rstrip("/")
    try:
        return normal(bare)
    except EndpointError:
        return bare


def _host(text: str) -> str:
    inner = text.removeprefix("[").removesuffix("]")
    if inner != text:
        if not _is_ipv6(inner):
            raise EndpointError(f"{text!r} is no IPv6 address")
        return f"[{ipaddress.IPv6Address(inner)}]"
    if len(text) > _LONGEST or not _NAME.fullmatch(text):
        raise EndpointError(f"{text[:300]!r} is no name of a host, and no address")
    return text


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False
