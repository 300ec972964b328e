"""A pod goes only if its server says so at that moment, and pull secrets are taken as kubelets take them."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer
from shiplift.kube.client import Written
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.quorum.act import actor as module
from shiplift.quorum.act.actor import About, Actor
from shiplift.quorum.act.pull_secrets import pull_secrets
from shiplift.quorum.engines.protocol import Server, Stop
from shiplift.quorum.memory import Memory
from shiplift.quorum.steps import DeletePod

SPEC = msgspec.convert(
    {"statefulSets": ["minio"], "image": "quay.io/minio/minio:1", "credentialsSecret": "root"},
    QuorumServiceSpec,
)


class Cluster:
    """A pod and some Secrets."""

    def __init__(self, secrets: dict[str, dict[str, bytes]] | None = None) -> None:
        self.deleted: list[str] = []
        self._secrets = secrets or {}

    def get(self, kind: Any, name: str, namespace: str) -> dict[str, Any]:
        if kind.kind == "Pod":
            return {"metadata": {"name": name, "uid": "u-0", "resourceVersion": "1"}}
        if name == "forbidden":
            raise Forbidden("no", status=403)
        if name not in self._secrets:
            raise NotFound("no", status=404)
        return {"data": {key: base64.b64encode(one).decode() for key, one in self._secrets[name].items()}}

    def delete(self, kind: Any, name: str, namespace: str, **_: Any) -> Written:
        self.deleted.append(name)
        return Written({}, None)  # pyright: ignore[reportArgumentType]


class Servers:
    """Say whether they may stop."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    def may_stop(self, server: Server) -> Stop:
        return self._stop


@pytest.mark.parametrize(
    ("may", "regardless", "goes"),
    [
        (Truth.TRUE, False, True),
        (Truth.FALSE, False, False),
        (Truth.UNKNOWN, False, False),
        (Truth.FALSE, True, True),
    ],
)
def test_a_pod_goes_only_if_its_server_may_stop_at_that_moment(
    monkeypatch: pytest.MonkeyPatch, may: Truth, regardless: bool, goes: bool
) -> None:
    cluster, memory = Cluster(), Memory()
    memory.servers = {"u-0": Server("minio-0", "10.0.0.1", 9000, "minio-0.minio")}
    monkeypatch.setattr(module, "connected", lambda *_: Servers(Stop(may, "two drives heal")))  # pyright: ignore[reportUnknownLambdaType]
    actor = Actor(cluster, About("shop", "store", SPEC), None, None, memory)  # pyright: ignore[reportArgumentType]
    outcome = actor.act(DeletePod("minio-0", "u-0", "to be made anew", regardless))
    assert (outcome.ok, cluster.deleted) == (goes, ["minio-0"] if goes else [])
    if not goes:
        assert outcome.answer is Answer.REFUSED
        assert outcome.message == "the service would not be well without minio-0: two drives heal"


def test_pull_secrets_that_cannot_be_had_are_done_without() -> None:
    given = {
        "new": {".dockerconfigjson": b'{"auths":{"quay.io":{"auth":"eDp5"}}}'},
        "old": {".dockercfg": b'{"quay.io":{"auth":"YTpi"},"image-registry.svc:5000":{"auth":"YzpkZQ=="}}'},
        "other": {"key": b"x"},
        "broken": {".dockerconfigjson": b"{"},
    }
    names = ("new", "old", "none", "forbidden", "other", "broken")
    found = pull_secrets(Cluster(given), "shop", names)  # pyright: ignore[reportArgumentType]
    assert {host: pair.reveal() for host, pair in found.by_host.items()} == {
        "quay.io": b"x:y",
        "image-registry.svc:5000": b"c:de",
    }
    none, forbidden, other, broken = found.troubles
    assert "shop/none does not exist" in none
    assert "--grant shop/forbidden" in forbidden
    assert "shop/other has no key .dockerconfigjson" in other
    assert "shop/broken: a pull secret holds no .dockerconfigjson" in broken
