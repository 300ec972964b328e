"""What runs on a machine for bootstrap: standard library only, sent over SSH as it stands and kept nowhere.

What is kept true on the machine, whoever is killed and whenever:
- a mark is written once, whole, and never changed;
- a command is on record before it begins, and begins once;
- a lock is held for as long as a command or whoever looks after it lives: without it and without an end, the
  command is lost.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

MOST_OUTPUT = 64 * 1024
MOST_TAIL = 2048
MOST_COMMANDS = 500
MOST_ASKED = 100
"""What others were admitted by grows with the cluster; what this machine is made of must stay in sight."""
ADMITS = "admit-"
ENDING = ".exit"
"""How a command ended, while it is written."""
KUBECTL_SECONDS = 10
ETC, ETCD = "etc/kubernetes", "var/lib/etcd/member"
MANIFESTS = ("kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml", "etcd.yaml")
"""The static pods of kubeadm; others (a virtual address, a load balancer of this node) are not its own."""
MEMORY = "/run/shiplift"
"""In no file of a disk: without power it is gone."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEMD = "/run/systemd/system"
"""There where systemd is the first process."""
TAKE_IN = """
import pathlib, sys
trees = {"": ("", "/unified"), "name=systemd": ("/systemd",)}
for line in open("/proc/self/cgroup").read().splitlines():
    names, own = line.split(":", 2)[1:]
    for tree in trees.get(names, ()):
        procs = pathlib.Path("/sys/fs/cgroup" + tree + own + "/cgroup.procs")
        if procs.exists():
            procs.write_text(sys.argv[1])
"""
"""In a scope: takes a process into it, in the trees by which systemd knows whom a unit has, new and old."""
NAME = re.compile(r"[a-z]+(-+[a-z0-9]+)*-[0-9]{1,6}")
Json = dict[str, Any]
Shape = dict[str, type]
MARK: Shape = {name: str for name in ("cluster", "first", "name", "pool", "role", "leads")}
ROLES = ("ControlPlane", "Worker")
RECORD: Shape = {name: str for name in ("id", "run", "started", "deadline", "boot", "digest")}
RECORD["number"] = int
ENDED: Shape = {"code": int, "timed_out": bool, "tail": str}


class RefusedError(Exception):
    """It cannot be done; says why."""


class DamagedError(RefusedError):
    """A file of ours is not as we write it: its name, and what is wrong with it."""


def answer(request: Json) -> Json:
    """What comes of a request."""
    try:
        return {"ok": _OPERATIONS[request["op"]](request)}
    except RefusedError as error:
        return {"error": str(error)}
    except OSError as error:
        return {"error": f"{error.strerror or error}: {error.filename or request['folder']}"}


# --- what the machine says of itself ---


def facts(request: Json) -> Json:
    root = Path(request.get("root", "/"))
    etc = root / ETC
    traces = [etc / name for name in ("admin.conf", "kubelet.conf", "bootstrap-kubelet.conf", "pki/ca.crt")]
    traces += [*(etc / "manifests" / name for name in MANIFESTS), root / ETCD]
    mark, mark_error = read_mark(request)
    commands, journal_error = journal(request)
    return {
        "machine_id": text(root / "etc/machine-id").strip(),
        "boot_id": boot_id(root),
        "memory_mib": memory(root),
        "root": os.geteuid() == 0,
        "apt": shutil.which("apt-get", path=PATH) is not None,
        "packages": packages(request["packages"]),
        "kubeadm": any(one.exists() for one in traces),
        "joined": (etc / "kubelet.conf").exists(),
        "ca": text(etc / "pki/ca.crt"),
        "server": server(etc / "admin.conf"),
        "mark": mark,
        "mark_error": mark_error,
        "commands": commands,
        "journal_error": journal_error,
        "nodes": nodes(etc / "admin.conf"),
    }


def text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_OUTPUT).decode(errors="replace")
    except FileNotFoundError:
        return ""


def boot_id(root: Path) -> str:
    return text(root / "proc/sys/kernel/random/boot_id").strip()


def memory(root: Path) -> int:
    found = re.search(r"^MemTotal:\s+(\d+) kB", text(root / "proc/meminfo"), re.MULTILINE)
    return int(found[1]) // 1024 if found else 0


def packages(names: list[str]) -> dict[str, str]:
    """Those of these packages that are installed, and how."""
    if not names or shutil.which("dpkg-query", path=PATH) is None:
        return {}
    shown = "${Package}\t${Version}\t${db:Status-Status}\n"
    said = run(["dpkg-query", "--show", f"--showformat={shown}", *names], 30)[1]
    lines = [line.split("\t") for line in said.splitlines()]
    return {parts[0]: parts[1] for parts in lines if len(parts) == 3 and parts[2] == "installed"}


