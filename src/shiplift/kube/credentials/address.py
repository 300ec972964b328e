"""Where the API server is, and the proxy before it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

from shiplift.kube.errors import CredentialsError


class Server(msgspec.Struct, frozen=True):
    """Where the API server is."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    tls_name: str = ""

    @property
    def authority(self) -> str:
        """Host and port, as an address and as a Host header want them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


class Proxy(msgspec.Struct, frozen=True):
    """A proxy between us and the API server."""

    host: str
    port: int
    username: str = ""
    password: str = ""
    scheme: str = "http"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    def __repr__(self) -> str:
        return f"<Proxy {self.host}:{self.port}>"


def parse_server(url: str, where: str, tls_name: str = "", *, secure: bool = True) -> Server:
    """The parts of a server address; without a scheme it is https where TLS is set up, as for kubectl."""
    full = url if "://" in url else f"{'https' if secure else 'http'}://{url}"
    scheme, host, port, path, _ = _split(full, where)
    if scheme not in ("https", "http"):
        raise CredentialsError(f"{where}: scheme {scheme!r} is neither https nor http")
    return Server(scheme, host, port or (443 if scheme == "https" else 80), path.rstrip("/"), tls_name)


def parse_proxy(url: str, where: str) -> Proxy:
    """The parts of a proxy address."""
    scheme, host, port, _, login = _split(url, where)
    if scheme not in _PROXY_PORTS:
        known = ", ".join(f"{one}://" for one in _PROXY_PORTS)
        raise CredentialsError(f"{where}: {scheme} proxies are not supported", hint=f"known are {known}")
    username, _, password = login.partition(":")
    return Proxy(host, port or _PROXY_PORTS[scheme], unquote(username), unquote(password), scheme)


_PROXY_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
"""The proxies that there are, and where they listen by default."""


def _split(url: str, where: str) -> tuple[str, str, int | None, str, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise CredentialsError(f"{where}: not an address") from None
    if not host or any(c.isspace() or not c.isprintable() for c in url):
        raise CredentialsError(f"{where}: not an address")
    login = parts.netloc.rpartition("@")[0]
    return parts.scheme, host, port, parts.path, login
