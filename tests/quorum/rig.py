"""A whole service: a real API server with controllers and scheduler, the operator with its own account, a
real StatefulSet whose pods are real MinIO servers, and a real registry with real images."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shiplift.api.marks import QUORUM_HOLD
from shiplift.api.quorum import QuorumService
from shiplift.facts.kinds import CONFIG_MAP, EVENT, NAMESPACE, POD, QUORUM_SERVICE, SECRET, STATEFUL_SET
from shiplift.kube import grants
from shiplift.kube.client import PatchType
from shiplift.kube.config import KEY as CONFIG_KEY
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.errors import AlreadyExists, Conflict, NotFound
from shiplift.kube.lease import Timing
from shiplift.kube.manifests import kind_of
from shiplift.kube.secrets import Hidden
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import SERVICE_ACCOUNT
from shiplift.operator import install
from shiplift.quorum.controller import PART
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import Server, Told
from shiplift.quorum.names import FINALIZER, MARKS
from shiplift.quorum.wire import Direct
from tests.minio import builds
from tests.minio.keys import Key
from tests.operated import SPACE, Operated
from tests.quorum.images_made import Entry, Made, image, layer
from tests.quorum.kubelet import PASSWORD, PORT, USER, Kubelet
from tests.registry import Registry
from tests.until import until

Json = dict[str, Any]
LABELS = {"app": "minio"}
OLD, NEW = builds.OLD, builds.NEW
REPOSITORY = "store/minio"
CREDENTIALS = Credentials(USER, Hidden(PASSWORD.encode()))
LONG = 240.0
"""Seconds, for what moves a binary of 110 MB on a busy computer."""


def image_of(program: bytes, signature: bytes, tag: str, sha256: str = "") -> Made:
    """As its publisher would make it; not packed, to save time."""
    checksum = f"{sha256 or hashlib.sha256(program).hexdigest()}  minio.{tag}\n".encode()
    entries = [Entry("usr/bin/minio", program), Entry("usr/bin/minio.sha256sum", checksum)]
    return image(layer(*entries, Entry("usr/bin/minio.minisig", signature)), labels={"release": tag})


class Rig(Operated):
    """The cluster, and who swaps in it; namespaces come and go."""

    def __init__(self, cluster: Cluster, registry: Registry, folder: Path, key: Key) -> None:
        super().__init__(cluster, (PART,))
        self.registry, self.folder, self.key = registry, folder, key
        self.configure({"listen": "127.0.0.1:0", "cache": str(folder / "cache")})

    def configure(self, section: Json) -> None:
        data = {CONFIG_KEY: yaml.safe_dump({"quorum": section})}
        with contextlib.suppress(NotFound):
            uid = self.client.get(CONFIG_MAP, CONFIG, SPACE)["metadata"]["uid"]
            self.client.delete(CONFIG_MAP, CONFIG, SPACE, uid=uid)
        self.client.create(CONFIG_MAP, {"metadata": {"name": CONFIG}, "data": data}, SPACE)

    lease = Timing()
    """Not the tests' short one: a swap takes a minute, and servers on a busy computer much of it."""