def server(path: Path) -> str:
    found = re.search(r"^\s*server:\s*(\S+)", text(path), re.MULTILINE)
    return found[1] if found else ""


def nodes(admin: Path) -> list[Json] | None:
    """The cluster's nodes; None where this is no control plane, or its API server does not answer."""
    if not admin.exists() or shutil.which("kubectl", path=PATH) is None:
        return None
    words = ["get", "nodes", "--output=json", f"--request-timeout={KUBECTL_SECONDS}s"]
    code, said = run(["kubectl", f"--kubeconfig={admin}", *words], KUBECTL_SECONDS + 5, most=None)
    if code != 0:
        return None
    try:
        return [node(one) for one in json.loads(said)["items"]]
    except (KeyError, TypeError, ValueError):
        return None


def node(found: Json) -> Json:
    status = found["status"]
    conditions = status.get("conditions", [])
    return {
        "name": found["metadata"]["name"],
        "machine_id": status.get("nodeInfo", {}).get("machineID", ""),
        "ready": any(one["type"] == "Ready" and one["status"] == "True" for one in conditions),
    }


def run(words: list[str], seconds: float, most: int | None = MOST_OUTPUT) -> tuple[int, str]:
    """A short question to the machine; what it says on stderr is not wanted."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 1, ""
    return done.returncode, done.stdout[:most].decode(errors="replace")


def environment() -> dict[str, str]:
    return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}


# --- the mark ---


def read_mark(request: Json) -> tuple[Json | None, str]:
    path = Path(request["folder"]) / "mark.json"
    if not path.exists():
        return None, ""
    try:
        found = parsed(path, MARK)
        if found["role"] not in ROLES:
            raise DamagedError(f"{path}: there is no role {found['role']!r}")
        return found, ""
    except DamagedError as error:
        return None, str(error)


def parsed(path: Path, shape: Shape) -> Json:
    """What has to stand in a file of ours, each of its kind."""
    try:
        written = text(path)
        if not written:
            raise ValueError("it is empty, or not there")
        found: Json = json.loads(written)
        if type(found) is not dict:
            raise ValueError("it is no object")
        for key, kind in shape.items():
            if type(found.get(key)) is not kind:
                raise ValueError(f"{key} is {found[key]!r}" if key in found else f"{key} is missing")
        return {key: found[key] for key in shape}
    except OSError as error:
        raise DamagedError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise DamagedError(f"{path}: {error}") from error


def claim(request: Json) -> Json:
    """Whole or not at all, and only where there is none."""
    folder = own_folder(request)
    whole = write(folder, ".mark", json.dumps(request["mark"]).encode())
    with contextlib.suppress(FileExistsError):
        os.link(whole, folder / "mark.json")
    whole.unlink()
    sync(folder)
    mark, error = read_mark(request)
    if mark != request["mark"]:
        raise RefusedError(f"the machine has another mark: {error or mark}")
    return mark or {}


def own_folder(request: Json) -> Path:
    """Only root looks into it."""
    folder = Path(request["folder"])
    (folder / "journal").mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def write(folder: Path, name: str, content: bytes) -> Path:
    """A new file that is on the disk."""
    handle, path = tempfile.mkstemp(prefix=f"{name}.", dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(path)


def sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- the journal ---


def journal(request: Json) -> tuple[list[Json], str]:
    """The commands that are on record, and what is wrong with the first one that cannot be read."""
    folder = Path(request["folder"]) / "journal"
    entries = [one for one in folder.glob("*") if NAME.fullmatch(one.name)] if folder.exists() else []
    looks = [try_to_look(one) for one in sorted(entries)]
    found = sorted((one for one, wrong in looks if not wrong), key=lambda one: one["number"])
    asked = [one for one in found if one["id"].startswith(ADMITS)]
    left_out = {one["id"] for one in asked[:-MOST_ASKED]}
    told = [one for one in found if one["id"] not in left_out][-MOST_COMMANDS:]
    return told, next((wrong for _, wrong in looks if wrong), "")


def try_to_look(entry: Path) -> tuple[Json, str]:
    try:
        return look(entry), ""
    except DamagedError as error:
        return {}, str(error)


def look(entry: Path) -> Json:
    known = recorded(entry)
    lives = held(entry)  # before its end is looked for: an end is written while the lock is held
    if text(entry / "exit.json"):
        return known | {"state": "ended", **parsed(entry / "exit.json", ENDED)}
    if not (entry / "begun").exists():
        return known | {"state": "recorded"}
    tail = text(entry / "output")[-MOST_TAIL:]
    return known | {"state": "running" if lives else "lost", "tail": tail}


def recorded(entry: Path) -> Json:
    path = entry / "record.json"
    known = parsed(path, RECORD)
    if known["id"] != entry.name:
        raise DamagedError(f"{path}: id is {known['id']!r}")
    for key in ("started", "deadline"):
        if not is_time(known[key]):
            raise DamagedError(f"{path}: {key} is {known[key]!r}")
    return known


def is_time(written: str) -> bool:
    try:
        return datetime.fromisoformat(written).tzinfo is not None
    except ValueError:
        return False


def held(entry: Path) -> bool:
    """Whether somebody holds the lock; where nobody does, what they left half written is cleared away."""
    try:
        handle = os.open(entry / "lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        for one in entry.glob(f"{ENDING}.*"):  # whoever wrote it has lost its power
            one.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def record(request: Json) -> Json:
    """One that is there stays as it is."""
    folder = own_folder(request)
    entry = named(folder, request["id"])
    with locked(folder / "lock"):
        if not entry.exists():
            kept = {key: request[key] for key in ("id", "run", "started", "deadline", "limit", "digest")}
            kept["number"] = sum(NAME.fullmatch(one.name) is not None for one in entry.parent.iterdir()) + 1
            kept["boot"] = boot_id(Path(request.get("root", "/")))
            fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
            write(fresh, "record", json.dumps(kept).encode()).rename(fresh / "record.json")
            sync(fresh)
            fresh.rename(entry)
            sync(entry.parent)
    return look(entry)


def named(folder: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise RefusedError(f"{name!r} is no name of a command")
    return folder / "journal" / name


@contextlib.contextmanager
def locked(path: Path) -> Any:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


# --- commands ---


def begin(request: Json) -> Json:
    """Begins what is on record, detached from whoever asks; what has begun is left alone."""
    entry = named(own_folder(request), request["id"])
    if not (entry / "record.json").exists():
        raise RefusedError(f"{request['id']} is not on record")
    lock = os.open(entry / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return look(entry)
    if (entry / "begun").exists():
        os.close(lock)
        return look(entry)
    put(entry, request)
    write(entry, ".begun", b"").rename(entry / "begun")
    sync(entry)
    detach(lambda: attend(entry, request, lock))
    os.close(lock)
    return look(entry)


def put(entry: Path, request: Json) -> None:
    """What is to be forgotten is on no disk: a command that a power cut ends cannot clear it away."""
    forget(entry, request)
    for name, content in request.get("files", {}).items():
        path = entry / Path(name).name
        if name in request.get("forget", ()):
            path.symlink_to(in_memory(entry, base64.b64decode(content)))
        else:
            write(entry, ".file", base64.b64decode(content)).rename(path)


def in_memory(entry: Path, content: bytes) -> Path:
    Path(MEMORY).mkdir(mode=0o700, parents=True, exist_ok=True)
    return write(Path(MEMORY), entry.name, content)


def forget(entry: Path, request: Json) -> None:
    for name in request.get("forget", ()):
        path = entry / Path(name).name
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def detach(work: Any) -> None:
    """In a process of its own that nobody waits for and that holds nothing of ours but the lock."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    try:
        work()
    finally:
        os._exit(0)


