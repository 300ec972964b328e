"""HTTPS to registries: only to hosts that are allowed, capped in size and time, nothing kept.

A redirect is followed when it leads to an allowed host over HTTPS, a few times; credentials go to the host
that they are for and to no other. The way is straight, or through the proxy that the environment names. What
is fetched into a file is compared with its digest while it comes.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import msgspec

from shiplift.kube.credentials.address import Server
from shiplift.kube.credentials.connect import connect
from shiplift.kube.credentials.environment import proxy_for
from shiplift.kube.credentials.tls import of_proxy
from shiplift.kube.errors import KubeError
from shiplift.quorum.images.errors import BadImage, NotAllowed, RegistryAway
from shiplift.quorum.reading import Timed, left, pieces

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_SILENCE = 20.0


class Page(msgspec.Struct, frozen=True):
    """A short answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Fetcher(Protocol):
    """How registries are reached."""

    def page(self, url: str, headers: Mapping[str, str], most: int) -> Page:
        """A short answer, whatever its status."""
        ...

    def file(self, url: str, headers: Mapping[str, str], digest: str, size: int, target: Path) -> int:
        """The content of that digest and size into the file; the status, and a file only if it is 200."""
        ...


class Https:
    """A connection for each answer."""

    def __init__(self, hosts: frozenset[str], deadline: float, tls: ssl.SSLContext | None = None) -> None:
        """`deadline` (of `time.monotonic`) is for all that is ever asked."""
        self._hosts, self._deadline = hosts, deadline
        self._tls = tls or ssl.create_default_context()

    def page(self, url: str, headers: Mapping[str, str], most: int) -> Page:
        with self._answer(url, headers) as answer:
            body = bytearray()
            for chunk in pieces(answer):
                body += chunk
                if len(body) > most:
                    raise NotAllowed(f"the answer of {urlsplit(url).netloc} has more than {most} bytes")
            return Page(answer.status, _headers(answer), bytes(body))

    def file(self, url: str, headers: Mapping[str, str], digest: str, size: int, target: Path) -> int:
        with self._answer(url, headers) as answer:
            if answer.status == 200:
                _write(answer, digest, size, target)
            return answer.status

    @contextmanager
    def _answer(self, url: str, headers: Mapping[str, str]) -> Generator[http.client.HTTPResponse]:
        with contextlib.ExitStack() as stack, _network_errors(url):
            yield self._followed(url, dict(headers), stack)

    def _followed(
        self, url: str, headers: dict[str, str], stack: contextlib.ExitStack
    ) -> http.client.HTTPResponse:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = stack.enter_context(contextlib.closing(self._asked(url, headers, stack)))
            place = answer.getheader("Location")
            if answer.status not in _REDIRECTS or not place:
                return answer
            url, before = urljoin(url, place), url
            if urlsplit(url).netloc != urlsplit(before).netloc:
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
        raise BadImage(f"{urlsplit(url).netloc} redirects more than {_MOST_REDIRECTS} times")

    def _asked(
        self, url: str, headers: Mapping[str, str], stack: contextlib.ExitStack
    ) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        self._let_through(url)
        connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=self._tls)
        stack.callback(connection.close)
        connection.sock = self._connected(connection.host, connection.port)  # pyright: ignore[reportAttributeAccessIssue]
        query = f"?{parts.query}" if parts.query else ""
        connection.request("GET", f"{parts.path or '/'}{query}", headers=dict(headers))
        return connection.getresponse()

    def _connected(self, host: str, port: int) -> Timed:
        server = Server("https", host, port)
        proxy = proxy_for(server)
        proxy_tls = of_proxy(b"", verify=True) if proxy is not None and proxy.scheme == "https" else None
        opened = connect(server, proxy, self._tls, min(_SILENCE, left(self._deadline)), proxy_tls)
        return Timed(opened, self._deadline, _SILENCE)

    def _let_through(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.username is not None:
            raise NotAllowed(f"{parts.scheme}://{parts.hostname} is not asked: only https is")
        if parts.netloc.lower() not in self._hosts:
            raise NotAllowed(
                f"{parts.netloc} is not asked: trust.registries does not have it;"
                " hint: where the registry keeps its layers there, name both in trust.registries"
            )


def _write(answer: http.client.HTTPResponse, digest: str, size: int, target: Path) -> None:
    found, count = hashlib.sha256(), 0
    with target.open("wb") as file:
        for chunk in pieces(answer):
            count += len(chunk)
            if count > size:
                break
            found.update(chunk)
            file.write(chunk)
    if count != size or f"sha256:{found.hexdigest()}" != digest:
        target.unlink()
        raise BadImage(f"what the registry sent is not {digest} of {size} bytes")


def _headers(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}


@contextmanager
def _network_errors(url: str) -> Generator[None]:
    try:
        yield
    except KubeError as error:
        raise RegistryAway(error.message) from None
    except (OSError, http.client.HTTPException) as error:
        said = str(error) or type(error).__name__
        raise RegistryAway(f"{urlsplit(url).netloc} did not answer in full: {said[:200]}") from None
    except ValueError:
        raise BadImage(f"{urlsplit(url).netloc} redirects to what is no address") from None
