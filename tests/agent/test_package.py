"""The agent as machines get it: one file and a Debian package, the same whenever they are made."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shiplift import __version__
from shiplift.agent_package import build, deb
from shiplift.cli.main import run
from tests.agent.machine.box import Box


def test_they_are_the_same_to_the_byte_whenever_they_are_made(tmp_path: Path) -> None:
    first, second = build(tmp_path / "first"), build(tmp_path / "second")
    assert first.zipapp.read_bytes() == second.zipapp.read_bytes()
    assert first.deb.read_bytes() == second.deb.read_bytes()
    assert first.deb.name == f"shiplift-agent_{__version__}_all.deb"


def test_the_one_file_runs_without_anything_else(tmp_path: Path) -> None:
    made = build(tmp_path).zipapp
    interpreter = Path(sys.executable).resolve()
    done = subprocess.run(
        [interpreter, "-I", "-S", made, "version"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env={},
    )
    assert done.stdout == f"{__version__}\n"
    assert made.stat().st_mode & 0o777 == 0o755


def test_it_holds_the_agent_and_nothing_else_of_shiplift(tmp_path: Path) -> None:
    names = zipfile.ZipFile(build(tmp_path).zipapp).namelist()
    packages = {"/".join(Path(name).parts[:2]) for name in names}
    assert packages == {"__main__.py", "shiplift/__init__.py", "shiplift/agent"}


@pytest.mark.parametrize(
    ("version", "debian"),
    [("0.2.0", "0.2.0"), ("1.0rc1", "1.0~rc1"), ("1.0.dev3", "1.0~dev3"), ("1.0b2", "1.0~b2")],
)
def test_what_comes_before_a_release_sorts_before_it(version: str, debian: str) -> None:
    assert deb.version(version) == debian


def test_the_command_makes_them_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agent", "package", "--folder", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{tmp_path}/shiplift-agent", f"{tmp_path}/shiplift-agent_{__version__}_all.deb"]
    assert all(Path(line).exists() for line in said)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["agent", "package", "--folder", str(tmp_path / "file")]) == 1
    assert f"error: {tmp_path}/file: File exists" in capsys.readouterr().err


def test_dpkg_installs_removes_and_purges_it(tmp_path: Path, box: Box) -> None:
    """In a file system of its own; no service manager runs there, and it is installed all the same."""
    made = build(tmp_path / "made")
    _copy(made.deb, box.argv("sh", "-c", "cat > /tmp/agent.deb"))
    box.offer("python3", "3.11.2")
    box.install("python3", "3.11.2")
    box.run("dpkg", "-i", "/tmp/agent.deb")
    assert box.dpkg("shiplift-agent") == f"install installed {__version__}"
    assert box.run("dpkg", "--verify", "shiplift-agent").stdout == ""
    said = box.run(sys.executable, "-I", "/usr/bin/shiplift-agent", "status").stdout
    assert json.loads(said)["software"] == {"shiplift-agent": __version__}
    box.write("/var/lib/shiplift/agent/snapshots/kept.db", "precious")
    box.run("dpkg", "--purge", "shiplift-agent")
    assert box.dpkg("shiplift-agent") == ""
    assert not box.exists("/usr/bin/shiplift-agent")
    assert not box.exists("/var/lib/shiplift/agent/record.json")
    assert box.read("/var/lib/shiplift/agent/snapshots/kept.db") == "precious"


def _copy(path: Path, argv: list[str]) -> None:
    with path.open("rb") as file:
        subprocess.run(argv, stdin=file, check=True)


UNIT = Path(deb.__file__).parent / "files" / "shiplift-agent.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_finds_little_that_the_unit_may_do(tmp_path: Path) -> None:
    """Its score is from 0 to 10, the lower the better; a service that says nothing has more than 9."""
    analyze = ["systemd-analyze", "security", "--no-pager", "--offline=yes", str(UNIT)]
    said = subprocess.run(analyze, capture_output=True, text=True, check=False).stdout
    level = re.search(r"Overall exposure level for \S+: (\d+\.\d)", said)
    assert level is not None, said
    assert float(level[1]) < 3.5, said
