"""The relay passes commands on as they are, and breaks them as it is told; before a server of SSH in here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncssh
import pytest

from shiplift.machines.ssh.door import Door, Target
from shiplift.machines.ssh.errors import CutOffError, SshError, UnreachableError
from tests.crash.calls import Sort
from tests.crash.machines.director import Director
from tests.crash.machines.relay import Keys, Relays
from tests.crash.plans import Clean, Crash, CrashPoint, Cut, How, Pause, Restart, Spot, Trouble, Unsent
from tests.until import until

RECORD = Spot("record software", "m1")
FACTS = {"op": "facts", "folder": "/nowhere", "packages": []}


class Host:
    """Answers whatever it is sent, and remembers it."""

    def __init__(self, keys: Keys) -> None:
        self.got: list[bytes] = []
        self._open: list[asyncssh.SSHServerConnection] = []
        self._keys = keys
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(self._listen())
        self.port = self._server.get_port()

    async def _listen(self) -> asyncssh.SSHAcceptor:
        login = self._keys.login.export_public_key().decode()
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._keys.host],
            authorized_client_keys=asyncssh.import_authorized_keys(login),
            acceptor=self._open.append,
            process_factory=self._answer,
            encoding=None,
        )

    async def _answer(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self.got.append(await process.stdin.read())
        process.stdout.write(b'{"ok": {"said": "a long answer"}}\n')
        process.exit(0)

    @property
    def whole(self) -> int:
        """Requests that came in whole."""
        return sum(one.endswith(b")\n") for one in self.got)

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._run(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _hang_up(self) -> None:
        self._server.close()
        for one in self._open:
            one.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0.05)

    def _run(self, what):  # type: ignore[no-untyped-def]
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)


class Crew:
    """Writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def crash(self) -> None:
        self.asked.append("crash")

    def pause(self, over: Callable[[], bool]) -> None:
        self.asked.append("pause")

    def wake(self) -> None:
        self.asked.append("wake")

    def cut_power(self, machine: str, entry: str) -> None:
        self.asked.append(f"no power on {machine} at {entry}")


class Rig:
    def __init__(self) -> None:
        keys = Keys(*(asyncssh.generate_private_key("ssh-ed25519") for _ in range(2)))
        self.host, self.crew, self.relays = Host(keys), Crew(), Relays()
        self.director = Director(self.crew)
        port = self.relays.add("m1", self.host.port, keys, self.director)
        known = " ".join(keys.host.export_public_key().decode().split()[:2])
        self.target = Target("m1", "127.0.0.1", port, known)
        self.door = Door(keys.login)

    def ask(self, number: int = 1, seconds: float = 30.0) -> object:
        request = {"op": "record", "folder": "/nowhere", "id": f"software-{number}"}
        return self.door.ask(self.target, request, seconds)

    def close(self) -> None:
        self.door.close()
        self.relays.close()
        self.host.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    found = Rig()
    yield found
    found.close()


def test_what_is_asked_is_answered_and_counted(rig: Rig) -> None:
    assert rig.ask() == {"said": "a long answer"}
    assert rig.ask() == {"said": "a long answer"}
    rig.door.ask(rig.target, FACTS, 30)
    book = rig.director.book()
    spots = [RECORD, Spot("record software", "m1", 2), Spot("facts", "m1")]
    assert [one.spot for one in book.entries] == spots
    assert [one.status for one in book.entries] == [200, 200, 200]
    assert [one.call.sort for one in book.entries] == [Sort.WRITE, Sort.WRITE, Sort.READ]
    assert (rig.host.whole, book.fired) == (3, False)


@pytest.mark.parametrize(
    ("trouble", "whole", "asked", "status"),
    [
        (Unsent(RECORD), 0, ["crash"], 0),
        (Crash(RECORD, CrashPoint.BEFORE_REPLY), 1, ["crash"], 200),
        (Cut(RECORD, How.REQUEST), 0, [], 0),
        (Cut(RECORD, How.ANSWER), 1, [], 200),
        (Restart(RECORD), 1, ["no power on m1 at software-1"], 200),
    ],
)
def test_a_command_is_lost_and_the_next_one_is_not(
    rig: Rig, trouble: Trouble, whole: int, asked: list[str], status: int
) -> None:
    rig.director.arm(trouble)
    with pytest.raises(CutOffError):
        rig.ask()
    assert (rig.host.whole, rig.crew.asked) == (whole, asked)
    assert [one.status for one in rig.director.book().entries] == [status]
    assert rig.director.book().fired
    assert rig.ask() == {"said": "a long answer"}
    assert rig.crew.asked == asked


def test_one_that_is_paused_is_woken_when_its_command_was_done(rig: Rig) -> None:
    rig.director.arm(Pause(RECORD))
    assert rig.ask() == {"said": "a long answer"}
    assert rig.ask() == {"said": "a long answer"}
    assert rig.crew.asked == ["pause", "wake"]


def test_a_crash_after_the_answer_comes_after_the_answer(rig: Rig) -> None:
    rig.director.arm(Crash(RECORD, CrashPoint.AFTER_REPLY))
    assert rig.ask() == {"said": "a long answer"}
    until(lambda: rig.crew.asked == ["crash"])


def test_a_connection_that_stalls_says_nothing_and_another_one_passes(rig: Rig) -> None:
    rig.director.arm(Cut(RECORD, How.STALLED))
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(rig.ask)
        until(lambda: rig.host.whole == 1)
        with pytest.raises(TimeoutError):
            asked.result(0.5)
        rig.relays.hang_up()
        with pytest.raises(CutOffError):
            asked.result(30)
    assert rig.ask() == {"said": "a long answer"}


def test_a_port_that_refuses_is_open_again_after_a_while(rig: Rig) -> None:
    rig.director.arm(Cut(RECORD, How.REFUSED))
    with pytest.raises(CutOffError):
        rig.ask()
    with pytest.raises(UnreachableError, match="refused"):
        rig.ask()
    until(lambda: _answered(rig), 30, 0.2)
    assert rig.host.whole >= 1


def _answered(rig: Rig) -> bool:
    try:
        return bool(rig.ask())
    except SshError:
        return False


def test_a_host_that_is_gone_takes_the_connection_with_it(rig: Rig) -> None:
    rig.director.arm(Clean())
    rig.ask()
    rig.host.close()
    with pytest.raises(SshError):
        until(rig.ask, 30)
