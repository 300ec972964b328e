"""Programs of the machine: started from a list of words, never through a shell, with an end in sight.

What is kept true: every program has a deadline, after which it and all that it has started are ended; of what
it says no more than a cap is kept; it gets an environment that is the same on every machine, and no input;
and what goes into a log or an answer carries no password and no token.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from shiplift.agent.errors import CommandError

MOST_SAID = 1 << 20
"""Bytes of each stream that are kept: of the output the first, of errors the last."""
_GRACE_SECONDS = 10.0
_LONGEST_LINE = 300
_TOLD_LINES = 60
_APT = re.compile(r"^E:\s*")
_ERROR = re.compile(r"E:|error\b|dpkg: error|\s*\[ERROR ", re.I)
_log = logging.getLogger(__name__)
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTCHANGES_FRONTEND": "none",
    # services are restarted by the agent, one by one, and by nobody else
    "NEEDRESTART_SUSPEND": "1",
}
_SECRETS = (
    # colours are no secrets, and no words either
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"(?<=://)[^/\s@]+@"), "…@"),
    (re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"), "…"),
    (re.compile(r"(?i)\b(bearer|password|passwd|secret|token)([=:]\s*|\s+)\S+"), r"\1\2…"),
    (re.compile(r"-----BEGIN [^-]*PRIVATE KEY-----.*?(-----END [^-]*PRIVATE KEY-----|\Z)", re.S), "…"),
)


@dataclass(frozen=True)
class Finished:
    """A program that has ended by itself."""

    name: str
    code: int
    out: str
    err: str

    @property
    def failure(self) -> str:
        """Why it failed, in one line: the last that it said of errors, else the last that it said."""
        return f"{self.name} failed ({self.code}): {last_words(self.err) or last_words(self.out) or 'silent'}"


def run(
    argv: Sequence[str], *, seconds: float, check: bool = True, executable: str = "", told: bool = False
) -> Finished:
    """Run it to its end. With `check` a failure is raised; `executable` is the file that is started, where
    that is another than the first word; with `told` the last that it says goes into the log."""
    name = os.path.basename(argv[0])
    try:
        process = _started(argv, executable)
    except OSError as error:
        raise CommandError(f"{name} cannot be started: {error.strerror}") from None
    try:
        out, err = _heard(process, time.monotonic() + seconds)
    except TimeoutError:
        raise CommandError(f"{name} was ended: it took longer than {seconds:.0f} s") from None
    finally:
        _end(process)
    finished = Finished(name, process.returncode, _text(out), _text(err))
    if told:
        _tell(finished)
    if check and finished.code:
        raise CommandError(finished.failure)
    return finished


def _tell(finished: Finished) -> None:
    for line in without_secrets(finished.out + finished.err).splitlines()[-_TOLD_LINES:]:
        _log.info("%s: %s", finished.name, line[:_LONGEST_LINE])


def last_words(said: str) -> str:
    """The last line that says something; the first that calls itself an error goes before."""
    lines = [line.strip() for line in without_secrets(said).splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    line = _APT.sub("", (errors[:1] or lines[-1:] or [""])[0])
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def without_secrets(said: str) -> str:
    for pattern, instead in _SECRETS:
        said = pattern.sub(instead, said)
    return said


def _started(argv: Sequence[str], executable: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        executable=executable or None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
    )


def _heard(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Both streams, until the program has ended; a daemon that it leaves behind may keep them open."""
    kept = {"out": b"", "err": b""}
    with selectors.DefaultSelector() as selector:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, name)
        while selector.get_map():
            ready = selector.select(min(0.2, _left(deadline)))
            for key, _ in ready:
                said = os.read(key.fd, 1 << 16)
                kept[key.data] = _capped(key.data, kept[key.data] + said)
                if not said:
                    selector.unregister(key.fileobj)
            if not ready and process.poll() is not None:
                break
    while process.poll() is None:
        time.sleep(min(0.01, _left(deadline)))
    return kept["out"], kept["err"]


def _capped(name: str, said: bytes) -> bytes:
    return said[:MOST_SAID] if name == "out" else said[-MOST_SAID:]


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing to do where it has ended; else it and what it has started, asked first."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        _signal(process, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _text(said: bytes) -> str:
    return said.decode(errors="replace")
