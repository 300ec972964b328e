"""A whole service: a real StatefulSet whose pods are real MinIO servers, a real registry with real images,
and an operator that observes, decides and acts until nothing is left to do.

Pods are on simulated nodes; a kubelet of the test starts a server for each of them, from the binary of the
image that the pod was made of, as a kubelet would: another pod of the same name, another start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from shiplift.api.quorum import QuorumServiceSpec, Trust
from shiplift.engine import clock
from shiplift.engine.probes import Truth
from shiplift.engine.step import Outcomes, Started, Step
from shiplift.facts.kinds import POD, STATEFUL_SET
from shiplift.kube.client import Client
from shiplift.quorum import validating
from shiplift.quorum.act.actor import Actor, Artifacts
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.decide import decide
from shiplift.quorum.engines.protocol import Server, Told
from shiplift.quorum.images.fetching import Https
from shiplift.quorum.images.registry import Platform
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import QuorumDecision, Reason
from shiplift.quorum.names import SWAP
from shiplift.quorum.observe.gathering import Read, Recorded, view_of
from shiplift.quorum.observe.members import Heard, Place
from shiplift.quorum.serving import ArtifactServer
from tests.minio.servers import COUNT, Servers
from tests.registry import Registry
from tests.until import until

Json = dict[str, Any]
LABELS = {"app": "minio"}


def make_set(client: Client, namespace: str, image: str, key: str) -> None:
    environment = [{"name": "MINIO_UPDATE_MINISIGN_PUBKEY", "value": key}]
    container = {"name": "minio", "image": image, "env": environment}
    spec = {
        "serviceName": "minio",
        "replicas": COUNT,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
    }
    client.create(STATEFUL_SET, {"metadata": {"name": "minio"}, "spec": spec}, namespace)
    until(lambda: len(list(client.list(POD, namespace))) == COUNT, 60)


class Kubelet:
    """Runs a server for each pod."""

    def __init__(self, servers: Servers, programs: Callable[[str], Path]) -> None:
        self.servers, self._programs = servers, programs
        self._started: dict[int, str] = {}

    def sync(self, pods: dict[str, Json]) -> None:
        for at in range(COUNT):
            pod = pods.get(f"minio-{at}")
            uid = pod["metadata"]["uid"] if pod else ""
            if self._started.get(at, "") == uid:
                continue
            if self._started.get(at):
                self.servers.kill(at)
            if pod is not None:
                self.servers.install(at, self._programs(pod["spec"]["containers"][0]["image"]))
                self.servers.start(at)
            self._started[at] = uid


class Operator:
    """One that is killed loses its memory; what is on record stays."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        kubelet: Kubelet,
        registry: Registry,
        spec: QuorumServiceSpec,
        cache: Path,
    ) -> None:
        self._client, self._namespace, self.kubelet = client, namespace, kubelet
        self._registry, self._cache = registry, cache
        self.spec = spec
        self.operation: Started | None = None
        self.given_up = ""
        self.seen: list[tuple[Reason, tuple[str, ...]]] = []
        self._engine = kubelet.servers.engine()
        self._listener: ArtifactServer | None = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """As after a crash."""
        self.close()
        self._memory, self._outcomes = Memory(), Outcomes()
        self._listener = ArtifactServer(("127.0.0.1", 0))
        self._listener.start()
        base = f"http://127.0.0.1:{self._listener.port}"
        sets = Sets(self._client, self._namespace, "store", "minio")
        self._actor = Actor(
            self._client,
            self._namespace,
            sets,
            self._engine,
            Artifacts(self._listener, base),
            self._validate,
            self._memory,
        )

    def close(self) -> None:
        if self._listener is not None:
            self._listener.stop()
            self._listener = None

    def round(self) -> QuorumDecision:
        read = self._read()
        self.kubelet.sync(dict(read.pods))
        self._memory.servers = self._servers(read)
        place = Place(self._namespace, "minio", 9000, "127.0.0.1")
        recorded = Recorded("store", self.spec, self.operation, self.given_up)
        view = view_of(recorded, read, self._heard(), self._memory, self._engine, place, self._outcomes)
        decision = decide(view, clock.now())
        self.seen.append((decision.line.reason, tuple(type(step).__name__ for step in decision.steps)))
        for step in decision.steps:
            self._outcomes = self._outcomes.remember([self._actor.act(step)], clock.now())
        self.operation = decision.record or self.operation
        self.given_up = decision.give_up or self.given_up
        return decision

    def run(
        self, done: Callable[[QuorumDecision], bool], after: Callable[[Step], None] = lambda _: None
    ) -> None:
        """Round after round; `after` is called with each step that was taken."""
        deadline = time.monotonic() + 400
        while not done(decision := self.round()):
            for step in decision.steps:
                after(step)
            assert not decision.line.stalled or self.given_up, decision.line
            assert time.monotonic() < deadline, self.seen[-20:]
            time.sleep(0.2)

    def live(self) -> Json:
        return self._client.get(STATEFUL_SET, "minio", self._namespace)

    def live_swap(self) -> bool:
        """Whether a swap is on record."""
        return SWAP in (self.live()["metadata"].get("annotations") or {})

    def _read(self) -> Read:
        pods = {
            pod["metadata"]["name"]: pod
            for pod in self._client.list(POD, self._namespace)
            if not pod["metadata"].get("deletionTimestamp")
        }
        return Read([self.live()], pods)

    def _servers(self, read: Read) -> dict[str, Server]:
        there = self.kubelet.servers.all
        return {pod["metadata"]["uid"]: there[int(name[-1])] for name, pod in read.pods.items()}

    def _heard(self) -> dict[str, Heard]:
        asked = {uid: self._engine.ask(server) for uid, server in self._memory.servers.items()}
        all_serve = all(isinstance(one, Told) and one.serving for one in asked.values())
        if not all_serve:
            return {uid: Heard(answer) for uid, answer in asked.items()}
        servers = list(self._memory.servers.values())
        sung = {one.server: Truth.of(one.sings) for one in self._engine.canary(servers, None)}
        return {
            uid: Heard(answer, sung[server.name], self._engine.may_stop(server).may)
            for (uid, answer), server in zip(asked.items(), servers, strict=True)
        }

    def _validate(self, image: str) -> validating.Validated:
        engine, opening = self._engine, lambda hosts: Https(hosts, self._registry.tls, 120)
        validator = validating.Validator(engine, opening, self._cache, Platform())
        trust = validating.Trust(self.spec.trust.minisign_key or "")
        return validator.validate(image, trust, {})


def spec_of(image: str, key: str, **changed: Any) -> QuorumServiceSpec:
    made = QuorumServiceSpec(
        stateful_sets=("minio",), image=image, credentials_secret="root", trust=Trust(minisign_key=key)
    )
    return msgspec.structs.replace(made, **changed)
