"""A real image registry on loopback: Debian's docker-registry, taken out of its package into the cache."""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from shiplift.local import pki
from shiplift.local.ports import free_ports
from tests import debian
from tests.parents import ENDS_WITH_US
from tests.quorum.images_made import MANIFEST, Made
from tests.until import until

USER, PASSWORD = "puller", "correct horse"
_HASHED = "$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"
"""Of the password, by bcrypt: the registry knows no other."""
_PACKAGE = "docker-registry"
_CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}, delete: {{enabled: true}}}}
http:
  addr: 127.0.0.1:{port}
  secret: of-a-test
  tls: {{certificate: {folder}/server.crt, key: {folder}/server.key}}
{auth}"""
_AUTH = "auth: {{htpasswd: {{realm: tests, path: {folder}/passwords}}}}\n"


def program() -> Path:
    return debian.program(_PACKAGE, "usr/bin/docker-registry")


def config(folder: Path, port: int, *, asks_who: bool = False) -> str:
    """Of a registry that keeps everything in that folder."""
    auth = _AUTH.format(folder=folder) if asks_who else ""
    return _CONFIG.format(folder=folder, port=port, auth=auth)


class Registry:
    """The process, and what is put into it."""

    def __init__(self, folder: Path, *, asks_who: bool = False) -> None:
        self.folder = folder
        [self._port] = free_ports(1)
        self._asks_who = asks_who
        pki.write_all(folder)
        (folder / "passwords").write_text(f"{USER}:{_HASHED}\n")
        (folder / "config.yml").write_text(config(folder, self._port, asks_who=asks_who))
        self.tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, program(), "serve", self.folder / "config.yml"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self._answers)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def put(self, repository: str, tag: str, made: Made) -> None:
        for digest, content in made.blobs.items():
            self._put_blob(repository, digest, content)
        self.put_manifest(repository, tag, made.manifest, MANIFEST)

    def put_manifest(self, repository: str, tag: str, content: bytes, kind: str) -> None:
        status, _, body = self._ask("PUT", f"/v2/{repository}/manifests/{tag}", content, kind)
        assert status == 201, body

    def blob_file(self, digest: str) -> Path:
        """Where the registry keeps it."""
        name = digest.removeprefix("sha256:")
        return self.folder / f"images/docker/registry/v2/blobs/sha256/{name[:2]}/{name}/data"

    def _put_blob(self, repository: str, digest: str, content: bytes) -> None:
        _, place, _ = self._ask("POST", f"/v2/{repository}/blobs/uploads/", b"")
        parts = urlsplit(place)
        target = f"{parts.path}?{parts.query}&digest={digest}"
        status, _, body = self._ask("PUT", target, content, "application/octet-stream")
        assert status == 201, body

    def _answers(self) -> bool:
        try:
            return self._ask("GET", "/v2/", b"")[0] == 200
        except OSError:
            return False

    def _ask(self, method: str, target: str, body: bytes, kind: str = "") -> tuple[int, str, bytes]:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30, context=self.tls)
        headers = {"Content-Type": kind} if kind else {}
        if self._asks_who:
            pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        found = answer.status, answer.getheader("Location") or "", answer.read()
        connection.close()
        return found


@contextmanager
def running(folder: Path, *, asks_who: bool = False) -> Iterator[Registry]:
    registry = Registry(folder, asks_who=asks_who)
    try:
        registry.start()
        yield registry
    finally:
        registry.stop()
