"""Interim: plain JSON to the API server, until shiplift.kube.client is used here."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any

import msgspec

from shiplift.local import probe

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster

Json = dict[str, Any]


class Api:
    def __init__(self, cluster: Cluster) -> None:
        self._port = cluster.state.ports.api
        pki = cluster.layout.pki
        self._context = probe.trust(pki / "ca.crt", pki / "admin.crt")

    def get(self, path: str) -> Json:
        return self._ask("GET", path)

    def create(self, path: str, body: Json) -> Json:
        return self._ask("POST", path, body)

    def merge(self, path: str, body: Json) -> Json:
        return self._ask("PATCH", path, body)

    def delete(self, path: str) -> Json:
        return self._ask("DELETE", path)

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=10, context=self._context)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            content = None if body is None else msgspec.json.encode(body)
            connection.request(method, path, content, {"Content-Type": kind})
            response = connection.getresponse()
            answer = msgspec.json.decode(response.read())
        finally:
            connection.close()
        if response.status == 409:
            raise FileExistsError(answer.get("message"))
        if response.status == 404:
            raise FileNotFoundError(answer.get("message"))
        if response.status >= 300:
            raise ConnectionError(answer.get("message"))
        return answer
