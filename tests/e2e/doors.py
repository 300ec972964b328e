"""Doors that do not open while a cluster is made: a host that shows another key, one whose sshd is away for a
while, and one whose sshd stands still."""

from __future__ import annotations

import contextlib
import subprocess
import time
from dataclasses import dataclass

from shiplift.local.errors import LocalError
from shiplift.local.machines import Host
from tests.e2e.plans import End
from tests.machines.bare import asked, run
from tests.machines.rig import Rig
from tests.until import until

_STATE = "/var/lib/shiplift/bootstrap"
_PLANE, _AWAY, _STILL = "m1", "m2", "m3"
_SECONDS = 15.0
_SSHD = ("pkill", "--exact", "sshd")


@dataclass(frozen=True)
class Ended:
    """Of one plan: how it had to end, and what is wrong with how it did."""

    name: str
    end: End
    wrong: str = ""


class Doors(Rig):
    """A rig whose cluster is made through such doors."""

    doors: tuple[Ended, ...] = ()

    def bootstrap(self) -> None:
        words = (
            *asked(self.made, [_AWAY, _STILL], self.folder, self.wanted),
            "--kubeconfig-to",
            str(self.admin),
        )
        wrong_key = self._with_another_key(words)
        with (self.folder / "bootstrap.log").open("wb") as log:
            started = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                late = self._struck(started)
                ended = started.wait(600)
            finally:
                started.kill()
        said = (self.folder / "bootstrap.log").read_text()
        if ended:
            self.admin.unlink(missing_ok=True)
            again = run(words)
            assert again.returncode == 0, f"{said}\n{again.stderr}"
        told = f"bootstrap ended with {ended}: {said[-600:]}" if ended else ""
        self.doors = (
            Ended("another host key: bootstrap", End.NAMED, wrong_key),
            Ended("sshd is away: bootstrap", End.WELL, late or told),
            Ended("sshd stands still: bootstrap", End.WELL, late or told),
        )

    def _with_another_key(self, words: tuple[str, ...]) -> str:
        """What is wrong, if anything: nothing may be changed, and the control plane has to be named."""
        file = self.folder / "pools.yaml"
        right = file.read_text()
        keys = dict(line.split(" ", 1) for line in self.made.known_hosts.read_text().splitlines())
        one, other = (" ".join(keys[self.made.host(name).address].split()[:2]) for name in (_PLANE, _AWAY))
        file.write_text(right.replace(one, other))
        try:
            said = run(words)
        finally:
            file.write_text(right)
        if said.returncode == 0 or _PLANE not in said.stderr or "host key" not in said.stderr:
            return f"it ended with {said.returncode}: {said.stderr[-600:]}"
        changed = [host.name for host in self.made.hosts if _is_begun(host)]
        return f"{', '.join(changed)} were changed" if changed else ""

    def _struck(self, started: subprocess.Popen[bytes]) -> str:
        """As soon as both machines have begun something."""
        away, still = self.made.host(_AWAY), self.made.host(_STILL)
        until(lambda: (_is_begun(away) and _is_begun(still)) or started.poll() is not None, 240, 0.1)
        if started.poll() is not None:
            return "it was over before its step was seen"
        away.run("systemctl", "stop", "ssh")
        away.run(*_SSHD, "--signal", "KILL", check=False)
        still.run(*_SSHD, "--signal", "STOP", check=False)
        time.sleep(_SECONDS)
        away.run("systemctl", "start", "ssh")
        still.run(*_SSHD, "--signal", "CONT", check=False)
        return ""


def _is_begun(host: Host) -> bool:
    """Whether anything was done there; nothing is known of a machine that restarts."""
    with contextlib.suppress(LocalError):
        return host.run("test", "-e", _STATE, check=False).returncode == 0
    return False
