"""MinIO as an engine: what is sent to a server, and with how much patience.

A call that stages or switches goes to one server, which passes it on to the others; it fetches the binary
once for every call. Nothing is kept between calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from shiplift.engine import clock
from shiplift.engine.probes import Truth
from shiplift.quorum.engines.minio import answers, canary
from shiplift.quorum.engines.minio.signing import Credentials, Request, headers
from shiplift.quorum.engines.minio.versions import FIRST_TO_STAGE, moment
from shiplift.quorum.engines.protocol import (
    Canary,
    Lost,
    Refused,
    Reply,
    Server,
    Silent,
    Stop,
    Told,
    Why,
)
from shiplift.quorum.wire import Exchange, Got, Unreached, Wire, WireError

_ADMIN = "/minio/admin/v3"
_HEALTH = "/minio/health/cluster"
_MAY_NOT_STOP = (412, 503)
_SAID = re.compile(r"^\S{1,200} version (\S{1,96})", re.MULTILINE)
"""It calls itself by the name of its file, which may be any."""


class MinIO:
    """Speaks to the servers of one service."""

    program = "minio"
    publisher = "RWTx5Zr1tiHQLwG9keckT0c45M3AGeHD6IvimQHpyRywVWGbP1aVSGav"

    def __init__(
        self,
        wire: Wire,
        credentials: Credentials,
        *,
        now: Callable[[], datetime] = clock.now,
        patience: float = 3.0,
        staging: float = 300.0,
    ) -> None:
        """`patience` is for a question, `staging` for a call that moves the binary; seconds."""
        self._wire, self._credentials, self._now = wire, credentials, now
        self._patience, self._staging = patience, staging

    def newer(self, version: str, than: str) -> bool:
        return moment(version) > moment(than)

    def stages(self, version: str) -> bool:
        return moment(version) >= moment(FIRST_TO_STAGE)

    def said_version(self, output: str) -> str:
        found = _SAID.search(output)
        if found is None:
            raise ValueError("it does not say a version of MinIO")
        moment(found[1])
        return found[1]

    def ask(self, server: Server) -> Told | Silent:
        try:
            got = self._send(server, "GET", f"{_ADMIN}/info", seconds=self._patience)
        except WireError as error:
            return Silent(f"no answer: {error}")
        if got.status != 200:
            return Silent(answers.refusal(got.status, got.body).message)
        return answers.told(got.body, server)

    def stage(self, through: Server, url: str) -> Reply:
        return self._update(through, url, ("dry-run", "true"))

    def switch(self, through: Server, url: str) -> Reply:
        return self._update(through, url)

    def may_stop(self, server: Server) -> Stop:
        """The server leaves its own drives out and says whether what is left is enough to write."""
        asked = ("maintenance", "true")
        try:
            got = self._send(server, "GET", _HEALTH, (asked,), seconds=self._patience)
        except WireError as error:
            return Stop(Truth.UNKNOWN, f"no answer: {error}")
        if got.status == 200:
            return Stop(Truth.TRUE)
        truth = Truth.FALSE if got.status in _MAY_NOT_STOP else Truth.UNKNOWN
        return Stop(truth, _health_in_words(got))

    def canary(self, servers: Sequence[Server], bucket: str | None) -> tuple[Canary, ...]:
        return canary.through(self._object, servers, bucket)

    def _object(self, server: Server, method: str, path: str, body: bytes, query: canary.Query = ()) -> Got:
        return self._send(server, method, path, query, body=body, seconds=self._patience)

    def _update(self, through: Server, url: str, *more: tuple[str, str]) -> Reply:
        query = (("updateURL", url), ("type", "2"), *more)
        try:
            got = self._send(through, "POST", f"{_ADMIN}/update", query, seconds=self._staging)
        except Unreached as error:
            return Refused(Why.STARTING, f"no answer: {error}")
        except WireError as error:
            return Lost(f"the answer was lost: {error}")
        return answers.updated(got.status, got.body)

    def _send(
        self,
        server: Server,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        *,
        body: bytes = b"",
        seconds: float,
    ) -> Got:
        request = Request(method, _authority(server), path, query, body)
        signed = headers(request, self._credentials, self._now())
        target = f"{path}?{request.query_text}" if query else path
        exchange = Exchange(
            method, server.address, server.port, target, signed, body, seconds, name=server.host
        )
        return self._wire.send(exchange)


def _authority(server: Server) -> str:
    host = f"[{server.address}]" if ":" in server.address else server.address
    return f"{host}:{server.port}"


def _health_in_words(got: Got) -> str:
    told = [
        f"{name.removeprefix('x-minio-')}: {value}"
        for name, value in sorted(got.headers.items())
        if name in ("x-minio-server-status", "x-minio-write-quorum", "x-minio-healing-drives")
    ]
    return answers.redacted(", ".join([f"HTTP {got.status}", *told]))
