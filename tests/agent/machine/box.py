"""A machine's file system of its own, over this computer's, with a dpkg, an apt and packages of its own.

All that is written lies in a tmpfs of a mount namespace that ends with the box: the computer's own files and
packages are never touched. Programs are those of the computer: a real dpkg, a real apt. Packages are small
and real, made with dpkg-deb, and offered by a repository in the box.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shiplift.agent.model import Progress, Record, Work
from tests.parents import ENDS_WITH_US

ROOT = Path(__file__).parents[3]
REPOSITORY = "/srv/repository"
_MAKE = """set -e
mount -t tmpfs -o size=$1m,mode=755 box "$2"
mkdir "$2/up" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=/,upperdir=$2/up,workdir=$2/work" box "$2/root"
cd "$2/root"
mount -t proc proc proc; mount --rbind /dev dev; mount -t tmpfs -o mode=1777 tmp tmp; mount -t tmpfs run run
for folder in var/lib/dpkg var/lib/apt var/cache/apt etc/apt var/lib/shiplift var/cache/shiplift-agent; do
  rm -rf "$folder"; mkdir -p "$folder"
done
mkdir -p var/lib/dpkg/info var/lib/dpkg/updates var/lib/dpkg/triggers var/lib/dpkg/alternatives
mkdir -p var/lib/apt/lists/partial var/cache/apt/archives/partial
mkdir -p etc/apt/sources.list.d etc/apt/apt.conf.d etc/apt/preferences.d srv/repository
touch var/lib/dpkg/status var/lib/dpkg/available
mkdir -p "$2/root$3"; mount --bind "$3" "$2/root$3"
echo ready; exec sleep infinity
"""
_KEEP = """import json, sys
from shiplift.agent.machine.journal import Journal
from shiplift.agent.model import Record
from shiplift.agent.protocol import CHANGES_ALLOWED, order_of
from shiplift.agent.settings import STATE
Journal(STATE).keep(Record(order_of({CHANGES_ALLOWED: sys.argv[1]}), json.loads(sys.argv[2])))
"""
_RESULT = """import json
from shiplift.agent.machine.journal import Journal
from shiplift.agent.model import Work
from shiplift.agent.settings import STATE
journal = Journal(STATE)
work = journal.result(journal.record().token) or Work()
print(json.dumps([work.progress.value, work.message, work.path]))
"""


@dataclass
class Box:
    """One machine; `pid` is the process that its namespaces live as long as."""

    pid: int
    root: Path

    def argv(self, *argv: str) -> list[str]:
        """To run it inside."""
        inside = f"/proc/{self.pid}/root{self.root}"
        return ["nsenter", "-t", str(self.pid), "-m", "-p", f"--root={inside}", f"--wd={inside}", *argv]

    def run(self, *argv: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.argv(*argv), input=stdin, capture_output=True, text=True, timeout=300, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def python(self, script: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """With shiplift as it is in this checkout."""
        return self.run("env", f"PYTHONPATH={ROOT}/src", sys.executable, "-c", script, *words, check=check)

    def write(self, path: str, content: str, mode: str = "644") -> None:
        self.run("install", "-D", "-m", mode, "/dev/stdin", path, stdin=content)

    def read(self, path: str) -> str:
        return self.run("cat", path).stdout

    def exists(self, path: str) -> bool:
        return self.run("test", "-e", path, check=False).returncode == 0

    def kill(self, *names: str) -> None:
        """The processes of this box that are called so, at once; never the one that it lives as long as."""
        for pid in self.run("pgrep", "|".join(names), check=False).stdout.split():
            if pid != "1":
                self.run("kill", "-KILL", pid, check=False)

    # --- packages ---

    def offer(self, name: str, version: str, *, repository: str = "", **more: str) -> None:
        """A package in a repository; `more` are maintainer scripts, and `content` what it installs."""
        folder = f"/tmp/{name}-{version}"
        content = more.pop("content", f"{name} {version}")
        field_lines = more.pop("control", "")
        self.write(f"{folder}/usr/share/{name}/version", content)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
            f"Maintainer: nobody <nobody@example.org>\nDescription: made for a test\n{field_lines}"
        )
        self.write(f"{folder}/DEBIAN/control", control)
        if conffile := more.pop("conffile", ""):
            self.write(f"{folder}/etc/{name}.conf", conffile)
            self.write(f"{folder}/DEBIAN/conffiles", f"/etc/{name}.conf\n")
        for script, text in more.items():
            self.write(f"{folder}/DEBIAN/{script}", f"#!/bin/sh\nset -e\n{text}\n", "755")
        place = f"{REPOSITORY}/{repository}".rstrip("/")
        self.run("mkdir", "-p", place)
        self.run("dpkg-deb", "-Zgzip", "-z1", "--build", folder, place)
        self.run("rm", "-rf", folder)
        self.run("sh", "-c", f"cd {place} && dpkg-scanpackages --multiversion . > Packages")

    def sources(
        self, text: str = f"deb [trusted=yes] copy:{REPOSITORY} ./\n", name: str = "test.list"
    ) -> None:
        self.write(f"/etc/apt/sources.list.d/{name}", text)

    def dpkg(self, name: str) -> str:
        """What dpkg says of a package: wanted, status, version."""
        form = "${db:Status-Want} ${db:Status-Status} ${Version}"
        return self.run("dpkg-query", "-W", "-f", form, name, check=False).stdout

    def install(self, name: str, version: str, *, hold: bool = False) -> None:
        """As an administrator has done it, before."""
        found = self.run("sh", "-c", f"find {REPOSITORY} -name '{name}_{version}_*.deb'").stdout.split()
        self.run("dpkg", "-i", found[0])
        if hold:
            self.run("apt-mark", "hold", name)

    # --- the agent ---

    def keep(self, record: Record) -> None:
        """As the agent does it before it claims an order."""
        desired = json.dumps(dict(record.desired))
        self.python(_KEEP, record.order.written(), desired)

    def work(self) -> Work:
        """The agent's worker, to its end; what came of it."""
        self.run(*self.worker(), check=False)
        return self.result()

    def worker(self) -> list[str]:
        return ["env", f"PYTHONPATH={ROOT}/src", sys.executable, "-m", "shiplift.agent", "work"]

    def result(self) -> Work:
        progress, message, path = json.loads(self.python(_RESULT).stdout)
        return Work(Progress(progress), message, path)


def missing() -> str:
    """Why no box can be made here; empty where one can."""
    if os.geteuid() != 0:
        return "a box needs root"
    tools = ("unshare", "nsenter", "dpkg", "apt-get", "dpkg-deb", "dpkg-scanpackages")
    if absent := [tool for tool in tools if shutil.which(tool) is None]:
        return f"a box needs {', '.join(absent)}"
    probe = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False
    )
    return "" if probe.returncode == 0 else "a box needs mount and pid namespaces"


@contextlib.contextmanager
def boxed(folder: Path, megabytes: int = 256) -> Iterator[Box]:
    if why := missing():
        pytest.skip(why)
    folder.mkdir(exist_ok=True)
    argv = [*ENDS_WITH_US, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private"]
    script = ["sh", "-c", _MAKE, "sh", str(megabytes), str(folder), str(ROOT)]
    with subprocess.Popen([*argv, *script], stdout=subprocess.PIPE, stderr=sys.stderr) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                pytest.skip("a box needs tmpfs and overlayfs")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            yield Box(int(children[0]), folder / "root")
        finally:
            process.kill()
