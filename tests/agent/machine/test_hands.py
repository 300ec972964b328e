"""Work apart from the agent: seen while it lives, its end seen after it, and never done twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shiplift.agent.errors import CommandError
from shiplift.agent.machine import commands, services
from shiplift.agent.machine.hands import RESTART_SECONDS, MachineHands, can, own_command
from shiplift.agent.machine.journal import Journal
from shiplift.agent.model import Progress, Record, Work
from shiplift.agent.protocol import Operation
from tests.agent.machine.box import Box
from tests.agent.world import order
from tests.until import until

RECORD = Record(order(), {"kubelet": "1.36.3"}, begun=True)
WORKER = """import os, sys, time
from pathlib import Path
from shiplift.agent.machine import locks
from shiplift.agent.machine.journal import Journal
from shiplift.agent.model import Progress, Work
folder = Path(sys.argv[1])
journal = Journal(folder)
lock = locks.taken(folder / "work.lock")
if lock is not None and journal.result(journal.record().token) is None:
    with (folder / "begun").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    while not (folder / "go").exists():
        time.sleep(0.01)
    journal.finish(journal.record().token, Work(Progress.DONE, "well"))
"""


@pytest.fixture(autouse=True)
def _unmanaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever manages the services of this computer is left alone."""
    monkeypatch.setattr(services, "managed", lambda: False)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    kept = Journal(tmp_path / "agent")
    kept.keep(RECORD)
    return kept


def hands(journal: Journal) -> MachineHands:
    return MachineHands(journal, [sys.executable, "-c", WORKER, str(journal.folder)])


def work(journal: Journal) -> Work:
    return hands(journal).observe(frozenset()).work


def begun(journal: Journal) -> list[int]:
    return [int(line) for line in (journal.folder / "begun").read_text().split()]


def test_work_is_seen_to_run_and_to_end_by_whichever_agent_looks(journal: Journal) -> None:
    assert work(journal) == Work()
    hands(journal).begin(RECORD)
    assert work(journal) == Work(Progress.RUNNING)
    hands(journal).begin(RECORD)
    (journal.folder / "go").touch()
    assert until(lambda: work(journal).progress is Progress.DONE and work(journal)) == Work(
        Progress.DONE, "well"
    )
    hands(journal).begin(RECORD)
    assert len(begun(journal)) == 1


def test_work_that_has_died_is_absent_and_can_be_begun_again(journal: Journal) -> None:
    hands(journal).begin(RECORD)
    os.kill(begun(journal)[0], signal.SIGKILL)
    until(lambda: work(journal) == Work())
    hands(journal).begin(RECORD)
    assert work(journal) == Work(Progress.RUNNING)
    (journal.folder / "go").touch()
    until(lambda: work(journal).progress is Progress.DONE)
    assert len(begun(journal)) == 2


@pytest.mark.crash
def test_work_outlives_the_agent_that_has_begun_it(journal: Journal) -> None:
    script = f"""import os, signal
from pathlib import Path
from shiplift.agent.machine import services
from tests.agent.machine.test_hands import RECORD, hands
from shiplift.agent.machine.journal import Journal
services.managed = lambda: False
hands(Journal(Path({str(journal.folder)!r}))).begin(RECORD)
os.killpg(os.getpgid(0), signal.SIGKILL)
"""
    settings = "from tests import examples; examples.load(whole=False)\n"
    agent = subprocess.run([sys.executable, "-c", settings + script], start_new_session=True, check=False)
    assert agent.returncode == -signal.SIGKILL
    assert work(journal) == Work(Progress.RUNNING)
    (journal.folder / "go").touch()
    until(lambda: work(journal).progress is Progress.DONE)
    assert len(begun(journal)) == 1


def test_a_result_of_another_order_says_nothing_of_this_one(journal: Journal) -> None:
    journal.finish(str(order(attempt=7).token), Work(Progress.DONE))
    assert work(journal) == Work()