def attend(entry: Path, request: Json, lock: int) -> None:
    """Runs the commands one after the other until one fails or the time is over, and writes down the end."""
    for ignored in (signal.SIGHUP, signal.SIGINT):
        signal.signal(ignored, signal.SIG_IGN)
    leave_the_session(entry.name)
    deadline = time.monotonic() + json.loads(text(entry / "record.json"))["limit"]
    with (entry / "output").open("wb", buffering=0) as output:
        os.fchmod(output.fileno(), 0o600)
        tail = Tail(output)
        code, timed_out = 0, False
        for words in request["commands"]:
            code, timed_out = follow(entry, words, deadline, tail, lock)
            if code != 0:
                break
    forget(entry, request)
    ended = {"code": code, "timed_out": timed_out, "tail": tail.text[-MOST_TAIL:]}
    try:
        write(entry, ENDING, json.dumps(ended).encode()).rename(entry / "exit.json")
    except OSError:  # no room on the disk: how it ended matters more than what it said
        for one in (entry / "output", *entry.glob(f"{ENDING}.*")):
            one.unlink(missing_ok=True)
        write(entry, ENDING, json.dumps({**ended, "tail": ""}).encode()).rename(entry / "exit.json")
    sync(entry)


def leave_the_session(name: str) -> None:
    """Into a scope of its own: where logind is told so (KillUserProcesses), or sshd has a unit for each
    connection, systemd ends all that a connection leaves behind. Where it cannot be done, nothing is lost
    that was there before."""
    if Path(SYSTEMD).is_dir():
        pid = str(os.getpid())
        scope = [f"--unit=shiplift-{name}-{pid}", f"--description=shiplift bootstrap: {name}"]
        taken = [sys.executable, "-c", TAKE_IN, pid]
        run(["systemd-run", "--scope", "--quiet", "--collect", *scope, *taken], 30)


