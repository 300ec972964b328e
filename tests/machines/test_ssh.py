"""The way to machines, against a real sshd: who is trusted, what is cut off, what goes on all the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncssh
import msgspec
import pytest

from shiplift.api.machines import Role
from shiplift.engine.step import Answer, Started
from shiplift.machines.act import Actor
from shiplift.machines.hosts import Hosts
from shiplift.machines.model import CommandState, Facts, Mark, Purpose, Silent, View
from shiplift.machines.pools import Wanted, read
from shiplift.machines.ssh import key as keys
from shiplift.machines.ssh.door import Door
from shiplift.machines.ssh.errors import CutOffError, NotTrustedError, RefusedError, UnreachableError
from shiplift.machines.steps import Claim, Record
from tests.machines.sshd import Relay, Server, free_port, serving
from tests.machines.world import pool
from tests.until import Deadline

# a minute with real parts: with those that start clusters, and not before each commit
pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("programs")]
NOW = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
WAIT = 240.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("sshd")) as found:
        yield found


@pytest.fixture
def door(server: Server) -> Iterator[Door]:
    with Door(keys.load(server.key)) as found:
        yield found


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    found = Relay(server.port)
    yield found
    found.close()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "machine")


def record(folder: str, name: str = "software-1", limit: float = 60) -> dict[str, object]:
    return {
        "op": "record",
        "folder": folder,
        "id": name,
        "run": "r",
        "started": NOW,
        "deadline": NOW + timedelta(seconds=limit),
        "limit": limit,
        "digest": "",
    }


def begin(folder: str, *commands: list[str], name: str = "software-1", **more: object) -> dict[str, object]:
    return {"op": "begin", "folder": folder, "id": name, "commands": commands, **more}


def facts(door: Door, server: Server, folder: str) -> Facts:
    said = door.ask(server.target(), {"op": "facts", "folder": folder, "packages": ["bash"]}, WAIT)
    return msgspec.convert(said, Facts, strict=False)


def ended(door: Door, server: Server, folder: str, name: str = "software-1") -> Facts:
    """What the machine says when the command does not run any more."""
    deadline = Deadline(WAIT)
    while not deadline.over:
        found = facts(door, server, folder)
        one = next(one for one in found.commands if one.id == name)
        if one.state is not CommandState.RUNNING:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{name} still runs")


# --- who is trusted ---


def test_a_machine_says_what_it_is(door: Door, server: Server, folder: str) -> None:
    found = facts(door, server, folder)
    assert found.machine_id == Path("/etc/machine-id").read_text().strip()
    assert found.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert (found.root, found.mark, found.commands, found.nodes) == (True, None, (), None)
    assert found.memory_mib > 0
    assert not Path(folder).exists()


def test_many_may_ask_one_machine_at_the_same_time(door: Door, server: Server, folder: str) -> None:
    """More than sshd lets be in one connection: a control plane is asked for the tokens of all who join."""
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda _: facts(door, server, folder), range(24)))
    assert len({one.boot_id for one in found}) == 1


def test_a_program_that_is_killed_over_there_has_not_answered(server: Server, folder: str) -> None:
    with Door(keys.load(server.key), connect_seconds=60) as door:
        door._program = "import os; os.kill(os.getpid(), 9)"
        with pytest.raises(CutOffError, match="it ended before it had answered"):
            facts(door, server, folder)


def test_another_host_key_is_refused_and_nothing_is_sent(door: Door, server: Server, folder: str) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    with pytest.raises(NotTrustedError, match="its host key is not the one in the file"):
        door.ask(server.target(host_key=other), record(folder), WAIT)
    assert not Path(folder).exists()


def test_a_host_key_of_another_kind_is_refused(door: Door, server: Server, folder: str) -> None:
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode().strip()
    with pytest.raises(UnreachableError):
        door.ask(server.target(host_key=other), record(folder), WAIT)
    assert not Path(folder).exists()


def test_a_host_key_that_is_none_is_named(door: Door, server: Server, folder: str) -> None:
    with pytest.raises(NotTrustedError, match="its hostKey in the file is no key"):
        door.ask(server.target(host_key="ssh-ed25519 AAAA"), record(folder), WAIT)


def test_a_key_that_nobody_knows_does_not_log_in(server: Server, folder: str) -> None:
    with (
        Door(asyncssh.generate_private_key("ssh-ed25519")) as stranger,
        pytest.raises(NotTrustedError, match="user root may not log in with this key"),
    ):
        stranger.ask(server.target(), record(folder), WAIT)


def test_nobody_there_is_unreachable(door: Door, server: Server, folder: str) -> None:
    with pytest.raises(UnreachableError):
        door.ask(server.target(port=free_port()), record(folder), WAIT)


def test_a_host_that_says_nothing_is_given_up(server: Server, relay: Relay, folder: str) -> None:
    relay.passing.clear()
    with (
        Door(keys.load(server.key), connect_seconds=1) as door,
        pytest.raises(UnreachableError, match="no login within 1 s"),
    ):
        door.ask(server.target(port=relay.port), record(folder), WAIT)


def test_the_agent_of_whoever_runs_it_is_not_asked(
    server: Server, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host *\n  Port 1\n  User nobody\n")
    with Door(keys.load(server.key), connect_seconds=60) as door:
        assert facts(door, server, folder).root


# --- keys ---


def test_a_key_that_others_can_read_is_refused(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(server.key.read_bytes())
    path.chmod(0o644)
    with pytest.raises(keys.KeyFileError) as refused:
        keys.load(path)
    assert refused.value.message == f"key {path} can be read by others: its mode is 0644"
    assert refused.value.hint == f"chmod 600 {path}"


@pytest.mark.parametrize(
    ("content", "message"), [(b"hello", "is no private key"), (b"", "is no private key")]
)
def test_what_is_no_key_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(keys.KeyFileError, match=message):
        keys.load(path)


def test_a_key_with_a_passphrase_and_one_that_is_not_there_are_named(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(asyncssh.generate_private_key("ssh-rsa").export_private_key("pkcs8-pem", "secret"))
    path.chmod(0o600)
    with pytest.raises(keys.KeyFileError, match="has a passphrase"):
        keys.load(path)
    with pytest.raises(keys.KeyFileError, match="No such file"):
        keys.load(tmp_path / "none")


# --- commands ---


def test_a_command_runs_detached_and_keeps_its_end(door: Door, server: Server, folder: str) -> None:
    door.ask(server.target(), record(folder), WAIT)
    given = begin(folder, ["cat", "in.txt"], ["sh", "-c", "echo over >&2; exit 3"], ["echo", "never"])
    door.ask(server.target(), {**given, "files": {"in.txt": "aGVsbG8K"}, "forget": ["in.txt"]}, WAIT)
    one = ended(door, server, folder).commands[0]
    assert (one.state, one.code, one.tail) == (CommandState.ENDED, 3, "hello\nover\n")
    assert not list(Path(folder).glob("journal/*/in.txt"))
    assert Path(folder).stat().st_mode & 0o777 == 0o700


def test_a_command_begins_once(door: Door, server: Server, folder: str, tmp_path: Path) -> None:
    for _ in range(3):
        door.ask(server.target(), record(folder), WAIT)
        door.ask(server.target(), begin(folder, ["sh", "-c", f"echo x >>{tmp_path}/count; sleep 0.5"]), WAIT)
    ended(door, server, folder)
    door.ask(server.target(), begin(folder, ["sh", "-c", f"echo x >>{tmp_path}/count"]), WAIT)
    assert (tmp_path / "count").read_text() == "x\n"


def test_what_is_not_on_record_does_not_begin(door: Door, server: Server, folder: str) -> None:
    with pytest.raises(RefusedError, match="software-1 is not on record"):
        door.ask(server.target(), begin(folder, ["true"]), WAIT)


def test_no_word_of_a_request_reaches_a_shell(
    door: Door, server: Server, folder: str, tmp_path: Path
) -> None:
    door.ask(server.target(), record(folder), WAIT)
    wild = f'\'; touch {tmp_path}/bad; $(touch {tmp_path}/bad) """ \\ \n`touch {tmp_path}/bad`'
    door.ask(server.target(), begin(folder, ["printf", "%s", wild]), WAIT)
    assert ended(door, server, folder).commands[0].tail == wild
    assert not (tmp_path / "bad").exists()


