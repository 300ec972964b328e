"""Programs of a machine: they end in time, say no more than is kept, and no secret of theirs is told."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from shiplift.agent.errors import CommandError
from shiplift.agent.machine import commands
from tests.until import until

PYTHON = sys.executable


def test_what_a_program_says_and_how_it_ends() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    finished = commands.run([PYTHON, "-c", script], seconds=30, check=False)
    assert (finished.code, finished.out, finished.err) == (3, "out\n", "err\n")


def test_a_failure_is_told_in_one_line() -> None:
    script = "import sys; print('first\\nlast', file=sys.stderr); sys.exit(100)"
    with pytest.raises(CommandError, match=r"^python\S* failed \(100\): last$"):
        commands.run([PYTHON, "-c", script], seconds=30)


def test_what_apt_says_is_wrong_goes_before_what_it_says_last() -> None:
    said = "E: Unable to locate package kubelet\nN: there is more\n"
    assert commands.last_words(said) == "Unable to locate package kubelet"


def test_what_is_too_long_to_be_told_says_that_there_is_more() -> None:
    assert commands.last_words("x" * 300) == "x" * 300
    assert commands.last_words("x" * 301) == "x" * 299 + "…"


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="no-such-program cannot be started: No such file"):
        commands.run(["no-such-program"], seconds=5)


def test_words_are_words_and_never_a_shell() -> None:
    assert commands.run(["echo", "$(id); `id` > /x"], seconds=5).out == "$(id); `id` > /x\n"


def test_a_program_that_takes_too_long_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 300 & echo $! > {pid}; wait"
    began = time.monotonic()
    with pytest.raises(CommandError, match="sh was ended: it took longer than 1 s"):
        commands.run(["sh", "-c", script], seconds=1)
    assert time.monotonic() - began < 30
    child = int(pid.read_text())
    until(lambda: _ended(child))


def _ended(pid: int) -> bool:
    """Gone, or dead and not yet collected by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_of_endless_output_the_first_is_kept_and_of_errors_the_last() -> None:
    script = "import os\nfor n in range(64):\n os.write(1, b'o' * 65536)\n os.write(2, b'%05d' % n * 13107)"
    finished = commands.run([PYTHON, "-c", script], seconds=60)
    assert len(finished.out) == commands.MOST_SAID
    assert len(finished.err) == commands.MOST_SAID
    assert finished.err.endswith("00063")


def test_a_daemon_that_keeps_the_streams_open_is_not_waited_for() -> None:
    finished = commands.run(["sh", "-c", "sleep 20 & echo started"], seconds=10)
    assert finished.out == "started\n"


def test_programs_get_no_input_and_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIPLIFT_SECRET", "x")
    assert commands.run(["cat"], seconds=5).out == ""
    assert "SHIPLIFT_SECRET" not in commands.run(["env"], seconds=5).out
    assert os.environ["SHIPLIFT_SECRET"] == "x"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Err http://joe:pass@repo.example.org/x y", "Err http://…@repo.example.org/x y"),
        ("kubeadm join --token abcdef.0123456789abcdef", "kubeadm join --token …"),
        ("Authorization: Bearer eyJhbGciOi", "Authorization: Bearer …"),
        ("password=hunter2 user=joe", "password=… user=joe"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "…"),
        ("\x1b[0;37mOS\x1b[0m: \x1b[0;32mLinux\x1b[0m", "OS: Linux"),
        ("Setting up kubelet (1.36.3-1.1) ...", "Setting up kubelet (1.36.3-1.1) ..."),
    ],
)
def test_secrets_are_not_told(said: str, told: str) -> None:
    assert commands.without_secrets(said) == told
