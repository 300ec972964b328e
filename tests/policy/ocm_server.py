"""An HTTPS server that answers like OpenShift Cluster Manager: its paths, queries, header and JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.outside.https import Asked, Reply

ROOT = "/api/clusters_mgmt/v1/clusters"
EXTERNAL = "6f1c9a3e-0000-4000-8000-00000000c1d2"
AUTH = "dXNlcjpzM2NyZXQtcHVsbC1zZWNyZXQ="
CLUSTER = "1a2b3c"
Json = dict[str, Any]


class OcmServer:
    """One cluster and its policies; `instead` answers in its place while it is set."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.policies: list[Json] = []
        self.states: dict[str, str] = {}
        self.told: list[tuple[str, str]] = []
        self.auth = AUTH
        self.largest_page = 100
        self.cluster: Json = {
            "kind": "Cluster",
            "id": CLUSTER,
            "external_id": EXTERNAL,
            "version": {"channel_group": "stable"},
            "node_drain_grace_period": {"value": 60, "unit": "minutes"},
        }
        self.instead: Callable[[Asked], Reply | None] | None = None

    def offer(
        self, name: str, version: str, state: str = "scheduled", at: str = "2026-11-20T02:00:00Z"
    ) -> None:
        with self.lock:
            self.policies.append(
                {
                    "kind": "UpgradePolicy",
                    "id": name,
                    "version": version,
                    "next_run": at,
                    "schedule_type": "manual",
                    "upgrade_type": "OSD",
                    "cluster_id": CLUSTER,
                }
            )
            self.states[name] = state

    def withdraw(self, name: str) -> None:
        with self.lock:
            self.policies = [one for one in self.policies if one["id"] != name]

    def answer(self, asked: Asked) -> Reply:
        with self.lock:
            if self.instead is not None and (reply := self.instead(asked)) is not None:
                return reply
            if asked.headers.get("authorization") != f"AccessToken {EXTERNAL}:{self.auth}":
                return failure(401, "CLUSTERS-MGMT-401", "the access token is not known")
            return self._answer(asked)

    def _answer(self, asked: Asked) -> Reply:
        url = urlsplit(asked.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        parts = url.path.removeprefix(ROOT).strip("/").split("/")
        if not url.path.startswith(ROOT):
            return failure(404, "CLUSTERS-MGMT-404", "no such path")
        if parts == [""]:
            wanted = query.get("search") == f"external_id = '{EXTERNAL}'"
            return page([self.cluster] if wanted else [], query, self.largest_page)
        inline = parts[1:3] == ["control_plane", "upgrade_policies"]
        rest = parts[3:] if inline else parts[2:]
        if parts[0] != CLUSTER or not (inline or parts[1] == "upgrade_policies"):
            return failure(404, "CLUSTERS-MGMT-404", "no such thing")
        return self._of_policies(asked, rest, query, inline)

    def _of_policies(self, asked: Asked, rest: list[str], query: dict[str, str], inline: bool) -> Reply:
        if not rest:
            shown = [
                {**one, "state": {"value": self.states[one["id"]]}} if inline else one
                for one in self.policies
            ]
            return page(shown, query, self.largest_page)
        if rest[0] not in self.states or all(one["id"] != rest[0] for one in self.policies):
            return failure(404, "CLUSTERS-MGMT-404", f"no policy {rest[0]}")
        if asked.method == "PATCH":
            said = json.loads(asked.body)
            value = said["state"]["value"] if inline else said["value"]
            self.states[rest[0]] = value
            self.told.append((rest[0], value))
        return Reply(body=json.dumps({"kind": "UpgradePolicyState", "value": self.states[rest[0]]}).encode())


def page(items: list[Json], query: dict[str, str], largest: int) -> Reply:
    """A part of a collection, as OCM hands it out; it may hand out less than it was asked for."""
    number, size = int(query.get("page", "1")), min(int(query.get("size", "100")), largest)
    part = items[(number - 1) * size : number * size]
    body = {"kind": "List", "page": number, "size": len(part), "total": len(items), "items": part}
    return Reply(body=json.dumps(body).encode(), headers=(("Content-Type", "application/json"),))


def failure(status: int, code: str, reason: str, *headers: tuple[str, str]) -> Reply:
    body = {"kind": "Error", "code": code, "reason": reason, "operation_id": "op-1"}
    return Reply(status, json.dumps(body).encode(), headers)
