"""What machines are made of: their needs, addresses, packages and programs; nothing is started here."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys

import msgspec
import pytest

from shiplift.local import state
from shiplift.local.cluster import Cluster
from shiplift.local.components import Ports, Settings
from shiplift.local.errors import LocalError
from shiplift.local.machines import (
    Machines,
    cgroups,
    depot,
    machines,
    needs,
    network,
    packages,
    programs,
    tools,
)
from shiplift.local.machines.machines import FILE
from shiplift.local.machines.network import DEPOT, Network
from shiplift.local.state import State
from tests.local.test_assets import quiet


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIPLIFT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_who_is_not_root_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LocalError, match="machines need root") as refused:
        Machines("default", tmp_path).up(1)
    assert "sudo" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_machines_from_before_a_restart_of_this_computer_are_named_so(monkeypatch, tmp_path):
    """What is written down outlives it, their namespaces do not."""
    monkeypatch.setattr(needs, "refusal", lambda _: None)
    monkeypatch.setattr(network, "_namespaces", list)
    folder = tmp_path / "default"
    folder.mkdir()
    (folder / FILE).write_bytes(msgspec.json.encode(machines.State(Network(7), "/nowhere", 2)))
    for count in (2, 3):
        with pytest.raises(
            LocalError, match="machines 'default' are from before this computer was"
        ) as refused:
            Machines("default", tmp_path).up(count)
        assert refused.value.hint == "shiplift local down --name default ends them"
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_another_system_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    why = needs.refusal()
    assert why
    assert why.message == "no machines on darwin"


def test_programs_that_are_missing_are_named_by_their_packages(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "_ROOTS", "")
    why = needs.refusal()
    assert why
    assert why.message == "machines need apt, dpkg, iproute2, perl, util-linux"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ((), "cgroup v1 without blkio, cpu, cpuacct, cpuset, devices, freezer, memory, pids, systemd"),
        (
            ("cpu", "cpuacct", "cpuset", "devices", "freezer", "blkio", "pids", "systemd"),
            "cgroup v1 without memory",
        ),
        (("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"), ""),
    ],
)
def test_control_groups_that_are_missing_are_named(tmp_path, there, said):
    for name in there:
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    assert cgroups.missing(tmp_path) == said


def test_version_2_of_control_groups_is_judged_by_its_controllers(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    assert cgroups.missing(tmp_path) == ""
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu\n")
    assert cgroups.missing(tmp_path) == "cgroup v2 without io, memory, pids"


@pytest.mark.parametrize("count", [0, -1, 21, 1000])
def test_a_number_of_machines_that_cannot_be_is_refused(tmp_path, count):
    with pytest.raises(LocalError, match=f"{count} is no number of machines"):
        Machines("default", tmp_path).up(count)


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "../x", "x" * 60])
def test_a_name_that_cannot_be_is_refused(name):
    with pytest.raises(LocalError, match="cannot be the name of a cluster"):
        Machines(name)


def test_machines_that_are_not_there_are_named(tmp_path):
    with pytest.raises(LocalError, match="there are no machines 'mine'") as refused:
        _ = Machines("mine", tmp_path).hosts
    assert "--machines 3 --name mine" in refused.value.hint
    assert Machines("mine", tmp_path).down() is False


def test_machines_and_clusters_do_not_take_each_others_names(monkeypatch, tmp_path):
    monkeypatch.setattr(needs, "refusal", lambda _folder: None)
    (tmp_path / "mine").mkdir()
    state.write(tmp_path / "mine", State(Settings(), Ports(1, 2, 3, 4, 5), {}))
    with pytest.raises(LocalError, match="'mine' is the name of a cluster already"):
        Machines("mine", tmp_path).up(1)
    assert Cluster("mine", tmp_path).exists
    (tmp_path / "other").mkdir()
    (tmp_path / "other/machines.json").write_text("{}")
    with pytest.raises(LocalError, match="'other' is the name of machines already"):
        Cluster("other", tmp_path).up()
    assert (tmp_path / "other/machines.json").exists()


def test_addresses_do_not_meet():
    one = Network(7)
    names = [DEPOT, *network.machine_names(network.MOST_MACHINES)]
    addresses = {one.gateway, *map(one.address, names)}
    assert len(addresses) == network.MOST_MACHINES + 2
    assert all(ipaddress.ip_address(address) in ipaddress.ip_network(one.subnet) for address in addresses)
    assert len({one.pods(name) for name in names}) == network.MOST_MACHINES + 1
    assert len(one.link) <= 15


@pytest.mark.parametrize(
    ("route", "taken"),
    [("10.171.7.0/24", True), ("10.171.0.0/16", True), ("10.0.0.0/8", True), ("10.171.8.0/24", False)],
)
def test_a_network_that_this_computer_has_a_way_to_is_taken(route, taken):
    assert network._is_taken(Network(7), [ipaddress.IPv4Network(route)]) is taken


@pytest.mark.parametrize(
    ("version", "base"),
    [("v1.36.3", "v1.36.3"), ("v1.36.4", "v1.36.3"), ("v1.35.4", "v1.35.4"), ("v1.35.0", "v1.35.4")],
)
def test_a_version_is_of_the_code_of_its_minor(version, base):
    assert programs.base_of(version) == base


@pytest.mark.parametrize("version", ["1.36.3", "v1.34.1", "v1.36", "v1.36.10", "v2.36.1", "v1.36.3-rc.1", ""])
def test_a_version_that_machines_cannot_have_is_refused(version):
    with pytest.raises(LocalError, match="machines cannot have Kubernetes") as refused:
        programs.base_of(version)
    assert "v1.36.3 or v1.35.4" in refused.value.hint


def test_a_version_is_stamped_on_all_names_of_the_binary(tmp_path):
    built = tmp_path / "built"
    built.mkdir()
    (built / "kubernetes").write_bytes(b"\x7fELF v1.36.3\0go1.26.3")
    (built / "kubelet").symlink_to("kubernetes")
    made = programs._stamp(built, "v1.36.3", "v1.36.4", tmp_path)
    assert (made / "kubelet").read_bytes() == b"\x7fELF v1.36.4\0go1.26.3"
    assert (built / "kubelet").read_bytes() == b"\x7fELF v1.36.3\0go1.26.3"


def test_a_binary_without_its_version_is_not_stamped(tmp_path):
    built = tmp_path / "built"
    built.mkdir()
    (built / "kubernetes").write_bytes(b"\x7fELF")
    with pytest.raises(LocalError, match=r"no version v1\.36\.3 is stamped"):
        programs._stamp(built, "v1.36.3", "v1.36.4", tmp_path)


def test_packages_have_what_dpkg_asks_for(empty_cache):
    folder = packages.find("v1.36.3", quiet)
    debs = sorted(path.name for path in folder.glob("*.deb"))
    assert [name.partition("_")[0] for name in debs] == ["kubeadm", "kubectl", "kubelet"]
    (kubelet,) = folder.glob("kubelet_1.36.3-1.1_*.deb")
    assert said_by("dpkg-deb", "-f", kubelet, "Version") == "1.36.3-1.1\n"
    listed = said_by("dpkg-deb", "-c", kubelet)
    assert "/usr/bin/kubelet -> /srv/published/kubernetes/v1.36.3/kubelet" in listed
    assert "./lib/systemd/system/kubelet.service" in listed
    assert "systemctl enable kubelet.service" in said_by("dpkg-deb", "-I", kubelet, "postinst")
    assert packages.find("v1.36.3", quiet) == folder


def test_the_index_of_a_channel_has_every_version_that_was_published(empty_cache, tmp_path):
    for version in ("v1.36.3", "v1.36.4"):
        depot.publish_packages(tmp_path / "v1.36", packages.find(version, quiet))
    index = (tmp_path / "v1.36/Packages").read_text()
    for version in ("1.36.3-1.1", "1.36.4-1.1"):
        assert index.count(f"\nVersion: {version}\n") == 3
    depot.publish_packages(tmp_path / "v1.36", packages.find("v1.36.4", quiet))
    assert (tmp_path / "v1.36/Packages").read_text() == index


def said_by(*command: object) -> str:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def test_hierarchies_that_are_mounted_together_are_one(tmp_path):
    for name in ("cpu,cpuacct", "memory", "unified"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    for name in ("cpu", "cpuacct"):
        (tmp_path / name).symlink_to("cpu,cpuacct")
    assert cgroups.hierarchies(tmp_path) == ["cpu,cpuacct", "memory", "unified"]