class Tail:
    """The end of what is said, and the beginning of it in a file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._room = MOST_OUTPUT
        self._end = b""

    def add(self, chunk: bytes) -> None:
        self._end = (self._end + chunk)[-MOST_OUTPUT:]
        if self._room > 0:
            with contextlib.suppress(OSError):  # no room on the disk: the command goes on all the same
                self._file.write(chunk[: self._room])
            self._room -= len(chunk)

    @property
    def text(self) -> str:
        return self._end.decode(errors="replace")


def follow(entry: Path, words: list[str], deadline: float, tail: Tail, lock: int) -> tuple[int, bool]:
    """One command: its exit code, and whether its time was over. It holds the lock too."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=entry,
            env=environment(),
            start_new_session=True,
            pass_fds=(lock,),
        )
    except OSError as error:
        tail.add(f"{words[0]}: {error.strerror}\n".encode())
        return 127, False
    pipe = process.stdout.fileno() if process.stdout else -1
    timed_out = not listen(process, pipe, deadline, tail)
    if timed_out:
        end(process)
    return process.returncode, timed_out


def listen(process: Any, pipe: int, deadline: float, tail: Tail) -> bool:
    """Until it ends; a daemon that it leaves behind may keep the pipe open for ever."""
    os.set_blocking(pipe, False)
    while time.monotonic() < deadline:
        over = process.poll() is not None
        select.select([pipe], [], [], 0 if over else 0.2)
        silent = True
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(pipe, 65536):
                tail.add(chunk)
                silent = False
        if over and silent:
            return True
        if not over and silent:
            time.sleep(0.05)
    return process.poll() is not None


def end(process: Any) -> None:
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 30)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def ask(request: Json) -> Json:
    """Commands whose answers are secret: on record before they begin, their answers in no file."""
    entry = unasked(request)
    put(entry, request)
    write(entry, ".begun", b"").rename(entry / "begun")
    said: list[str] = []
    wrong = ""
    for words in request["commands"]:
        output, wrong = asked(entry, words, request["limit"])
        said.append(output)
        if wrong:
            break
    forget(entry, request)
    ended = {"code": 1 if wrong else 0, "timed_out": False, "tail": ""}
    write(entry, ENDING, json.dumps(ended).encode()).rename(entry / "exit.json")
    sync(entry)
    if wrong:
        raise RefusedError(wrong)
    return {"said": said}


def unasked(request: Json) -> Path:
    """On record, and not begun: under the name that is asked for, else under its next number. Whoever asks
    may not know of all, since the journal tells only the last of many that were admitted."""
    folder, name = own_folder(request), request["id"]
    while record({**request, "id": name})["state"] != "recorded":
        purpose, _, number = name.rpartition("-")
        name = f"{purpose}-{int(number) + 1}"
    return named(folder, name)


def asked(entry: Path, words: list[str], seconds: float) -> tuple[str, str]:
    """What a command answers, and what is wrong with it, if anything."""
    called = " ".join(words[:3])
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=entry,
            env=environment(),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"{called} did not end in {seconds:.0f} s"
    except OSError as error:
        return "", f"{called}: {error.strerror}"
    said = done.stdout[:MOST_OUTPUT].decode(errors="replace")
    return (
        said,
        f"{called} ended with exit code {done.returncode}: {last_line(done.stderr)}"
        if done.returncode
        else "",
    )


def last_line(said: bytes) -> str:
    lines = said[-MOST_TAIL:].decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")


def fetch(request: Json) -> Json:
    """The credentials of an administrator, for whoever made the cluster."""
    return {"text": text(Path(request.get("root", "/")) / ETC / "admin.conf")}


_OPERATIONS = {
    "facts": facts,
    "claim": claim,
    "record": record,
    "begin": begin,
    "ask": ask,
    "fetch": fetch,
}


def main(request: str) -> None:
    """One request, one answer."""
    sys.stdout.write(json.dumps(answer(json.loads(request))) + "\n")
    sys.stdout.flush()
