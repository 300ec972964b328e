"""Packages of a machine, brought to their versions by a real apt and a real dpkg, or left as they were."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from shiplift.agent.model import Progress, Record
from shiplift.agent.protocol import Operation, Order, Token
from tests.agent.conftest import Boxes
from tests.agent.machine.box import REPOSITORY, Box
from tests.until import until

OLD, NEW = "1.35.4-1.1", "1.36.3-1.1"


def order(
    attempt: int = 1, *, back: bool = False, operation: Operation = Operation.PACKAGES, **desired: str
) -> Record:
    """Names of packages with hyphens are written with underscores."""
    wanted = {name.replace("_", "-"): version for name, version in desired.items()}
    return Record(Order(Token("rollout", "node", operation, attempt), back=back), wanted)


@pytest.fixture
def ready(box: Box) -> Box:
    """A machine with an old kubelet on hold, and a repository that has a newer one."""
    box.offer("kubelet", OLD, conffile="as it came\n")
    box.offer("kubelet", NEW, conffile="as it comes now\n")
    box.sources()
    box.install("kubelet", OLD, hold=True)
    return box


def test_a_package_is_brought_to_its_version_and_stays_on_hold(ready: Box) -> None:
    ready.keep(order(kubelet="1.36.3"))
    work = ready.work()
    assert (work.progress, work.message) == (Progress.DONE, f"kubelet {OLD} → {NEW}")
    assert ready.dpkg("kubelet") == f"hold installed {NEW}"
    assert ready.read("/usr/share/kubelet/version") == f"kubelet {NEW}"


def test_a_file_that_somebody_has_changed_stays(ready: Box) -> None:
    ready.write("/etc/kubelet.conf", "changed by hand\n")
    ready.keep(order(kubelet=NEW))
    assert ready.work().progress is Progress.DONE
    assert ready.read("/etc/kubelet.conf") == "changed by hand\n"


def test_what_was_done_is_not_done_again(ready: Box) -> None:
    ready.keep(order(kubelet=NEW))
    assert ready.work().progress is Progress.DONE
    ready.run("rm", "-r", REPOSITORY)
    assert ready.work().message == f"kubelet {OLD} → {NEW}"
    ready.keep(order(2, kubelet="1.36.3"))
    assert (ready.work().progress, ready.work().message) == (Progress.DONE, "")


def test_an_order_to_go_back_makes_packages_older_and_no_other_does(ready: Box) -> None:
    ready.keep(order(kubelet=NEW))
    ready.work()
    ready.keep(order(2, kubelet=OLD))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert "--allow-downgrades" in work.message
    ready.keep(order(3, back=True, kubelet=OLD))
    assert ready.work().progress is Progress.DONE
    assert ready.dpkg("kubelet") == f"hold installed {OLD}"


def test_a_version_that_cannot_be_had_is_named_with_what_there_is(ready: Box) -> None:
    ready.keep(order(kubelet="1.36.4"))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert work.message == f"kubelet 1.36.4 cannot be had: the package sources have {NEW}, {OLD}"
    ready.keep(order(2, kubeadm="1.36.3"))
    assert ready.work().message == "kubeadm 1.36.3 cannot be had: no package source has one"
    ready.keep(order(3, kubelet="--help"))
    assert ready.work().message == "'--help' is no version of kubelet"
    assert ready.dpkg("kubelet") == f"hold installed {OLD}"


def test_preparing_fetches_and_changes_nothing(ready: Box) -> None:
    ready.keep(order(kubelet=NEW, operation=Operation.PREPARE))
    before = ready.read("/var/lib/dpkg/status")
    assert ready.work().progress is Progress.DONE
    assert ready.read("/var/lib/dpkg/status") == before
    archives = ready.run("ls", "/var/cache/shiplift-agent/cache/archives").stdout.split()
    assert [f"kubelet_{OLD}_all.deb", f"kubelet_{NEW}_all.deb"] == [
        name for name in archives if "deb" in name
    ]


def test_packages_that_are_needed_come_with_it_and_nothing_is_removed(ready: Box) -> None:
    ready.offer("cri-tools", "1.36.0")
    ready.offer("kubeadm", NEW, control="Depends: cri-tools\n")
    ready.keep(order(kubeadm=NEW))
    assert ready.work().progress is Progress.DONE
    assert ready.dpkg("cri-tools") == "install installed 1.36.0"
    ready.offer("kubeadm", "1.36.4-1.1", control="Conflicts: kubelet\n")
    ready.keep(order(2, kubeadm="1.36.4"))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert ready.dpkg("kubelet") == f"hold installed {OLD}"
    assert ready.dpkg("kubeadm") == f"install installed {NEW}"


TELL = "echo $DPKG_MAINTSCRIPT_PACKAGE >> /var/log/order"
KUBEADM = f"""{TELL}
printf '#!/bin/sh\\necho "$*" >> /var/log/order; exit %s\\n' {{code}} > /usr/bin/kubeadm
chmod 755 /usr/bin/kubeadm"""


def of_kubeadm(ready: Box, code: int = 0, *, joined: bool = True) -> None:
    """A worker that kubeadm has joined to its cluster, or not; how its new kubeadm ends."""
    ready.offer("kubeadm", OLD)
    ready.install("kubeadm", OLD)
    ready.offer("kubeadm", "1.36.4-1.1", postinst=KUBEADM.format(code=code))
    ready.offer("kubelet", "1.36.4-1.1", postinst=TELL)
    if joined:
        ready.write("/etc/kubernetes/kubelet.conf", "")


def test_on_a_worker_kubeadm_upgrades_the_configuration_before_the_kubelet_comes(ready: Box) -> None:
    of_kubeadm(ready)
    ready.keep(order(kubelet="1.36.4", kubeadm="1.36.4"))
    assert ready.work().progress is Progress.DONE
    assert ready.read("/var/log/order").splitlines() == ["kubeadm", "upgrade node", "kubelet"]


def test_where_that_fails_what_was_there_is_put_back(ready: Box) -> None:
    of_kubeadm(ready, code=3)
    ready.keep(order(kubelet="1.36.4", kubeadm="1.36.4"))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert work.message.startswith("kubeadm failed (3)")
    assert work.message.endswith("what was there before was put back")
    assert (ready.dpkg("kubelet"), ready.dpkg("kubeadm")) == (
        f"hold installed {OLD}",
        f"install installed {OLD}",
    )


def test_a_machine_that_kubeadm_has_not_joined_is_left_alone_by_it(ready: Box) -> None:
    of_kubeadm(ready, joined=False)
    ready.keep(order(kubelet="1.36.4", kubeadm="1.36.4"))
    assert ready.work().progress is Progress.DONE
    assert "upgrade node" not in ready.read("/var/log/order").splitlines()


def test_the_agents_own_package_is_changed_after_all_others(ready: Box) -> None:
    tell = "echo $DPKG_MAINTSCRIPT_PACKAGE >> /var/log/order"
    ready.offer("kubelet", "1.36.4-1.1", postinst=tell)
    ready.offer("shiplift-agent", "0.3.0", postinst=tell)
    ready.offer("zeta", "1.0", postinst=tell)
    ready.keep(order(kubelet="1.36.4", shiplift_agent="0.3.0", zeta="1.0"))
    assert ready.work().progress is Progress.DONE
    assert ready.read("/var/log/order").split()[-1] == "shiplift-agent"
    assert ready.read("/var/log/order").split().count("shiplift-agent") == 1


# --- sources ---


def test_the_source_of_another_minor_is_looked_at_first_and_switched_with_the_change(box: Box) -> None:
    for version in (OLD, NEW):
        box.offer("kubelet", version, repository=f"v{version[:4]}")
    source = "deb [trusted=yes] copy:{}/{} ./\n"
    box.sources(source.format(REPOSITORY, "v1.35"), "kubernetes.list")
    box.install("kubelet", OLD)
    box.keep(order(kubelet="1.36.3", operation=Operation.PREPARE))
    assert box.work().progress is Progress.DONE
    assert box.read("/etc/apt/sources.list.d/kubernetes.list") == source.format(REPOSITORY, "v1.35")
    box.keep(order(2, kubelet="1.36.3"))
    assert box.work().progress is Progress.DONE
    assert box.read("/etc/apt/sources.list.d/kubernetes.list") == source.format(REPOSITORY, "v1.36")
    box.keep(order(3, kubelet="1.35.4", back=True))
    assert box.work().progress is Progress.DONE
    assert box.read("/etc/apt/sources.list.d/kubernetes.list") == source.format(REPOSITORY, "v1.35")


# --- failures ---


def test_a_package_that_cannot_be_configured_is_put_back(ready: Box) -> None:
    ready.offer("kubelet", "1.36.4-1.1", postinst="exit 7")
    ready.keep(order(kubelet="1.36.4"))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert work.message.endswith("; what was there before was put back")
    assert ready.dpkg("kubelet") == f"hold installed {OLD}"
    assert ready.run("dpkg", "--audit").stdout == ""


def test_it_is_put_back_without_any_source(ready: Box) -> None:
    """The network may be gone by then: the old archive was fetched before anything was changed."""
    ready.offer("kubelet", "1.36.4-1.1", preinst=f"rm -rf {REPOSITORY}", postinst="exit 7")
    ready.keep(order(kubelet="1.36.4"))
    assert ready.work().message.endswith("; what was there before was put back")
    assert ready.dpkg("kubelet") == f"hold installed {OLD}"


def test_what_cannot_be_put_back_is_said(ready: Box) -> None:
    ready.offer("kubelet", "1.36.4-1.1", postinst="exit 7", prerm="exit 8")
    ready.keep(order(kubelet="1.36.4"))
    work = ready.work()
    assert work.progress is Progress.FAILED
    assert "; what was there before could not be put back: apt-get failed" in work.message


def test_a_half_configured_package_is_finished_first(ready: Box) -> None:
    ready.offer("shim", "1.0", postinst="test -e /tmp/may")
    assert ready.run("sh", "-c", f"dpkg -i {REPOSITORY}/shim_1.0_all.deb", check=False).returncode
    assert ready.dpkg("shim") == "install half-configured 1.0"
    ready.run("touch", "/tmp/may")
    ready.keep(order(kubelet=NEW))
    assert ready.work().progress is Progress.DONE
    assert ready.dpkg("shim") == "install installed 1.0"
    assert ready.dpkg("kubelet") == f"hold installed {NEW}"


def test_a_half_configured_version_that_can_never_be_whole_is_replaced(ready: Box) -> None:
    ready.offer("kubelet", "1.36.2-1.1", postinst="exit 7")
    ready.run("dpkg", "-i", f"{REPOSITORY}/kubelet_1.36.2-1.1_all.deb", check=False)
    assert ready.dpkg("kubelet").split()[1] == "half-configured"
    ready.keep(order(kubelet=NEW))
    assert ready.work().progress is Progress.DONE
    assert ready.dpkg("kubelet").split()[1:] == ["installed", NEW]


LOCKED = """import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(ready: Box) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else is at dpkg."""
    argv = ready.argv(sys.executable, "-c", LOCKED, "/var/lib/dpkg/lock-frontend")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.kill()


def test_who_is_at_dpkg_is_waited_for(ready: Box, locked: subprocess.Popen[bytes]) -> None:
    ready.keep(order(kubelet=NEW))
    with subprocess.Popen(ready.argv(*ready.worker()), stderr=subprocess.DEVNULL) as worker:
        until(lambda: ready.exists("/var/lib/shiplift/agent/before.json"), 60, 0.2)
        assert worker.poll() is None
        assert ready.dpkg("kubelet") == f"hold installed {OLD}"
        assert locked.stdin is not None
        locked.stdin.close()
        worker.wait(60)
    assert ready.result().progress is Progress.DONE
    assert ready.dpkg("kubelet") == f"hold installed {NEW}"


def test_who_is_at_dpkg_for_too_long_is_named(ready: Box, locked: subprocess.Popen[bytes]) -> None:
    script = """from pathlib import Path