class Service:
    """One service in a namespace of its own."""

    def __init__(self, rig: Rig, namespace: str, folder: Path, programs: Mapping[str, Path]) -> None:
        self.rig, self.namespace, self.client = rig, namespace, rig.client
        self._programs = dict(programs)
        self.was = f"{rig.registry.host}/{REPOSITORY}:{OLD.tag}"
        self.wanted = f"{rig.registry.host}/{REPOSITORY}:{NEW.tag}"
        self.kubelet = Kubelet(rig.cluster.client(), namespace, folder, self._program)
        self._account()

    def _program(self, name: str) -> Path:
        return next(path for tag, path in self._programs.items() if f":{tag}" in name)

    def set_program(self, tag: str, program: Path) -> None:
        """What an image of that tag has in it."""
        self._programs[tag] = program

    def _account(self) -> None:
        with contextlib.suppress(AlreadyExists):
            self.client.create(NAMESPACE, {"metadata": {"name": self.namespace}})
        with contextlib.suppress(AlreadyExists):
            self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, self.namespace)
        values = {"accessKey": USER, "secretKey": PASSWORD}
        self.client.create(SECRET, {"metadata": {"name": "root"}, "stringData": values}, self.namespace)

    def grant(self) -> None:
        space, account = self.namespace, install.ACCOUNT
        for manifest in [
            *grants.quorum(space, account, SPACE),
            *grants.secret(space, "root", account, SPACE),
        ]:
            self.client.create(kind_of(manifest), manifest)

    # --- what a user does ---

    def make_set(self, replicas: int = 4, **environment: str) -> None:
        given = {"MINIO_UPDATE_MINISIGN_PUBKEY": self.rig.key.public, **environment}
        container = {
            "name": "minio",
            "image": self.was,
            "env": [{"name": name, "value": value} for name, value in given.items()],
        }
        pod = {
            "containers": [container],
            "nodeSelector": {"kubernetes.io/hostname": self.kubelet.node},
            "terminationGracePeriodSeconds": 5,
        }
        spec = {
            "serviceName": "minio",
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        }
        self.client.create(STATEFUL_SET, {"metadata": {"name": "minio"}, "spec": spec}, self.namespace)

    def serve(self) -> None:
        """Until every server serves."""
        self.kubelet.start()
        until(self.all_sing, 120, 0.5)

    def make(self, image_name: str = "", marks: Json | None = None, **spec: Any) -> None:
        trust = {"minisignKey": self.rig.key.public}
        body = {
            "statefulSets": ["minio"],
            "image": image_name or self.wanted,
            "credentialsSecret": "root",
            "trust": trust,
            **spec,
        }
        about = {"name": "store", "annotations": marks or {}}
        self.client.create(QUORUM_SERVICE, {"metadata": about, "spec": body}, self.namespace)

    def change(self, **spec: Any) -> None:
        uid = self.client.get(QUORUM_SERVICE, "store", self.namespace)["metadata"]["uid"]
        self.client.patch(QUORUM_SERVICE, "store", {"spec": spec}, self.namespace, uid=uid)

    def unmark(self, mark: str) -> None:
        uid = self.client.get(QUORUM_SERVICE, "store", self.namespace)["metadata"]["uid"]
        none = {"metadata": {"annotations": {mark: None}}}
        self.client.patch(QUORUM_SERVICE, "store", none, self.namespace, uid=uid)

    def delete(self) -> None:
        uid = self.client.get(QUORUM_SERVICE, "store", self.namespace)["metadata"]["uid"]
        self.client.delete(QUORUM_SERVICE, "store", self.namespace, uid=uid)

    # --- looking ---

    def service(self) -> QuorumService:
        return msgspec.convert(self.client.get(QUORUM_SERVICE, "store", self.namespace), QuorumService)

    def reason(self) -> str:
        return self.service().status.reason or ""

    def condition(self, name: str) -> tuple[str, str, str]:
        found = next((one for one in self.service().status.conditions if one.type == name), None)
        return (found.status.value, found.reason, found.message) if found else ("", "", "")

    def stalled(self, reason: str, seconds: float = 60) -> str:
        """The message of the condition, once it is that."""

        def found() -> str:
            state, why, message = self.condition("Stalled")
            return message if (state, why) == ("True", reason) else ""

        try:
            return until(found, seconds, 0.1)
        except AssertionError:
            raise AssertionError(f"not {reason}, but {self.service().status}") from None

    def events(self) -> list[tuple[str, str]]:
        found = self.client.list(EVENT, self.namespace)
        return [(one["reason"], one.get("note", "")) for one in found]

    def live(self) -> Json:
        return self.client.get(STATEFUL_SET, "minio", self.namespace)

    def image(self) -> str:
        return self.live()["spec"]["template"]["spec"]["containers"][0]["image"]

    def marks(self) -> list[str]:
        about = self.live()["metadata"]
        found = {*(about.get("labels") or {}), *(about.get("annotations") or {})}
        return sorted(found & {*MARKS, QUORUM_HOLD})

    def pods(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in self.client.list(POD, self.namespace)}

    def servers(self) -> tuple[Server, ...]:
        kubelet = self.kubelet
        return tuple(
            Server(f"minio-{at}", kubelet.address(at), PORT, kubelet.host(at)) for at in range(kubelet.count)
        )

    def engine(self) -> MinIO:
        return MinIO(Direct(), CREDENTIALS)

    def versions(self) -> list[str]:
        engine = self.engine()
        return [getattr(engine.ask(one), "version", "") for one in self.servers()]

    def all_sing(self) -> bool:
        engine, servers = self.engine(), self.servers()
        told = [engine.ask(one) for one in servers]
        if not all(isinstance(one, Told) and one.serving for one in told):
            return False
        return all(one.sings for one in engine.canary(servers, None))

    def is_swapped(self) -> bool:
        return self.condition("Ready")[:2] == ("True", "AtTarget") and not self.marks()

    def wait_swapped(self, seconds: float = LONG) -> None:
        try:
            until(self.is_swapped, seconds, 0.2)
        except AssertionError:
            raise AssertionError(f"not swapped: {self.service().status}") from None

    def nothing_is_left(self) -> None:
        """Of ours, on what is a user's."""
        assert self.marks() == []
        about = self.client.get(QUORUM_SERVICE, "store", self.namespace)["metadata"]
        assert about.get("finalizers", []) in ([], [FINALIZER])

    def patch_set(self, operations: list[Json]) -> None:
        while True:
            uid = self.live()["metadata"]["uid"]
            try:
                self.client.patch(
                    STATEFUL_SET, "minio", operations, self.namespace, type=PatchType.JSON, uid=uid
                )
            except Conflict:
                continue
            return

    def close(self) -> None:
        self.kubelet.stop()
        with contextlib.suppress(NotFound):
            found = self.client.get(QUORUM_SERVICE, "store", self.namespace)
            if FINALIZER in (found["metadata"].get("finalizers") or []):
                none = {"metadata": {"finalizers": None}}
                self.client.patch(QUORUM_SERVICE, "store", none, self.namespace, uid=found["metadata"]["uid"])
        with contextlib.suppress(NotFound):
            self.delete()
        with contextlib.suppress(NotFound):
            uid = self.client.get(NAMESPACE, self.namespace)["metadata"]["uid"]
            self.client.delete(NAMESPACE, self.namespace, uid=uid)


