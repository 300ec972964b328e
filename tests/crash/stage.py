"""A cluster that goes back to the start of any scenario within a moment.

The manifests of the layers that a scenario runs are installed once, each scenario is built once through the
API server, and what etcd holds then is kept. Going back puts that into etcd again while the controllers are
stopped; pods are taken out before they are put back, so that everybody sees that they are others. It is done
when every object is there and nobody has anything to do.
"""

from __future__ import annotations

import base64
import contextlib
import signal
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shiplift.api import crd
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.credentials import Credentials, load
from shiplift.kube.errors import AlreadyExists
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import LayerPart
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.nodes import SERVICE_ACCOUNT, is_schedulable
from shiplift.operator import install
from tests.crash import facts
from tests.crash.doors import CERTIFICATES
from tests.crash.orders import SPACE
from tests.crash.recorder import Recorder, State
from tests.until import until

Json = dict[str, Any]
Content = dict[str, str]

_ACTIVE = (Component.CONTROLLERS, Component.SCHEDULER, Component.KWOK)
_TRIES = 4


class _Installed(msgspec.Struct, frozen=True):
    """A cluster with the manifests of some layers and nothing else, and the account that they run as."""

    content: Content
    credentials: Credentials


class Stage:
    """One cluster, an eye on it, and the scenarios that were built there so far."""

    def __init__(self, cluster: Cluster, watched: Sequence[Kind], folder: Path) -> None:
        self.cluster = cluster
        self.admin = cluster.client()
        self._folder = folder
        self.url: Callable[[str], str] = _nobody
        """Where, through its fault proxy, somebody outside is found by name."""
        self._define()
        self.recorder = Recorder(cluster.credentials(), self.admin, watched)
        self._empty = cluster.etcd.content()
        self._installed: dict[tuple[str, ...], _Installed] = {}
        self._built: dict[str, tuple[Content, State]] = {}

    def close(self) -> None:
        self.recorder.close()
        self.admin.close()

    def set(self, name: str, parts: Sequence[LayerPart], build: Callable[[], None]) -> Credentials:
        """The cluster as it is at the start of that scenario; the credentials of its operator."""
        installed = self._with(parts)
        if name not in self._built:
            self._put_back(installed.content)
            build()
            self.settle()
            self._built[name] = (self.cluster.etcd.content(), self.recorder.live())
        else:
            self._go_back(*self._built[name])
        return installed.credentials

    def authority(self) -> str:
        """Who vouches for those outside with whom one speaks by https, as PEM."""
        return (self._folder / CERTIFICATES / "ca.crt").read_text()

    def create(self, manifests: Iterable[Json]) -> None:
        for manifest in manifests:
            self.admin.create(kind_of(manifest), manifest, manifest["metadata"].get("namespace", ""))

    def create_namespaces(self, names: Iterable[str]) -> None:
        """With the account that every pod runs as, which their controller would make a moment later."""
        for name in names:
            self.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])
            with contextlib.suppress(AlreadyExists):
                self.admin.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)

    def _go_back(self, content: Content, state: State) -> None:
        """A controller may have acted on half of it: then once more."""
        for _ in range(_TRIES):
            self._put_back(content)
            with contextlib.suppress(AssertionError):
                until(lambda: _same(self.recorder.live(), state), 5)
                self.settle()
                if _same(self.recorder.live(), state):
                    return
        raise AssertionError("the cluster does not go back to the start of the scenario")

    # --- installing ---

    def _define(self) -> None:
        self.create(crd.manifests())
        until(self._serves_ours, 20)

    def _serves_ours(self) -> bool:
        defined = self.admin.list(kinds.CUSTOM_RESOURCE_DEFINITION)
        return all(_established(one["status"].get("conditions") or []) for one in defined)

    def _with(self, parts: Sequence[LayerPart]) -> _Installed:
        names = tuple(part.name for part in parts)
        if names not in self._installed:
            self._put_back(self._empty)
            self.create(install.manifests(SPACE, parts, templates=True))
            self._installed[names] = _Installed(self.cluster.etcd.content(), self._account(names))
        return self._installed[names]

    def _account(self, names: tuple[str, ...]) -> Credentials:
        """Of the operator's own account, as its pod would have them."""
        path = SERVICE_ACCOUNT.path(SPACE, install.ACCOUNT, "token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86400},
        }
        answer = msgspec.json.decode(self.admin.raw("POST", path, body=msgspec.json.encode(body)))
        config = yaml.safe_load(self.cluster.kubeconfig.read_text())
        config["users"] = [
            {"name": one["name"], "user": {"token": answer["status"]["token"]}} for one in config["users"]
        ]
        file = self._folder / f"account-{'-'.join(names)}"
        file.write_text(yaml.safe_dump(config))
        file.chmod(0o600)
        return load(file)

    # --- going back ---

    def _put_back(self, content: Content) -> None:
        """Pods of the same name are taken out first: others in their place would be taken for the same ones.

        New pods go last: a controller that finds too many takes the young ones; with too few it makes more.
        """
        etcd = self.cluster.etcd
        with self._stopped():
            now = etcd.content()
            content = with_heartbeats(content, now)
            etcd.put_back({k: v for k, v in now.items() if not (_is_pod(k) and content.get(k, v) != v)})
            etcd.put_back({**now, **content})
            etcd.put_back(content)

    @contextlib.contextmanager
    def _stopped(self) -> Generator[None]:
        running = [self.cluster.state.processes[name] for name in _ACTIVE]
        for one in running:
            one.send(signal.SIGSTOP)
        try:
            yield
        finally:
            for one in running:
                one.send(signal.SIGCONT)

    def settle(self) -> None:
        """Until nothing has changed for a moment, with every node open and every budget reckoned."""
        before: State = {}
        since = time.monotonic()
        deadline = since + 10
        while time.monotonic() - since < 0.2 or not _calm(before):
            now = self.recorder.live()
            if now != before:
                before, since = now, time.monotonic()
            if time.monotonic() > deadline:
                raise AssertionError("the cluster does not come to rest")
            time.sleep(0.02)
        self.recorder.catch_up()


def _nobody(name: str) -> str:
    raise LookupError(f"nobody called {name} is outside")


def _established(conditions: list[Json]) -> bool:
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def with_heartbeats(content: Content, now: Content) -> Content:
    """What is put back, with the Leases of nodes as they are now: old ones would be signs of dead nodes.

    kwok renews what it has written last; where that is gone, its renewals fail, nodes become unreachable and
    the pods on them unready.
    """
    return content | {key: value for key, value in now.items() if key in content and _is_heartbeat(key)}


def _is_heartbeat(key: str) -> bool:
    return base64.b64decode(key).startswith(b"/registry/leases/kube-node-lease/")


def _is_pod(key: str) -> bool:
    return base64.b64decode(key).startswith(b"/registry/pods/")


def _same(now: State, wanted: State) -> bool:
    """The same objects; the numbers of their versions have gone up meanwhile."""
    return {k: v["metadata"]["uid"] for k, v in now.items()} == {
        k: v["metadata"]["uid"] for k, v in wanted.items()
    }


def _calm(state: State) -> bool:
    nodes = all(is_schedulable(one) for one in facts.kind(state, "Node"))
    pods = all(facts.healthy(one) for one in facts.kind(state, "Pod"))
    return nodes and pods and all(_reckoned(one) for one in facts.kind(state, "PodDisruptionBudget"))


def _reckoned(budget: Json) -> bool:
    status = budget.get("status", {})
    return (
        status.get("observedGeneration") == budget["metadata"]["generation"]
        and status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0)
        and not status.get("disruptedPods")
    )