from shiplift.agent.machine import locks
locks.wait_free(Path("/var/lib/dpkg/lock-frontend"), 0.1)
"""
    said = ready.python(script, check=False).stderr
    assert "/var/lib/dpkg/lock-frontend was locked for 0 s, by process" in said
    assert "(python" in said


def test_without_room_nothing_is_begun(boxes: Boxes) -> None:
    box = boxes(40)
    box.offer("kubelet", OLD)
    box.offer("kubelet", NEW, control="Installed-Size: 40960\n")
    box.sources()
    box.install("kubelet", OLD)
    box.keep(order(kubelet=NEW))
    work = box.work()
    assert work.progress is Progress.FAILED
    assert work.message.startswith("no room: installing packages needs 56 MiB in /usr, ")
    assert box.dpkg("kubelet") == f"install installed {OLD}"
    assert not box.exists("/var/lib/shiplift/agent/before.json")


def test_what_was_never_changed_is_put_back_without_room(boxes: Boxes) -> None:
    """The order that follows one that failed for want of room: it must not fail for the same."""
    box = boxes(40)
    box.offer("kubelet", OLD)
    box.sources()
    box.install("kubelet", OLD)
    box.run("dd", "if=/dev/zero", "of=/usr/share/filler", "bs=1M", "count=30", check=False)
    box.keep(order(2, back=True, kubelet=OLD))
    work = box.work()
    assert (work.progress, work.message) == (Progress.DONE, "")


def test_a_disk_that_is_full_half_way_ends_as_it_began(boxes: Boxes) -> None:
    """The package says that it is small, and is not."""
    box = boxes(70)
    box.offer("kubelet", OLD)
    box.offer("kubelet", NEW, control="Installed-Size: 1\n", content="x" * (80 << 20))
    box.sources()
    box.install("kubelet", OLD)
    box.keep(order(kubelet=NEW))
    work = box.work()
    assert work.progress is Progress.FAILED
    assert work.message.endswith("; what was there before was put back")
    assert box.dpkg("kubelet") == f"install installed {OLD}"


# --- killed ---


@pytest.mark.crash
@pytest.mark.parametrize("script", ["preinst", "postinst"])
def test_work_that_was_killed_with_all_it_had_started_is_done_again(ready: Box, script: str) -> None:
    """As by a machine that loses its power: apt and dpkg die with the worker."""
    wait = "if [ ! -e /tmp/slept ]; then touch /tmp/slept /tmp/sleeping; sleep 600; fi"
    ready.offer("kubelet", "1.36.4-1.1", **{script: wait})
    ready.keep(order(kubelet="1.36.4"))
    with subprocess.Popen(ready.argv(*ready.worker()), stderr=subprocess.DEVNULL) as worker:
        until(lambda: ready.exists("/tmp/sleeping"), 60, 0.2)
        ready.kill("python", "apt-get", "dpkg", "kubelet", "sleep")
        assert worker.wait(20) != 0
    assert ready.result().progress is Progress.ABSENT
    work = ready.work()
    assert (work.progress, work.message) == (Progress.DONE, f"kubelet {OLD} → 1.36.4-1.1")
    assert ready.dpkg("kubelet") == "hold installed 1.36.4-1.1"
    assert ready.run("dpkg", "--audit").stdout == ""


@pytest.mark.crash
def test_an_apt_that_outlives_its_worker_is_waited_for(ready: Box) -> None:
    wait = "touch /tmp/sleeping; while [ ! -e /tmp/go ]; do sleep 0.1; done"
    ready.offer("kubelet", "1.36.4-1.1", postinst=wait)
    ready.keep(order(kubelet="1.36.4"))
    with subprocess.Popen(ready.argv(*ready.worker()), stderr=subprocess.DEVNULL) as worker:
        until(lambda: ready.exists("/tmp/sleeping"), 60, 0.2)
        ready.kill("python")
        assert worker.wait(20) != 0
    assert ready.result().progress is Progress.ABSENT
    with subprocess.Popen(ready.argv(*ready.worker()), stderr=subprocess.DEVNULL) as worker:
        ready.run("touch", "/tmp/go")
        worker.wait(120)
    assert ready.result().progress is Progress.DONE
    assert ready.dpkg("kubelet") == "hold installed 1.36.4-1.1"
    assert ready.run("dpkg", "--audit").stdout == ""


def test_work_that_never_ends_well_is_given_up(ready: Box) -> None:
    script = """from shiplift.agent.machine.journal import Journal
from shiplift.agent.settings import STATE
journal = Journal(STATE)
for _ in range(10): journal.count_try(journal.record().token)
"""
    ready.keep(order(kubelet=NEW))
    ready.python(script)
    work = ready.work()
    assert (work.progress, work.message) == (
        Progress.FAILED,
        "the work was interrupted 10 times, and is given up",
    )
