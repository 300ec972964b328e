"""How pods come to a binary: a listener of the leader alone, opened when the first service needs it and
closed when the term ends, and an address of it that the pods can reach."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import ssl
import stat
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from shiplift.kube.config import ConfigReader
from shiplift.quorum.engines.protocol import Reply
from shiplift.quorum.images import pulling
from shiplift.quorum.images.errors import RegistryAway
from shiplift.quorum.serving import Artifact, ArtifactServer
from shiplift.quorum.settings import Section

_TOKEN_SECONDS = 600.0
TURN_SECONDS = 150.0
"""That a service waits for its turn to pull; with the pull itself it is less than a validation may take."""
_A_WEEK = 7 * 86_400.0
_BAIT = b"#!/bin/sh\n# offered by shiplift to see whether this server could take a binary; signed by nobody\n"


class CannotServe(Exception):  # noqa: N818 - says what cannot be
    """The listener cannot be opened; says why."""


class Artifacts:
    """The listener of one term."""

    def __init__(self, reader: ConfigReader[Section]) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._listener: ArtifactServer | None = None
        self._closed = False
        self._bait: Path | None = None
        self._pulling = threading.Lock()
        self._kept: dict[str, Artifact | None] = {}
        """By service: what it has pulled in this term."""

    @contextlib.contextmanager
    def pulling(self) -> Generator[Path]:
        """The cache, for one who pulls at a time; ours alone. `RegistryAway` where others take too long."""
        folder = self.settings().folder
        if not self._pulling.acquire(timeout=TURN_SECONDS):
            raise RegistryAway("the images of other services are still being pulled")
        try:
            _make_own(folder)
            yield folder
        finally:
            self._pulling.release()

    def keep(self, service: str, artifact: Artifact | None, folder: Path) -> None:
        """What a service has pulled stays; what no service has had for a week goes. While it may pull."""
        self._kept[service] = artifact
        kept = (one for one in self._kept.values() if one is not None)
        names = frozenset(one.binary.parent.parent.name for one in kept)
        # not at once: a service that has not been looked at since a restart may want what is there
        pulling.forget_all_but(folder, names, _A_WEEK)

    def settings(self) -> Section:
        looked = self._reader.look()
        if looked.value is None:
            raise CannotServe(looked.trouble)
        return looked.value

    def lend(
        self, attempt: str, artifact: Artifact, base: Callable[[int, str], str], call: Callable[[str], Reply]
    ) -> Reply:
        """The binary can be had for as long as the call takes; `base` is our address, by port and scheme."""
        listener = self._opened()
        listener.publish(attempt, artifact)
        try:
            return call(listener.url(base(listener.port, listener.scheme), attempt, _TOKEN_SECONDS))
        finally:
            listener.withdraw(attempt)

    def bait(self, artifact: Artifact) -> Artifact:
        """Of the same name and with the same signature, which is not its own."""
        with self._lock:
            if self._bait is None:
                handle, name = tempfile.mkstemp(prefix="shiplift-bait-")
                with os.fdopen(handle, "wb") as file:
                    file.write(_BAIT)
                self._bait = Path(name)
        sha256 = hashlib.sha256(_BAIT).hexdigest()
        return msgspec.structs.replace(artifact, binary=self._bait, sha256=sha256)

    def close(self) -> None:
        """For good: what comes after the term finds nobody."""
        with self._lock:
            self._closed = True
            listener, self._listener = self._listener, None
            bait, self._bait = self._bait, None
        if listener is not None:
            listener.stop()
        if bait is not None:
            bait.unlink(missing_ok=True)

    def _opened(self) -> ArtifactServer:
        settings = self.settings()
        with self._lock:
            if self._closed:
                raise CannotServe("the term is over")
            if self._listener is None:
                self._listener = _open(settings.address, _tls(settings))
            elif self._listener.tls is not None and settings.certificate:
                # it is renewed beneath us: who connects from now on sees the new one
                _show(self._listener.tls, settings)
            return self._listener


def _make_own(folder: Path) -> None:
    """A folder of somebody else's would have anything in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise CannotServe(f"the cache {folder} cannot be made: {error.strerror or error}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise CannotServe(f"the cache {folder} belongs to somebody else, or is no folder")


def _tls(settings: Section) -> ssl.SSLContext | None:
    if not settings.certificate:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _show(made, settings)
    return made


def _show(tls: ssl.SSLContext, settings: Section) -> None:
    try:
        tls.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        said = error.strerror or str(error)
        files = f"{settings.certificate} and {settings.key}"
        raise CannotServe(f"{files} are no certificate and its key: {said}") from None


def _open(address: tuple[str, int], tls: ssl.SSLContext | None) -> ArtifactServer:
    try:
        listener = ArtifactServer(address, tls=tls)
    except OSError as error:
        said = error.strerror or str(error)
        raise CannotServe(f"cannot listen on {address[0]}:{address[1]}: {said}") from None
    listener.start()
    return listener


def own_address(towards: str) -> str:
    """The address of ours that has the way to that one; nothing is sent."""
    family = socket.AF_INET6 if ":" in towards else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((towards, 9))
        return probe.getsockname()[0]
    return ""


def serving_host(serving_url: str | None, towards: str) -> str:
    """Where pods fetch, without the port."""
    return urlsplit(serving_url).hostname or "" if serving_url else own_address(towards)


def base_url(serving_url: str | None, towards: str, port: int, scheme: str = "http") -> str:
    """Where the pods reach us."""
    if serving_url:
        return serving_url
    address = own_address(towards)
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"