def test_a_command_that_takes_too_long_is_ended_with_its_children(
    door: Door, server: Server, folder: str, tmp_path: Path
) -> None:
    door.ask(server.target(), record(folder, limit=1), WAIT)
    child = f"sleep 600 & echo $! >{tmp_path}/pid; wait"
    door.ask(server.target(), begin(folder, ["sh", "-c", child]), WAIT)
    one = ended(door, server, folder).commands[0]
    assert (one.state, one.timed_out, one.code) == (CommandState.ENDED, True, -signal.SIGTERM)
    assert not _lives(int((tmp_path / "pid").read_text()))


def _lives(pid: int) -> bool:
    """A dead one may be listed until its parent asks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_much_output_is_cut_and_its_end_is_kept(door: Door, server: Server, folder: str) -> None:
    door.ask(server.target(), record(folder), WAIT)
    door.ask(server.target(), begin(folder, ["sh", "-c", "seq 1 300000; echo last"]), WAIT)
    found = ended(door, server, folder)
    assert found.commands[0].tail.endswith("300000\nlast\n")
    assert len(found.commands[0].tail) <= 2048
    assert all(one.stat().st_size <= 65536 for one in Path(folder).glob("journal/*/output"))


def test_a_daemon_that_a_command_leaves_behind_does_not_keep_it_running(
    door: Door, server: Server, folder: str, tmp_path: Path
) -> None:
    door.ask(server.target(), record(folder), WAIT)
    daemon = f"sleep 600 & echo $! >{tmp_path}/pid"
    door.ask(server.target(), begin(folder, ["sh", "-c", daemon]), WAIT)
    assert ended(door, server, folder).commands[0].well
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_who_looks_after_a_command_may_be_killed(
    door: Door, server: Server, folder: str, tmp_path: Path
) -> None:
    """As long as the command itself lives it runs; then it is lost, and never begun again under its name."""
    door.ask(server.target(), record(folder), WAIT)
    work = f"echo $$ >{tmp_path}/pid; echo $PPID >{tmp_path}/parent; exec sleep 600"
    door.ask(server.target(), begin(folder, ["sh", "-c", work]), WAIT)
    _there(tmp_path / "parent")
    os.kill(int((tmp_path / "parent").read_text()), signal.SIGKILL)
    assert facts(door, server, folder).commands[0].state is CommandState.RUNNING
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert ended(door, server, folder).commands[0].state is CommandState.LOST
    door.ask(server.target(), begin(folder, ["touch", f"{tmp_path}/again"]), WAIT)
    assert not (tmp_path / "again").exists()


def _there(path: Path) -> None:
    deadline = Deadline(WAIT)
    while not path.exists() or not path.read_text().strip():
        assert not deadline.over, path
        time.sleep(0.05)


def test_an_answer_that_is_secret_is_in_no_file(door: Door, server: Server, folder: str) -> None:
    given = {**record(folder, "admit-m2-1"), "op": "ask", "commands": [["echo", "abcdef.0123456789abcdef"]]}
    assert door.ask(server.target(), given, WAIT) == {"said": ["abcdef.0123456789abcdef\n"]}
    kept = [one.read_text() for one in Path(folder).rglob("*") if one.is_file()]
    assert not any("abcdef.0123456789abcdef" in one for one in kept)
    assert facts(door, server, folder).commands[0].well


def test_each_question_is_on_record_under_a_name_of_its_own(door: Door, server: Server, folder: str) -> None:
    given = {**record(folder, "admit-m2-1"), "op": "ask", "commands": [["true"]]}
    for _ in range(3):
        door.ask(server.target(), given, WAIT)
    assert [one.id for one in facts(door, server, folder).commands] == [
        f"admit-m2-{number}" for number in (1, 2, 3)
    ]


# --- cut connections ---


def test_a_cut_connection_is_told_and_the_next_request_makes_another(
    door: Door, server: Server, relay: Relay, folder: str
) -> None:
    through = server.target(port=relay.port)
    door.ask(through, record(folder), WAIT)
    relay.cut_after = 1
    with pytest.raises(CutOffError):
        door.ask(through, begin(folder, ["true"]), WAIT)
    said = door.ask(through, begin(folder, ["true"]), WAIT)
    assert said["id"] == "software-1"
    assert ended(door, server, folder).commands[0].well


def test_who_waits_for_an_answer_is_let_go_when_the_door_is_closed(
    server: Server, relay: Relay, folder: str
) -> None:
    """As Ctrl-C does it: nobody waits a minute for a machine that hangs."""
    through, question = server.target(port=relay.port), record(folder)
    door = Door(keys.load(server.key))
    door.ask(through, question, WAIT)
    relay.passing.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(door.ask, through, question, 600)
        time.sleep(0.5)
        door.close()
        assert isinstance(asked.exception(WAIT), CancelledError)
    relay.passing.set()
    with pytest.raises(UnreachableError, match="the door is closed"):
        door.ask(through, question, WAIT)


def test_a_host_that_hangs_is_left_alone_ever_longer(server: Server, relay: Relay, folder: str) -> None:
    """A round waits for everybody: it must not wait for that one each time."""
    wanted = asked(server, relay.port)
    with Door(keys.load(server.key), connect_seconds=1) as door:
        hosts = Hosts(door, wanted, folder)
        relay.passing.clear()
        rests = []
        now = NOW
        for _ in range(5):
            times = iter((now, now := now + timedelta(seconds=1)))
            assert isinstance(hosts.look(times.__next__)["m2"], Silent)
            rests.append((hosts.rests_until("m2") - now).total_seconds())
            now = hosts.rests_until("m2")
        assert rests == [0, 1, 2, 4, 4]
        relay.passing.set()
        assert isinstance(hosts.look(lambda: now)["m2"], Facts)
        assert hosts.rests_until("m2") <= now


def test_a_connection_that_stalls_is_given_up_and_what_was_begun_goes_on(
    door: Door, server: Server, relay: Relay, folder: str, tmp_path: Path
) -> None:
    through = server.target(port=relay.port)
    door.ask(through, record(folder), WAIT)
    door.ask(through, begin(folder, ["sh", "-c", f"sleep 1; echo x >>{tmp_path}/count"]), WAIT)
    relay.passing.clear()
    with pytest.raises(CutOffError, match="it did not answer in 1 s"):
        door.ask(through, begin(folder, ["true"]), 1)
    relay.passing.set()
    assert ended(door, server, folder).commands[0].well
    assert (tmp_path / "count").read_text() == "x\n"


@pytest.mark.parametrize("size", [1, 200, 1500, 4000])
def test_wherever_the_answer_is_cut_a_command_begins_once(
    door: Door, server: Server, relay: Relay, folder: str, tmp_path: Path, size: int
) -> None:
    through = server.target(port=relay.port)
    for request in (record(folder), begin(folder, ["sh", "-c", f"echo x >>{tmp_path}/count"])):
        relay.cut_after = size
        for _ in range(9):
            try:
                door.ask(through, request, WAIT)
                break
            except (CutOffError, UnreachableError):
                continue
    ended(door, server, folder)
    assert (tmp_path / "count").read_text() == "x\n"


# --- eyes and hands ---


def asked(server: Server, port: int) -> Wanted:
    file = pool("control-plane", "ControlPlane", 1, ["m1"]) + pool("workers", "Worker", 1, ["m2"], 100)
    file = file.replace("address: 10.0.0.10,", f"address: 127.0.0.1, port: {server.port},")
    file = file.replace("address: 10.0.0.100,", f"address: 127.0.0.1, port: {port},")
    return read("\n".join(_keyed(line, server) for line in file.splitlines()).encode())


def _keyed(line: str, server: Server) -> str:
    begin, found, _ = line.partition("hostKey: ")
    return f"{begin}{found}{server.host_key}}}" if found else line


def test_hosts_are_looked_at_together_and_who_is_silent_is_named(
    door: Door, server: Server, folder: str
) -> None:
    hosts = Hosts(door, asked(server, free_port()), folder)
    first = hosts.look(lambda: NOW)
    again = hosts.look(lambda: NOW + timedelta(seconds=5))
    assert isinstance(first["m1"], Facts)
    silent = again["m2"]
    assert isinstance(silent, Silent)
    assert (silent.since, silent.final, silent.seen) == (NOW, False, None)
    assert "refused" in silent.why


def test_a_mark_is_written_once_and_another_is_refused(door: Door, server: Server, folder: str) -> None:
    wanted = asked(server, free_port())
    actor = Actor(door, wanted, "run", folder)
    view = View(wanted=wanted, hosts={}, run="run", fresh="c")
    mark = Mark(cluster="c", first="m1", name="m1", pool="control-plane", role=Role.CONTROL_PLANE)
    assert actor.act(Claim("m1", mark), view).ok
    assert actor.act(Claim("m1", mark), view).ok
    other = actor.act(Claim("m1", msgspec.structs.replace(mark, cluster="d")), view)
    assert (other.answer, other.message[:29]) == (Answer.FAILED, "the machine has another mark:")
    assert facts(door, server, folder).mark == mark
    lost = actor.act(Claim("m2", mark), view)
    assert lost.answer is Answer.UNKNOWN


def test_a_mark_that_is_damaged_is_told_and_not_guessed(door: Door, server: Server, folder: str) -> None:
    Path(folder).mkdir()
    (Path(folder) / "mark.json").write_text("{")
    assert facts(door, server, folder).mark_error.startswith(f"{folder}/mark.json: Expecting property name")


def test_a_record_is_what_was_decided(door: Door, server: Server, folder: str) -> None:
    wanted = asked(server, free_port())
    view = View(wanted=wanted, hosts={}, run="run-7", fresh="c")
    started = Started.begin("software", NOW, timedelta(minutes=15), 2)
    assert Actor(door, wanted, "run-7", folder).act(Record("m1", Purpose.SOFTWARE, started, "d"), view).ok
    one = facts(door, server, folder).commands[0]
    assert (one.id, one.run, one.digest, one.state) == ("software-2", "run-7", "d", CommandState.RECORDED)
    assert (one.started, one.deadline) == (NOW, NOW + timedelta(minutes=15))
