"""A real Alertmanager on loopback: Debian's, with no receiver of its own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiplift.local.ports import free_ports
from tests import debian
from tests.parents import ENDS_WITH_US
from tests.until import until

Json = dict[str, Any]
_NAMESPACE = ("unshare", "--mount", *(() if os.getuid() == 0 else ("--user", "--map-root-user")))
"""What is mounted is mounted for that process alone."""
_CONFIG = "route: {receiver: nobody, group_wait: 1s}\nreceivers: [{name: nobody}]\n"


class Server:
    """The process, and what it knows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        [self._port] = free_ports(1)
        (folder / "config.yml").write_text(_CONFIG)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        program = debian.program("prometheus-alertmanager", "usr/bin/prometheus-alertmanager")
        # it reads its templates from where the package would have put them
        share = program.parents[1] / "share"
        there = ["sh", "-c", 'mount --bind "$0" /usr/share && exec "$@"', share]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *ENDS_WITH_US,
                    *_NAMESPACE,
                    *there,
                    program,
                    f"--config.file={self._folder / 'config.yml'}",
                    f"--storage.path={self._folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                    "--cluster.listen-address=",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self._answers, 30)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def silences(self, state: str = "active") -> list[Json]:
        return [one for one in self._ask("GET", "/api/v2/silences") if one["status"]["state"] == state]

    def expire(self, silence: str) -> None:
        self._ask("DELETE", f"/api/v2/silence/{silence}")

    def fire(self, name: str, **labels: str) -> None:
        self._ask("POST", "/api/v2/alerts", [{"labels": {"alertname": name, **labels}}])

    def heard(self) -> dict[str, str]:
        """The state of each alert by name."""
        return {
            one["labels"]["alertname"]: one["status"]["state"] for one in self._ask("GET", "/api/v2/alerts")
        }

    def _answers(self) -> bool:
        try:
            self._ask("GET", "/api/v2/status")
        except (OSError, AssertionError):
            return False
        return True

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        content = json.dumps(body) if body is not None else None
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        assert answer.status == 200, said
        return json.loads(said) if said else None


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