@pytest.mark.parametrize(("restarted_from", "failed"), [("this boot", True), ("another boot", False)])
def test_a_machine_that_does_not_restart_is_told_for_ten_minutes_however_often(
    journal: Journal, restarted_from: str, failed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    monkeypatch.setattr(services, "reboot", lambda: told.append(now[0]))
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    journal.keep(replace(RECORD, restarted_from=boot_id if restarted_from == "this boot" else "x"))
    journal.finish(RECORD.token, Work(Progress.DONE))
    now = [1000.0]
    agent = MachineHands(journal, clock=lambda: now[0])
    for now[0] in range(1000, 1600, 5):
        assert agent.observe(frozenset()).work.progress is Progress.DONE
        agent.restart()
    now[0] = 1000 + RESTART_SECONDS
    assert len(told) == 120
    assert (agent.observe(frozenset()).work.progress is Progress.FAILED) is failed


def test_a_machine_says_who_it_is(journal: Journal) -> None:
    machine = hands(journal).observe(frozenset({"no-such-package"}))
    assert machine.id == Path("/etc/machine-id").read_text().strip()
    assert machine.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert machine.record == RECORD
    assert "no-such-package" not in machine.software


def test_the_worker_is_the_very_program_that_the_agent_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/shiplift-agent", "run"])
    assert own_command("work") == (sys.executable, "-I", "/usr/bin/shiplift-agent", "work")
    monkeypatch.setattr(sys, "argv", ["/x/shiplift/agent/__main__.py", "run"])
    assert own_command("work") == (sys.executable, "-m", "shiplift.agent", "work")


def test_a_bare_machine_can_do_packages_and_a_control_plane_all(box: Box) -> None:
    script = "from shiplift.agent.machine.hands import can; print(*sorted(one.value for one in can()))"
    assert box.python(script).stdout.split() == ["Packages", "Prepare"]
    box.write("/etc/kubernetes/kubelet.conf", "")
    assert box.python(script).stdout.split() == ["Packages", "Prepare", "UpgradeNode"]
    for name in ("etcd", "kube-apiserver"):
        box.write(f"/etc/kubernetes/manifests/{name}.yaml", "")
    assert set(box.python(script).stdout.split()) == {operation.value for operation in Operation}
    assert can() <= frozenset(Operation)


REBOOTS = {
    "Call to Reboot failed: There's already a shutdown or sleep operation in progress": "",
    "Failed to reboot system via logind: There's already a shutdown or sleep operation in progress": "",
    "Failed to connect to bus: No such file": "systemctl failed (1): Failed to connect to bus: No such file",
}


@pytest.mark.parametrize("said", REBOOTS)
def test_a_machine_that_is_on_its_way_down_was_told(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "run", lambda *_, **__: commands.Finished("systemctl", 1, "", f"{said}\n"))
    if why := REBOOTS[said]:
        with pytest.raises(CommandError, match=re.escape(why)):
            services.reboot()
    else:
        services.reboot()


def test_a_service_manager_that_does_not_answer_now_is_there_all_the_same(box: Box) -> None:
    """Work is not begun beside it, where it would be held by all that holds the agent."""
    box.write("/usr/local/sbin/systemctl", "#!/bin/sh\necho stopping; exit 1\n", "755")
    box.write(
        "/usr/local/sbin/systemd-run", "#!/bin/sh\necho 'Transaction is destructive' >&2; exit 1\n", "755"
    )
    box.run("mkdir", "-p", "/run/systemd/system")
    begun = box.python(
        "from shiplift.agent.machine import services; services.start_apart(['touch', '/tmp/begun'])",
        check=False,
    )
    assert begun.stderr.endswith("CommandError: systemd-run failed (1): Transaction is destructive\n")
    assert not box.exists("/tmp/begun")


def test_without_a_service_manager_no_unit_is_there(box: Box) -> None:
    script = (
        "from shiplift.agent.machine import services; print(services.managed(), services.unit('kubelet'))"
    )
    assert box.python(script).stdout == "False Unit(loaded=False, pid=0)\n"
