"""The software that is played on machines: as far as bootstrap can tell, it is what it stands for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from shiplift.agent_package import NAME, debian
from shiplift.machines.ssh import runner
from tests.crash.machines import played
from tests.crash.machines.events import What, read


class Played:
    """A root and a rig of its own, for programs that are started here."""

    def __init__(self, folder: Path) -> None:
        self.root, self.rig = folder / "root", folder / "rig"
        self.entry = self.root / "var/lib/shiplift/bootstrap/journal/software-1"
        for one in (self.rig, self.entry, self.root / "etc", self.root / "var/lib/dpkg"):
            one.mkdir(parents=True)
        for name in played.NAMES:
            (self.rig / name).symlink_to(played.__file__)
        (self.rig / "world.json").write_text(json.dumps({"machine": "w-1", "seconds": 0.01}))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SHIPLIFT_RIG": str(self.rig), "SHIPLIFT_ROOT": str(self.root)}
        command = ["/usr/bin/python3", "-IS", self.rig / words[0], *words[1:]]
        return subprocess.run(
            command, cwd=self.entry, env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def machine(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_packages_are_there_when_they_were_installed(machine: Played) -> None:
    shown = ("dpkg-query", "--show", "--showformat=x", "kubelet", NAME)
    assert machine.run(*shown).stdout == ""
    assert machine.run("apt-get", "--yes", "update").returncode == 0
    assert machine.run("apt-get", "--yes", "--allow-x", "install", "kubelet=1.36.3-*").returncode == 0
    made = debian()
    (machine.entry / "agent.deb").write_bytes(made.content)
    assert machine.run("apt-get", "--yes", "install", "./agent.deb").returncode == 0
    assert machine.run("dpkg", "--force-confold", "--configure", "-a").returncode == 0
    said = machine.run(*shown).stdout.splitlines()
    assert said == ["kubelet\t1.36.3-1.1\tinstalled", f"{NAME}\t{made.version}\tinstalled"]


def test_what_a_program_does_is_written_down_with_what_was_on_record(machine: Played) -> None:
    machine.run("apt-mark", "hold", "kubelet")
    (machine.entry / "record.json").touch()
    (machine.entry / "begun").touch()
    (machine.root / "var/lib/shiplift/bootstrap/mark.json").write_text('{"cluster": "c", "first": "cp-1"}')
    machine.run("apt-get", "install", "kubelet=1")
    found = read([machine.rig / "events"])
    assert [one.what for one in found] == [What.BEGAN, What.ENDED, What.BEGAN, What.MIDDLE, What.ENDED]
    first, last = found[0], found[2]
    assert (first.recorded, first.cluster, first.verb) == (False, "", "apt-mark hold")
    assert (last.recorded, last.cluster, last.first) == (True, "c", "cp-1")
    assert (last.machine, last.entry, last.verb) == ("w-1", "software-1", "apt-get install")
    assert found[4].id == last.id


@pytest.mark.parametrize("left", ["etc/kubernetes/pki/ca.crt", "etc/kubernetes/kubelet.conf"])
def test_kubeadm_begins_nothing_on_top_of_what_is_there_and_a_reset_clears_it_away(
    machine: Played, left: str
) -> None:
    (machine.root / left).parent.mkdir(parents=True)
    (machine.root / left).touch()
    (machine.root / "var/lib/etcd/member").mkdir(parents=True)
    document = {"kind": "InitConfiguration", "nodeRegistration": {"name": "w-1"}}
    (machine.entry / "init.yaml").write_text(json.dumps(document))
    done = machine.run("kubeadm", "init", "--config=init.yaml")
    assert (done.returncode, "is there already" in done.stderr) == (1, True)
    assert [one.code for one in read([machine.rig / "events"])] == [0, 1]
    assert runner.facts(request(machine.root))["kubeadm"] is True
    assert machine.run("kubeadm", "reset", "--force").returncode == 0
    assert runner.facts(request(machine.root))["kubeadm"] is False


def request(root: Path) -> dict[str, object]:
    return {"root": str(root), "folder": str(root / "nowhere"), "packages": []}


@pytest.mark.parametrize("words", [("dpkg", "--purge", "x"), ("systemctl", "stop", "x")])
def test_what_is_not_played_says_so(machine: Played, words: tuple[str, ...]) -> None:
    done = machine.run(*words)
    assert (done.returncode, "is not played" in done.stderr) == (1, True)
