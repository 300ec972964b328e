"""The programs of a cluster: in which order they run, and their command lines."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

SERVICE_RANGE = "10.96.0.0/16"
POD_RANGE = "10.244.0.0/16"


class Component(StrEnum):
    """In the order in which they start; they stop the other way round."""

    ETCD = "etcd"
    API_SERVER = "kube-apiserver"
    CONTROLLERS = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"
    KWOK = "kwok"


ALL = tuple(Component)
API_ONLY = (Component.ETCD, Component.API_SERVER)


class Timing(msgspec.Struct, frozen=True):
    """How long pods on simulated nodes take, in seconds; a pod's annotations go before this."""

    ready_after: float = 0.0
    gone_after: float = 0.0
    done_after: float = 0.0


class Settings(msgspec.Struct, frozen=True):
    """What a cluster was asked to be; kept with it, so that a repair makes the same again."""

    components: tuple[Component, ...] = ALL
    emulate: str = ""
    audit: bool = False
    fsync: bool = False
    port: int = 0
    etcd_data: str = ""
    extra: dict[Component, tuple[str, ...]] = {}
    environment: dict[str, str] = {}
    """Of its programs, besides what they inherit."""
    timing: Timing = Timing()


class Ports(msgspec.Struct, frozen=True):
    """One for each listener; kwok has none."""

    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int


class Layout(msgspec.Struct, frozen=True):
    """Where a cluster keeps its files."""

    folder: Path

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.log"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.json"

    @property
    def stages(self) -> Path:
        return self.folder / "stages.yaml"

    @property
    def scheduler_config(self) -> Path:
        return self.folder / "scheduler.json"

    def log(self, component: Component) -> Path:
        return self.logs / f"{component}.log"

    def user_kubeconfig(self, user: str) -> Path:
        return self.pki / f"{user}.kubeconfig"


def arguments(component: Component, layout: Layout, settings: Settings, ports: Ports) -> list[str]:
    """The command line of the component, without the program."""
    flags = _FLAGS[component](layout, settings, ports)
    return [f"--{name}={value}" for name, value in flags.items()] + list(settings.extra.get(component, ()))


def _etcd(layout: Layout, settings: Settings, ports: Ports) -> dict[str, str | int]:
    client, peer = f"https://127.0.0.1:{ports.etcd}", f"https://127.0.0.1:{ports.etcd_peer}"
    pki = layout.pki
    return {
        "name": "etcd",
        "data-dir": settings.etcd_data or str(layout.folder / "etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"etcd={peer}",
        **_trust("", pki / "etcd.crt", pki / "etcd.key", pki / "etcd-ca.crt"),
        **_trust("peer-", pki / "etcd.crt", pki / "etcd.key", pki / "etcd-ca.crt"),
        "unsafe-no-fsync": str(not settings.fsync).lower(),
        "quota-backend-bytes": 8 << 30,
        "log-level": "warn",
    }


def _trust(prefix: str, certificate: Path, key: Path, authority: Path) -> dict[str, str | int]:
    return {
        f"{prefix}cert-file": str(certificate),
        f"{prefix}key-file": str(key),
        f"{prefix}trusted-ca-file": str(authority),
        f"{prefix}client-cert-auth": "true",
    }


def _api_server(layout: Layout, settings: Settings, ports: Ports) -> dict[str, str | int]:
    pki = layout.pki
    return {
        "etcd-servers": f"https://127.0.0.1:{ports.etcd}",
        "etcd-cafile": str(pki / "etcd-ca.crt"),
        "etcd-certfile": str(pki / "etcd-client.crt"),
        "etcd-keyfile": str(pki / "etcd-client.key"),
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        # the address of a loopback server is refused in an Endpoints object
        "endpoint-reconciler-type": "none",
        "secure-port": ports.api,
        "tls-cert-file": str(pki / "server.crt"),
        "tls-private-key-file": str(pki / "server.key"),
        "client-ca-file": str(pki / "ca.crt"),
        "service-account-key-file": str(pki / "service-account.key"),
        "service-account-signing-key-file": str(pki / "service-account.key"),
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-cluster-ip-range": SERVICE_RANGE,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "shutdown-delay-duration": "0s",
        **_emulated(settings),
        **(_audit(layout) if settings.audit else {}),
    }


def _audit(layout: Layout) -> dict[str, str | int]:
    return {"audit-log-path": str(layout.audit_log), "audit-policy-file": str(layout.audit_policy)}


def _emulated(settings: Settings) -> dict[str, str | int]:
    return {"emulated-version": settings.emulate} if settings.emulate else {}


def _controllers(layout: Layout, settings: Settings, ports: Ports) -> dict[str, str | int]:
    pki = layout.pki
    return {
        **_serving(layout, Component.CONTROLLERS, ports.controllers),
        "kubeconfig": str(layout.user_kubeconfig(Component.CONTROLLERS)),
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": str(pki / "service-account.key"),
        "root-ca-file": str(pki / "ca.crt"),
        "cluster-signing-cert-file": str(pki / "ca.crt"),
        "cluster-signing-key-file": str(pki / "ca.key"),
        "kube-api-qps": 1000,
        "kube-api-burst": 2000,
        **_emulated(settings),
    }


def _scheduler(layout: Layout, settings: Settings, ports: Ports) -> dict[str, str | int]:
    return {
        **_serving(layout, Component.SCHEDULER, ports.scheduler),
        "config": str(layout.scheduler_config),
        **_emulated(settings),
    }


def _serving(layout: Layout, component: Component, port: int) -> dict[str, str | int]:
    kubeconfig = str(layout.user_kubeconfig(component))
    return {
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": str(layout.pki / "server.crt"),
        "tls-private-key-file": str(layout.pki / "server.key"),
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
    }


def _kwok(layout: Layout, _settings: Settings, _ports: Ports) -> dict[str, str | int]:
    return {
        "kubeconfig": str(layout.user_kubeconfig(Component.KWOK)),
        "config": str(layout.stages),
        "manage-nodes-with-annotation-selector": "kwok.x-k8s.io/node=fake",
        "node-lease-duration-seconds": 40,
        "cidr": POD_RANGE,
    }


_FLAGS = {
    Component.ETCD: _etcd,
    Component.API_SERVER: _api_server,
    Component.CONTROLLERS: _controllers,
    Component.SCHEDULER: _scheduler,
    Component.KWOK: _kwok,
}
