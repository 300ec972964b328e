"""The proxy that the environment names, read as Go programs read it: HTTPS_PROXY, HTTP_PROXY and NO_PROXY."""

from __future__ import annotations

import ipaddress
import os

from shiplift.kube.credentials.address import Proxy, Server, parse_proxy


def proxy_for(server: Server) -> Proxy | None:
    """The proxy to this server; none to this computer, nor to what NO_PROXY lists."""
    variable = f"{server.scheme}_proxy"
    url = os.environ.get(variable.upper()) or os.environ.get(variable) or ""
    if not url or _local(server.host) or _excepted(server):
        return None
    return parse_proxy(url if "://" in url else f"http://{url}", f"environment variable {variable.upper()}")


def _local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _excepted(server: Server) -> bool:
    listed = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    return any(_matches(entry.strip().lower(), server) for entry in listed.split(",") if entry.strip())


def _matches(entry: str, server: Server) -> bool:
    if entry == "*":
        return True
    address = _address(server.host)
    if address is not None:
        return _holds(entry, address) or entry in (server.host, server.authority)
    host, _, port = entry.partition(":")
    if port and port != str(server.port):
        return False
    name, bare = server.host.lower(), host.removeprefix("*").removeprefix(".")
    return name.endswith(f".{bare}") or (name == bare and host == bare)


def _holds(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
