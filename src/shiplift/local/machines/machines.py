"""A set of real machines on this computer, by name: up, down, and the way in.

Either all of a set is there, or `up` has failed and nothing of it is. Whatever happened to it meanwhile,
`down` leaves no process, namespace, link, control group, mount or disk of it.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

import msgspec

from shiplift.local import cluster, paths, process, state
from shiplift.local.errors import LocalError, disk_errors
from shiplift.local.lock import locked
from shiplift.local.machines import (
    birth,
    blueprint,
    cgroups,
    depot,
    keys,
    kubeadm,
    needs,
    network,
    notices,
    packages,
    programs,
    root,
)
from shiplift.local.machines.blueprint import Blueprint
from shiplift.local.machines.host import Host
from shiplift.local.machines.network import DEPOT, MOST_MACHINES, Network, machine_names
from shiplift.local.private import write_private
from shiplift.local.progress import Say, silent

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
FILE = cluster.MACHINES


class State(msgspec.Struct, frozen=True):
    """What is written down about a set: enough to find and end all of it from anywhere."""

    network: Network
    root: str
    count: int = 0
    kubernetes: str = ""
    """The version of the cluster that was made of them; empty: none was."""


class Machines:
    """A handle on the set of a name; cheap, and any number may exist."""

    def __init__(self, name: str = "default", root: Path | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise LocalError(
                f"{name!r} cannot be the name of a cluster", "use lower-case letters, digits and hyphens"
            )
        self.name = name
        self.root = root or paths.clusters_root()
        self.folder = self.root / name

    @property
    def exists(self) -> bool:
        return _read(self.folder) is not None

    @property
    def state(self) -> State:
        if known := _read(self.folder):
            return known
        raise LocalError(
            f"there are no machines {self.name!r}",
            f"shiplift local up --machines 3 --name {self.name} makes them",
        )

    @property
    def hosts(self) -> tuple[Host, ...]:
        known = self.state
        return tuple(self._host(known.network, name) for name in machine_names(known.count))

    @property
    def depot(self) -> Host:
        """The machine that has packages and images for the others."""
        return self._host(self.state.network, DEPOT)

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        raise LocalError(
            f"there is no machine {name!r}", f"one of {', '.join(one.name for one in self.hosts)}"
        )

    @property
    def key(self) -> Path:
        """Opens every machine, for root."""
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F`: machines by their names."""
        return self.folder / "ssh_config"

    @property
    def kubeconfig(self) -> Path:
        """The admin's, once there is a cluster; good from this computer."""
        return self.folder / "kubeconfig"

    @property
    def published(self) -> Path:
        """What machines find at the depot."""
        return self.folder / "published"

    @property
    def repository(self) -> str:
        """Where machines find packages."""
        return f"http://{DEPOT}/apt"

    def up(self, count: int, say: Say = silent, kubernetes: str = "") -> None:
        """Make the set, add machines to it, or start those that are off; returns when all answer.

        With a version of Kubernetes, kubeadm makes a cluster of them; machines that are added later join it.
        """
        _check(count)
        if kubernetes:
            programs.base_of(kubernetes)
        if why := needs.refusal(self.root):
            raise why
        with disk_errors(self.root), self._locked(say):
            if state.read(self.folder):
                raise LocalError(
                    f"{self.name!r} is the name of a cluster already",
                    f"choose another, or end it: shiplift local down --name {self.name}",
                )
            new = not self.exists
            try:
                if new:
                    self._create(say)
                self._refuse_what_is_from_before()
                self._grow(count, say)
                self._start(say)
                self._join(kubernetes, say)
            except BaseException:
                if new:
                    with process.uninterrupted():
                        self._remove()
                raise

    def publish(self, version: str, say: Say = silent) -> None:
        """Packages and images of that Kubernetes are at the depot; those published before stay."""
        _ = self.state
        with disk_errors(self.root), self._locked(say):
            depot.publish(self.published, version, say)

    def offer(self, *versions: str, say: Say = silent) -> None:
        """Bare machines find packages and images of those versions."""
        for version in versions:
            self.publish(version, say)
        for host in self.hosts:
            kubeadm.name_source(host, self.repository, *versions)

    def publish_later_containerd(self, say: Say = silent) -> str:
        """A later revision of what is installed is in the channel `containerd`; returns the revision."""
        _ = self.state
        with disk_errors(self.root), self._locked(say):
            return depot.publish_later_containerd(self.published, say)

    def make_cluster(self, version: str = programs.NEWEST, say: Say = silent) -> None:
        """A cluster of that Kubernetes on all machines, the first its control plane, by kubeadm."""
        self.up(self.state.count, say, version)

    def down(self) -> bool:
        """End and forget the set; False when there was nothing."""
        with self._locked(silent), process.uninterrupted():
            known = self.exists
            self._remove()
            (self.root / f"{self.name}.lock").unlink(missing_ok=True)
        return known

    def _create(self, say: Say) -> None:
        shared = root.find(say)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        depot.prepare(self.published)
        opener = keys.new_key()
        write_private(self.key, opener.private.encode())
        self.key.with_suffix(".pub").write_text(opener.public)
        # no Ctrl-C may come between a network and its being written down
        with process.signals_held():
            made = network.make()
            try:
                self._write(State(made, str(shared)))
            except BaseException:
                network.remove(made)
                raise

    def _refuse_what_is_from_before(self) -> None:
        """Namespaces and control groups of machines that were made before a restart are gone."""
        if not network.exists(self.state.network):
            raise LocalError(
                f"machines {self.name!r} are from before this computer was restarted",
                f"shiplift local down --name {self.name} ends them",
            )

    def _grow(self, count: int, say: Say) -> None:
        known = self.state
        for name in [*([] if known.count else [DEPOT]), *machine_names(count)[known.count :]]:
            self._make(name)
        if count > known.count:
            new = count - known.count
            say(f"made {new} machine{'' if new == 1 else 's'} in {known.network.subnet}")
            self._write(msgspec.structs.replace(known, count=count))
        elif count < known.count:
            say(f"there are {known.count} machines, and none is removed")

    def _make(self, name: str) -> None:
        """From nothing, or from what an interrupted `up` left of it."""
        known = self.state
        host = self._host(known.network, name)
        host.remove()
        shutil.rmtree(host.folder, ignore_errors=True)
        network.connect(known.network, name)
        own = keys.new_key()
        host.folder.mkdir(mode=0o700)
        groups = cgroups.make(f"{known.network.switch}/{name}")
        shared = {packages.PUBLISHED: str(self.published), depot.CACHE: str(depot.cache_folder())}
        plan = Blueprint(name, known.root, known.network.namespace(name), groups, shared)
        blueprint.write(host.disks, plan)
        birth.prepare(host.disks, known.network, name, own, self.key.with_suffix(".pub").read_text())
        _append(self.known_hosts, f"{host.address} {own.public}")
        _append(self.ssh_config, self._entry(host))

    def _start(self, say: Say) -> None:
        hosts = (self.depot, *self.hosts)
        if off := [host for host in hosts if not host.running]:
            say(f"booting {', '.join(host.name for host in off)}")
            notices.widen()
        for host in hosts:
            host.start()
        for host in hosts:
            host.wait(*(birth.PORTS if host.name == DEPOT else ()))

    def _join(self, kubernetes: str, say: Say) -> None:
        known = self.state
        version = kubernetes or known.kubernetes
        if known.kubernetes and version != known.kubernetes:
            raise LocalError(
                f"machines {self.name!r} are a cluster of {known.kubernetes} already",
                f"shiplift local down --name {self.name} ends it",
            )
        if version:
            depot.publish(self.published, version, say)
            made = kubeadm.make(self.hosts, self.repository, version, say)
            write_private(self.kubeconfig, made)
            self._write(msgspec.structs.replace(known, kubernetes=version))

    def _remove(self) -> None:
        if known := _read(self.folder):
            there = [path.name for path in self.folder.iterdir() if (path / blueprint.FILE).exists()]
            for name in there:
                self._host(known.network, name).remove()
            network.remove(known.network)
            notices.give_back(network.any_left)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _entry(self, host: Host) -> str:
        return (
            f"Host {host.name}\n  HostName {host.address}\n  User root\n  IdentityFile {self.key}\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.known_hosts}\n  StrictHostKeyChecking yes\n"
        )

    def _host(self, known: Network, name: str) -> Host:
        return Host(name, known, self.folder / name)

    def _write(self, known: State) -> None:
        """Whole or not at all: readers never see half a file."""
        temporary = self.folder / f"{FILE}.new"
        write_private(temporary, msgspec.json.encode(known))
        temporary.replace(self.folder / FILE)

    def _locked(self, say: Say) -> contextlib.AbstractContextManager[None]:
        def waiting() -> None:
            say(f"waiting for another command on machines {self.name}")

        return locked(self.root / f"{self.name}.lock", waiting)


def names(root: Path | None = None) -> list[str]:
    """Every set that is written down, running or not."""
    folder = root or paths.clusters_root()
    return sorted(path.parent.name for path in folder.glob(f"*/{FILE}"))


def _check(count: int) -> None:
    if not 1 <= count <= MOST_MACHINES:
        raise LocalError(f"{count} is no number of machines", f"from 1 to {MOST_MACHINES}")


def _read(folder: Path) -> State | None:
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode((folder / FILE).read_bytes(), type=State)
    return None


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
