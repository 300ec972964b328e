"""All that happened to the pods of a namespace, moment by moment, as the API server itself remembers it.

It remembers about a minute: what is looked at must have begun after that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shiplift.kube.client import Client
from tests.workloads.rig import is_ready

Json = dict[str, Any]


class Film:
    """From the moment that it is made to the moment that it is looked at."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        found = json.loads(client.raw("GET", self._path))
        self._since: str = found["metadata"]["resourceVersion"]
        self._first = {pod["metadata"]["uid"]: pod for pod in found["items"]}

    def moments(self, app: str) -> Iterator[list[Json]]:
        """The pods of a workload, each time that one has changed."""
        pods = dict(self._first)
        yield _of(pods, app)
        for event in self._events():
            uid = event["object"]["metadata"]["uid"]
            if event["type"] == "DELETED":
                pods.pop(uid, None)
            else:
                pods[uid] = event["object"]
            yield _of(pods, app)

    def _events(self) -> Iterator[Json]:
        query = [("watch", "1"), ("resourceVersion", self._since), ("timeoutSeconds", "1")]
        for line in self._client.raw("GET", self._path, query=query).splitlines():
            event = json.loads(line)
            assert event["type"] != "ERROR", event
            yield event

    def fewest_ready(self, app: str) -> int:
        """How few of a workload's pods were Ready at the worst moment."""
        return min(sum(map(is_ready, pods)) for pods in self.moments(app))

    def departures(self, app: str) -> list[tuple[str, bool]]:
        """The pods that went, in that order, and whether all others were Ready when each began to go."""
        gone: dict[str, tuple[str, bool]] = {}
        for pods in self.moments(app):
            for pod in pods:
                meta = pod["metadata"]
                if "deletionTimestamp" in meta and meta["uid"] not in gone:
                    others = [one for one in pods if one["metadata"]["uid"] != meta["uid"]]
                    gone[meta["uid"]] = (meta["name"], all(map(is_ready, others)))
        return list(gone.values())


def _of(pods: dict[str, Json], app: str) -> list[Json]:
    return [pod for pod in pods.values() if pod["metadata"]["labels"].get("app") == app]
