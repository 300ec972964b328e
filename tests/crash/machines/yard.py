"""The machines of a lane, the relays before them and the API server that is their cluster: put back for each
plan as they are at the start of its scenario."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import asyncssh
import yaml

from shiplift.facts import kinds
from shiplift.local.cluster import Cluster
from shiplift.local.ports import free_ports
from shiplift.machines.decide.refusals import place
from shiplift.machines.kubeadm import ca_hash
from tests.crash.machines import machine, scenarios
from tests.crash.machines.machine import Machine
from tests.crash.machines.relay import Asked, Keys, Relays
from tests.crash.machines.scenarios import Scenario, Way
from tests.until import until

Content = dict[str, str]


class Yard:
    """Machines are made once; which of them are on depends on the scenario."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self._folder = cluster, folder
        self.admin = cluster.client()
        self.key = folder / "login"
        self._login = asyncssh.generate_private_key("ssh-ed25519")
        folder.mkdir(parents=True, exist_ok=True)
        self.key.write_bytes(self._login.export_private_key())
        self.key.chmod(0o600)
        self._known = _known(cluster)
        until(self._is_there)
        self._empty = cluster.etcd.content()
        self._built: dict[str, Content] = {}
        self.relays = Relays()
        self.machines = dict(self._make(scenarios.MACHINES))
        self._ways: dict[str, Way] = {}

    def _make(self, names: tuple[str, ...]) -> Iterable[tuple[str, Machine]]:
        public = self._login.export_public_key().decode()
        for name, port in zip(names, free_ports(len(names)), strict=True):
            yield name, Machine(name, self._folder / name, port, public, self._known)

    def _is_there(self) -> bool:
        """The API server makes its own namespaces a moment after it has begun to answer."""
        names = {one["metadata"]["name"] for one in self.admin.list(kinds.NAMESPACE)}
        return {"default", "kube-system", "kube-public", "kube-node-lease"} <= names

    def open(self, director: Asked) -> None:
        """From now on machines are reached, through relays."""
        for name, one in self.machines.items():
            port = self.relays.add(name, one.port, Keys(one.host_key, self._login), director)
            known = " ".join(one.host_key.export_public_key().decode().split()[:2])
            self._ways[name] = Way(port, known)

    def close(self) -> None:
        self.relays.close()
        for one in self.machines.values():
            one.off()
        self.admin.close()

    # --- the start of a scenario ---

    def set(self, scenario: Scenario, build: Callable[[], None]) -> None:
        """All of its machines are on, and the cluster is as it was then."""
        self.relays.hang_up()
        for one in self.machines.values():
            one.off()
        if scenario.before and scenario.name not in self._built:
            self._build(scenario, build)
        content = self._built.get(scenario.name, self._empty)
        self.cluster.etcd.put_back(content)
        for name in scenario.names:
            self._put_back(scenario, self.machines[name])
        for name in scenario.names:
            self.machines[name].on()

    def _put_back(self, scenario: Scenario, one: Machine) -> None:
        if one.name in scenario.before:
            one.put_back(self._folder / "saved" / scenario.name)
        else:
            one.wipe()

    def _build(self, scenario: Scenario, build: Callable[[], None]) -> None:
        self.cluster.etcd.put_back(self._empty)
        there = [self.machines[name] for name in scenario.before]
        for one in there:
            one.wipe()
            one.on()
        build()
        saved = self._folder / "saved" / scenario.name
        shutil.rmtree(saved, ignore_errors=True)
        for one in there:
            one.off()
            one.save(saved)
        self._built[scenario.name] = self.cluster.etcd.content()

    # --- what bootstrap is given ---

    def words(self, planes: tuple[str, ...], workers: tuple[str, ...], folder: Path) -> tuple[str, ...]:
        """The command, with a file of those machines."""
        folder.mkdir(parents=True, exist_ok=True)
        file, network = folder / "pools.yaml", folder / "network.yaml"
        file.write_text(scenarios.pools(planes, workers, self._ways, self._known.endpoint))
        network.write_text(scenarios.NETWORK)
        return ("bootstrap", "-f", str(file), "--ssh-key", str(self.key), "--pod-network", str(network))


def _known(cluster: Cluster) -> machine.Cluster:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    authority = (cluster.layout.pki / "ca.crt").read_text()
    return machine.Cluster(
        cluster.state.programs["kubectl"],
        yaml.safe_dump(config),
        authority,
        ca_hash(authority),
        place(config["clusters"][0]["cluster"]["server"]),
    )
