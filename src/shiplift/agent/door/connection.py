"""The API server, spoken to with the kubelet's own credentials, by means of the standard library.

The server's certificate is checked against the authority of the kubeconfig. The kubelet renews its own
certificate from time to time: files that have changed are read anew before the next question. Every question
has an end, and no answer is read beyond a cap.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shiplift.agent.door import kubeconfig
from shiplift.agent.door.kubeconfig import Kubeconfig
from shiplift.agent.errors import AgentError

ASK_SECONDS = 15.0
LONGEST_ASKED = 30.0
"""Seconds for which a server that has refused is left alone, at most, whatever it asks for."""
_MOST = 8 << 20
"""Bytes of an answer: several times what one object may have."""
_AGENT = {"Accept": "application/json", "User-Agent": "shiplift-agent"}


@dataclass(frozen=True)
class Answer:
    """What the API server said."""

    status: int
    body: dict[str, Any]

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))[:300]


class RefusedError(AgentError):
    """The API server has answered that it will not; after `again` seconds it wants to be asked again."""

    def __init__(self, answer: Answer, again: float) -> None:
        super().__init__(f"the API server does not tell of changes: {answer.status} {answer.message}")
        self.again = again


class Connection:
    """One connection, made anew when it broke or when the credentials have changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._server: _Server | None = None

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Answer:
        """One question; raises where no answer came, or none that can be read."""
        deadline = time.monotonic() + ASK_SECONDS
        try:
            response = self._sent(method, path, body, kind, ASK_SECONDS)
            return Answer(response.status, _object(_read(response, deadline)))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AgentError(f"the API server does not answer: {error}") from None

    def wait(self, path: str, seconds: float) -> bool:
        """Whether anything came on a watch that the server ends after so long; nothing of it is read. Raises
        where there is no watch."""
        try:
            response = self._sent("GET", path, None, "application/json", seconds + ASK_SECONDS)
            if response.status != 200:
                answer = Answer(response.status, _object(_read(response, time.monotonic() + ASK_SECONDS)))
                raise RefusedError(answer, _again(response))
            came = bool(response.read(1))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AgentError(f"the API server does not answer: {error}") from None
        if came:
            self.close()
        return came

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _sent(self, method: str, path: str, body: Any, kind: str, seconds: float) -> http.client.HTTPResponse:
        """A connection that the server has closed meanwhile is noticed by the first question after it."""
        content = None if body is None else json.dumps(body).encode()
        headers = _AGENT | ({"Content-Type": kind} if content else {})
        known, server = self._server, self._opened()
        try:
            return server.asked(method, path, content, headers, seconds)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
            self.close()
            if known is not server or method != "GET":
                raise
            return self._opened().asked(method, path, content, headers, seconds)

    def _opened(self) -> _Server:
        """With the credentials as they are now."""
        if self._server is None or not self._server.is_current():
            self.close()
            self._server = _Server(self._path)
        return self._server


class _Server(http.client.HTTPSConnection):
    """To an address, whose certificate may be for another name."""

    def __init__(self, path: Path) -> None:
        """Stamped before it is read: what changes in between is read anew before the next question."""
        stamps = _stamps([path])
        config = kubeconfig.load(path)
        named = [place for place in (config.certificate, config.key) if isinstance(place, Path)]
        self._places, self._stamps = [path, *named], stamps + _stamps(named)
        self._trust, self._name, self._prefix = _trust(config), config.server_name, config.path
        super().__init__(config.host, config.port, timeout=ASK_SECONDS, context=self._trust)

    def is_current(self) -> bool:
        """Whether the files that it was made from are the same still."""
        return self._stamps == _stamps(self._places)

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._trust.wrap_socket(self.sock, server_hostname=self._name)

    def asked(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], seconds: float
    ) -> http.client.HTTPResponse:
        self.timeout = seconds
        if self.sock is not None:
            self.sock.settimeout(seconds)
        self.request(method, self._prefix + path, content, headers)
        return self.getresponse()


def _trust(config: Kubeconfig) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=config.authority)
        with _file(config.certificate) as certificate, _file(config.key) as key:
            context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise AgentError(f"the kubelet's credentials cannot be used: {error.strerror or error}") from None
    return context


@contextlib.contextmanager
def _file(place: Path | bytes) -> Any:
    """Only files can be loaded: what stands in the kubeconfig itself is one for a moment, of nobody else."""
    if isinstance(place, Path):
        yield place
        return
    descriptor, name = tempfile.mkstemp(prefix="shiplift-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(place)
        yield Path(name)
    finally:
        os.unlink(name)


def _stamps(places: list[Path]) -> list[tuple[int, int, int]]:
    """What changes when one of the files does; a link is followed, as the kubelet's rotation moves it."""
    return [_times(place) for place in places]


def _times(path: Path) -> tuple[int, int, int]:
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_mtime_ns, state.st_size


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    content = b""
    while piece := response.read1(1 << 16):
        content += piece
        if len(content) > _MOST:
            raise AgentError(f"the API server answered more than {_MOST} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("its answer took too long")
    # an answer that is through is closed by the next read alone
    response.read()
    return content


def _again(response: http.client.HTTPResponse) -> float:
    """What a server that refuses asks for; a date it never is, from Kubernetes."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_ASKED) if text.isdecimal() else 0.0


def _object(content: bytes) -> dict[str, Any]:
    """Errors may come as plain text, from a server that is overloaded or from what stands before it."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:300].decode(errors="replace")}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}
