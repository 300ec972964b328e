"""Writes to the API server as fast as it takes them: one kept connection for each of many threads."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks.progress import say
from benchmarks.recipe.base import Json
from shiplift.local.progress import Progress

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
_TIMEOUT = 60
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
Item = TypeVar("Item")


class RefusedError(Exception):
    """The API server answered a write with an error."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where the API server is on this computer, and the files that let an administrator in."""

    port: int
    authority: Path
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        return context


class Loader:
    """A client for bulk writes. Threads share it; each has a connection of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._context = endpoint.context()
        self._mine = threading.local()
        self._open: list[http.client.HTTPSConnection] = []

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._open:
            connection.close()

    def create(self, path: str, body: Json, manager: str = "kube-controller-manager") -> Json:
        return self._write("POST", path, body, manager, JSON)

    def patch(self, path: str, body: Json, manager: str) -> Json:
        """Change an object, as controllers and kubelets do."""
        return self._write("PATCH", path, body, manager, STRATEGIC)

    def get(self, path: str) -> Json:
        return msgspec.json.decode(self.get_text(path))

    def get_text(self, path: str) -> str:
        return self._send("GET", path, None, {"Accept": JSON}).decode()

    def _write(self, method: str, path: str, body: Json, manager: str, content: str) -> Json:
        # without this option the API server decodes each body twice, in search of unknown fields
        where = f"{path}?fieldManager={manager}&fieldValidation=Ignore"
        return msgspec.json.decode(
            self._send(method, where, body, {"Content-Type": content, "Accept": _METADATA_ONLY})
        )

    def _send(self, method: str, path: str, body: Json | None, headers: dict[str, str]) -> bytes:
        connection = self._connection()
        connection.request(method, path, None if body is None else msgspec.json.encode(body), headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise RefusedError(f"{method} {path} was answered {response.status}: {answer[:400]!r}")
        return answer

    def _connection(self) -> http.client.HTTPSConnection:
        connection = getattr(self._mine, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self._endpoint.port, context=self._context, timeout=_TIMEOUT
            )
            self._mine.connection = connection
            self._open.append(connection)
        return connection


def each(
    what: str, items: Iterable[Item], total: int, do: Callable[[Item], object], workers: int = 24
) -> None:
    """Do it to every item, many at a time, and say on standard error how far it has got."""
    progress, done = Progress(say, "writing", total, what), 0
    with ThreadPoolExecutor(workers) as pool:
        waiting: set[Future[object]] = set()
        for item in items:
            waiting.add(pool.submit(do, item))
            if len(waiting) >= workers * 4:
                done += _settle(waiting)
                progress.at(done)
        while waiting:
            _settle(waiting)


def _settle(waiting: set[Future[object]]) -> int:
    """Wait for some to be done and take them out; what one raised is raised here."""
    done = wait(waiting, return_when=FIRST_COMPLETED).done
    waiting -= done
    for future in done:
        future.result()
    return len(done)