class Writer:
    """An S3 client that writes all the time: what was acknowledged and cannot be read in the end is lost."""

    def __init__(self, service: Service) -> None:
        self._service, self._engine = service, service.engine()
        self.written: dict[str, bytes] = {}
        self.failed = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def __enter__(self) -> Writer:
        server = self._service.servers()[0]
        assert self._engine._object(server, "PUT", "/kept", b"").status in (200, 409)  # pyright: ignore[reportPrivateUsage]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def lost(self) -> list[str]:
        """Acknowledged, and not readable through some server."""
        return [
            name
            for name, content in self.written.items()
            for server in self._service.servers()
            if self._engine._object(server, "GET", f"/kept/{name}", b"").body != content  # pyright: ignore[reportPrivateUsage]
        ]

    def _run(self) -> None:
        count, servers = 0, self._service.servers()
        while not self._over.wait(0.1):
            name, content = f"object-{count}", f"content of {count}".encode() * 50
            server = servers[count % len(servers)]
            count += 1
            try:
                got = self._engine._object(server, "PUT", f"/kept/{name}", content)  # pyright: ignore[reportPrivateUsage]
            except Exception:
                self.failed += 1
                continue
            if got.status == 200:
                self.written[name] = content
            else:
                self.failed += 1


@contextlib.contextmanager
def served(
    rig: Rig, namespace: str, folder: Path, programs: Mapping[str, Path], prepare: Callable[[Service], None]
) -> Iterator[Service]:
    """A service whose servers serve."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Service(rig, namespace, folder, programs)
    try:
        prepare(made)
        made.serve()
        yield made
    finally:
        made.close()
