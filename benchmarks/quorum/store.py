"""Four real MinIO servers in real pods, in a namespace of their own: driven and asked."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.quorum import watcher
from shiplift.api.quorum import QuorumService
from shiplift.facts.kinds import NAMESPACE, POD, QUORUM_SERVICE, STATEFUL_SET
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import Conflict, NotFound
from shiplift.quorum.engines.minio import MinIO
from shiplift.quorum.engines.protocol import Server, Told
from shiplift.quorum.wire import Direct
from tests.quorum.land import image_name, is_ready, make_set, make_space
from tests.quorum.rig import CREDENTIALS, NEW
from tests.until import until

Json = dict[str, Any]
COUNT = 4
LONG = 600.0
"""Seconds, for what pulls an image or swaps four servers."""


class Store:
    """One service."""

    def __init__(self, client: Client, space: str, key: str) -> None:
        self._client, self.space, self._key = client, space, key
        self.engine = MinIO(Direct(), CREDENTIALS)

    def pods(self) -> list[Json]:
        return list(self._client.list(POD, self.space))

    def servers(self) -> tuple[Server, ...]:
        """By their addresses of this moment: pods that are made anew have others."""
        found = [(pod["metadata"]["name"], pod["status"].get("podIP")) for pod in self.pods()]
        return tuple(
            Server(name, address, 9000, f"{name}.minio.{self.space}.svc")
            for name, address in sorted(found)
            if address
        )

    def versions(self) -> set[str]:
        return {getattr(self.engine.ask(one), "version", "") for one in self.servers()}

    def all_sing(self) -> bool:
        servers = self.servers()
        told = [self.engine.ask(one) for one in servers]
        if len(servers) != COUNT or not all(isinstance(one, Told) and one.serving for one in told):
            return False
        return all(one.sings for one in self.engine.canary(servers, None))

    # --- what is done to it ---

    def swap(self, strategy: str) -> None:
        """A QuorumService asks for the new image."""
        spec = {
            "statefulSets": ["minio"],
            "image": image_name(NEW.tag),
            "credentialsSecret": "root",
            "trust": {"minisignKey": self._key},
            "strategy": strategy,
        }
        self._client.create(QUORUM_SERVICE, {"metadata": {"name": "store"}, "spec": spec}, self.space)

    def service(self) -> QuorumService:
        return msgspec.convert(self._client.get(QUORUM_SERVICE, "store", self.space), QuorumService)

    def wait_swapped(self) -> None:
        try:
            until(lambda: self.service().status.reason == "AtTarget", LONG, 0.2)
        except AssertionError:
            raise AssertionError(f"not swapped: {self.service().status}") from None

    def set_image(self) -> None:
        """As `kubectl set image` does it: the StatefulSet's own controller does the rest."""
        path = "/spec/template/spec/containers/0/image"
        change = [{"op": "replace", "path": path, "value": image_name(NEW.tag)}]
        uid = self._client.get(STATEFUL_SET, "minio", self.space)["metadata"]["uid"]
        with contextlib.suppress(Conflict):
            self._client.patch(STATEFUL_SET, "minio", change, self.space, type=PatchType.JSON, uid=uid)
            return
        self.set_image()

    def is_rolled(self) -> bool:
        pods = self.pods()
        images = {pod["spec"]["containers"][0]["image"] for pod in pods}
        return len(pods) == COUNT and all(map(is_ready, pods)) and images == {image_name(NEW.tag)}

    @contextlib.contextmanager
    def cannot_write(self, server: int) -> Generator[None]:
        """Beside its binary: what it would make there to see whether it can is a folder already."""
        root = Path(f"/proc/{watcher.servers()[server]}/root")
        in_the_way = root / "usr/bin/.minio.check-perm"
        in_the_way.mkdir()
        try:
            yield
        finally:
            in_the_way.rmdir()

    def close(self) -> None:
        """All of it is gone."""
        with contextlib.suppress(NotFound):
            found = self._client.get(QUORUM_SERVICE, "store", self.space)["metadata"]
            self._client.delete(QUORUM_SERVICE, "store", self.space, uid=found["uid"])
        uid = self._client.get(NAMESPACE, self.space)["metadata"]["uid"]
        self._client.delete(NAMESPACE, self.space, uid=uid)
        until(lambda: not self.pods(), LONG, 0.5)


@contextlib.contextmanager
def serving(client: Client, space: str, key: str, readiness: str) -> Generator[Store]:
    """A service whose servers serve."""
    make_space(client, space)
    make_set(client, space, key, readiness)
    made = Store(client, space, key)
    try:
        until(made.all_sing, LONG, 0.5)
        yield made
    finally:
        made.close()
