"""Real machines: each is one of its own, all can be reached, and nothing is left of them afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from shiplift.local.errors import LocalError
from shiplift.local.machines import Host, Machines, birth, cgroups, kubeadm, names
from shiplift.local.machines.inside import KUBELET_SETTINGS
from shiplift.local.process import Process
from tests.local.leftovers import processes_of, running
from tests.until import until

from .boots import boot_id, until_restarted
from .leftovers import settings_here, traces

VERSION_2 = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
COMMAND = [sys.executable, "-c", "from shiplift.cli import main; main()", "local"]


@pytest.fixture
def state_folder(monkeypatch, tmp_path):
    """Where the command keeps machines; whatever becomes of the test, they end with it."""
    monkeypatch.setenv("SHIPLIFT_STATE", str(tmp_path))
    yield tmp_path / "clusters"
    for name in names(tmp_path / "clusters"):
        Machines(name, tmp_path / "clusters").down()


def ssh(machines: Machines, name: str, *command: str) -> str:
    if not shutil.which("ssh"):
        pytest.skip("no ssh here")
    done = subprocess.run(
        ["ssh", "-F", machines.ssh_config, "-o", "BatchMode=yes", name, *command],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    return done.stdout


def test_machines_are_hosts_of_their_own_and_leave_nothing_behind(machines):
    here = settings_here()
    made = machines(2)
    network = made.state.network
    assert traces(network)
    first, second = made.hosts
    assert [host.run("hostname").stdout.strip() for host in made.hosts] == ["m1", "m2"]
    assert first.read("/etc/machine-id") != second.read("/etc/machine-id")
    assert boot_id(first) != boot_id(second)
    assert ssh(made, "m2", "hostname") == "m2\n"
    for host in made.hosts:
        assert host.run("systemctl", "is-system-running", "--wait").stdout == "running\n"
        assert host.run("systemctl", "is-active", "ssh", "containerd").stdout == "active\nactive\n"
        assert host.run("ctr", "version").returncode == 0
    assert first.run("curl", "-s", f"telnet://{second.address}:22", "-m", "2", check=False).stdout.startswith(
        "SSH-"
    )
    assert first.run("curl", "-sf", "http://depot/").returncode == 0
    assert first.run("curl", "-sf", "http://depot:5000/v2/_catalog").stdout == '{"repositories":[]}\n'

    made.down()
    assert traces(network) == set()
    assert settings_here() == here
    assert processes_of(made.folder) == []
    assert not made.folder.exists()


def test_a_machine_that_restarts_itself_keeps_its_disks_and_gets_a_new_boot_id(machines):
    (host,) = machines(1).hosts
    host.write("/var/lib/kept", b"kept")
    host.write("/run/gone", b"gone")
    before = boot_id(host)
    host.run("systemctl", "reboot")
    until_restarted(host, before)
    assert host.read("/var/lib/kept") == b"kept"
    assert host.run("test", "-e", "/run/gone", check=False).returncode == 1

    host.run("systemctl", "poweroff")
    until(lambda: not host.running)
    host.start()
    host.wait()
    assert host.read("/var/lib/kept") == b"kept"


def test_a_machine_whose_plug_is_pulled_is_off_until_it_is_started(machines):
    made = machines(2)
    host = made.host("m2")
    before = boot_id(host)
    host.kill()
    assert not host.running
    with pytest.raises(LocalError, match="machine m2 is off"):
        host.run("true")
    assert made.host("m1").answers
    made.up(2)
    assert boot_id(host) != before


def test_a_cable_is_cut_and_mended(machines):
    (host,) = machines(1).hosts
    host.cut()
    assert not host.answers
    assert host.run("hostname").stdout == "m1\n"
    host.mend()
    until(lambda: host.answers)


def test_packages_and_images_are_there_as_soon_as_machines_are(machines):
    made = machines(1)
    assert all(map(made.depot.listens, birth.PORTS))


def test_machines_are_added(machines):
    made = machines(1)
    key, before = made.key.read_bytes(), boot_id(made.host("m1"))
    made.up(2)
    assert [host.answers for host in made.hosts] == [True, True]
    assert (made.key.read_bytes(), boot_id(made.host("m1"))) == (key, before)
    assert ssh(made, "m2", "hostname") == "m2\n"


def test_two_sets_know_nothing_of_each_other(machines):
    one, other = machines(1), machines(1)
    assert one.state.network != other.state.network
    assert other.host("m1").run("ping", "-c", "1", one.host("m1").address, check=False).returncode != 0
    one.down()
    assert other.host("m1").answers


def test_a_machine_cannot_change_the_settings_of_this_computers_kernel(machines):
    here = settings_here()
    (host,) = machines(1).hosts
    for name, value in KUBELET_SETTINGS.items():
        assert host.read(f"/proc/sys/{name}").decode().strip() == value
        host.run("sh", "-c", f"echo 7 > /proc/sys/{name}")
    refused = host.run("sh", "-c", "echo 1 > /proc/sys/kernel/printk", check=False)
    assert "Read-only file system" in refused.stderr
    assert settings_here() == here


def test_containerd_goes_to_a_later_revision_and_back_by_apt(machines):
    made = machines(1)
    (host,) = made.hosts
    before, later = version_of(host, "containerd"), made.publish_later_containerd()
    host.write(
        "/etc/apt/sources.list.d/containerd.list",
        f"deb [trusted=yes] {made.repository}/containerd ./\n".encode(),
    )
    host.run(*kubeadm.UPDATE)
    for wanted in (later, before):
        running = main_pid(host, "containerd")
        host.run("apt-get", "install", "-q", "-y", "--allow-downgrades", f"containerd={wanted}")
        assert version_of(host, "containerd") == wanted
        assert main_pid(host, "containerd") not in (running, 0)


def version_of(host: Host, package: str) -> str:
    return host.run("dpkg-query", "-W", "-f", "${Version}", package).stdout


def main_pid(host: Host, unit: str) -> int:
    return int(host.run("systemctl", "show", "--value", "-p", "MainPID", unit).stdout)


def test_a_machine_runs_with_control_groups_of_version_2_alone(machines, monkeypatch):
    """With the hierarchy that may be beside those of version 1, which then have its controllers."""
    top = next((one for one in VERSION_2 if (one / "cgroup.controllers").exists()), None)
    if top is None:
        pytest.skip("no control groups of version 2 here")
    monkeypatch.setattr(cgroups, "_TOP", top)
    monkeypatch.setattr(cgroups, "_VERSION_2", tuple((top / "cgroup.controllers").read_text().split()))
    made = machines(1)
    (host,) = made.hosts
    assert host.run("stat", "-f", "-c", "%T", "/sys/fs/cgroup").stdout == "cgroup2fs\n"
    assert host.run("systemctl", "is-system-running", "--wait").stdout == "running\n"
    network = made.state.network
    made.down()
    assert traces(network) == set()


@pytest.mark.crash
def test_a_machine_ends_with_its_keeper(machines):
    made = machines(1)
    (host,) = made.hosts
    msgspec.json.decode(host.disks.keeper.read_bytes(), type=Process).send(signal.SIGKILL)
    until(lambda: not host.running)
    made.up(1)
    assert host.answers


@pytest.mark.crash
@pytest.mark.usefixtures("machine_root")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_up_leaves_nothing(state_folder, number):
    with running([*COMMAND, "up", "--machines", "1", "--bare"], stderr=subprocess.PIPE) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("booting"):
                break
        network = Machines("default", state_folder).state.network
        assert traces(network)
        os.kill(process.pid, number)
        assert "nothing was left behind" in process.stderr.read()
        assert process.wait(20) == 130
    assert traces(network) == set()
    assert list(state_folder.glob("*/")) == []


@pytest.mark.usefixtures("machine_root")
def test_the_command_makes_shows_repairs_and_ends_machines(state_folder):
    up = local("up", "--machines", "1", "--bare")
    assert (up.returncode, up.stdout) == (0, "")
    assert "hint: shiplift local ssh m1 logs in as root" in up.stderr
    assert local("status").stdout.startswith("default\trunning\t10.171.")
    again = local("up", "--machines", "1", "--nodes", "3")
    assert again.returncode == 1
    assert "--machines and --nodes do not go together" in again.stderr
    assert "machines 'default' are bare" in local("kubeconfig").stderr
    assert "--bare is for --machines" in local("up", "--bare").stderr

    made = Machines("default", state_folder)
    network = made.state.network
    made.host("m1").kill()
    broken = local("status")
    assert broken.returncode == 1
    assert "m1 not running" in broken.stdout
    assert local("up").returncode == 0
    assert local("status").returncode == 0
    assert local("down").returncode == 0
    assert local("status").stdout == ""
    assert traces(network) == set()


def local(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120)
