"""SSH: the only door to machines. Host keys are pinned, nothing is forwarded, everything has a limit.

The event loop that asyncssh wants runs on a thread in here; whoever calls does not know of it. A shell on the
other side is given one of two constants: a request travels as data on standard input, so that no text of a
user is ever part of a command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections import defaultdict
from collections.abc import Coroutine, Mapping
from importlib import resources
from types import TracebackType
from typing import TypeVar

import asyncssh
import msgspec

from shiplift.machines.ssh.errors import (
    CutOffError,
    NotTrustedError,
    RefusedError,
    SilentError,
    SshError,
    StuckError,
    UnreachableError,
)
from shiplift.machines.ssh.plain import all_plain, plain

Answer = dict[str, object]
_T = TypeVar("_T")
_AS_ROOT, _AS_OTHER = "python3 -", "sudo -n python3 -"
_CONNECT_SECONDS = 5.0
_GOODBYE_SECONDS = 1.0
_MOST_ANSWER = 32 * 1024 * 1024
_MOST_COMPLAINT = 4096
_NOT_FOUND = 127
_SCAN = "its hostKey is what `ssh-keyscan` prints after the address"
_ANOTHER = "is it another machine, or was it installed anew? look at its key there, then put it into the file"
_ADDRESS = "the parts of a name have 1 to 63 characters each"
_AT_ONCE = 32
"""So many machines are spoken to at a time."""
_SESSIONS = 4
"""So many requests are on their way to one machine: by default its sshd lets ten be in one connection."""


class Target(msgspec.Struct, frozen=True):
    """Where a machine is, who logs in, and by which key it is known."""

    name: str
    address: str
    port: int
    host_key: str
    user: str = "root"


class Door:
    """Connections to machines: made when they are needed, kept, made anew when they are lost."""

    def __init__(self, key: asyncssh.SSHKey, connect_seconds: float = _CONNECT_SECONDS) -> None:
        self._key = key
        self._connect_seconds = connect_seconds
        self._open: dict[Target, asyncssh.SSHClientConnection] = {}
        self._program = resources.files("shiplift.machines.ssh").joinpath("runner.py").read_text()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self._thread.start()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._sessions: defaultdict[Target, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_SESSIONS)
        )
        self._connecting: defaultdict[Target, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By machine: who connects; others wait for that connection."""
        self._asking: set[asyncio.Task[object]] = set()
        self._closed = False
        self._closing = threading.Lock()

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """What runs on machines goes on; who still waits for an answer gets `CancelledError`."""
        with self._closing:
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, target: Target, request: Mapping[str, object], seconds: float) -> Answer:
        """What the machine answers, or `SshError`."""
        return self._result(self._ask(target, request, seconds))

    def ask_all(
        self, requests: Mapping[Target, Mapping[str, object]], seconds: float
    ) -> dict[Target, Answer | SshError]:
        """All at once; one that is slow holds up no other for longer than its time."""

        async def each() -> list[Answer | SshError]:
            return await asyncio.gather(*(self._caught(one, said, seconds) for one, said in requests.items()))

        return dict(zip(requests, self._result(each()), strict=True))

    def _result(self, request: Coroutine[object, object, _T]) -> _T:
        """Nothing is asked once the door is closed: nobody would ever be answered."""
        with self._closing:
            if self._closed:
                request.close()
                raise UnreachableError("the door is closed")
            asked = asyncio.run_coroutine_threadsafe(self._noted(request), self._loop)
        return asked.result()

    async def _noted(self, request: Coroutine[object, object, _T]) -> _T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        self._asking.add(task)
        try:
            return await request
        finally:
            self._asking.discard(task)

    async def _caught(
        self, target: Target, request: Mapping[str, object], seconds: float
    ) -> Answer | SshError:
        try:
            return await self._ask(target, request, seconds)
        except SshError as error:
            return error

    async def _ask(self, target: Target, request: Mapping[str, object], seconds: float) -> Answer:
        async with self._sessions[target], self._places:
            async with self._connecting[target]:
                connection = await self._connection(target)
            try:
                async with asyncio.timeout(seconds):
                    said = await self._said(connection, target, request)
            except TimeoutError as error:
                self._forget(target)
                raise StuckError(f"it did not answer in {seconds:.0f} s", seconds) from error
            except (asyncssh.Error, OSError, AttributeError, AssertionError) as error:
                # the last two are asyncssh's own, where another request has ended the connection
                self._forget(target)
                raise CutOffError(f"the connection was lost: {_reason(error)}") from error
        return _answer(said)

    async def _connection(self, target: Target) -> asyncssh.SSHClientConnection:
        found = self._open.get(target)
        if found is not None and not found.is_closed():
            return found
        try:
            async with asyncio.timeout(self._connect_seconds):
                found = await self._connect(target)
        except TimeoutError as error:
            limit = self._connect_seconds
            raise SilentError(f"no login within {limit:.0f} s", limit) from error
        except asyncssh.KeyImportError as error:
            raise NotTrustedError(f"its hostKey in the file is no key: {error}", _SCAN) from error
        except asyncssh.HostKeyNotVerifiable as error:
            raise NotTrustedError("its host key is not the one in the file", _ANOTHER) from error
        except asyncssh.KeyExchangeFailed as error:
            raise NotTrustedError(
                f"it has no host key of the kind in the file: {_reason(error)}", _SCAN
            ) from error
        except asyncssh.PermissionDenied as error:
            hint = f"is the public half of the key in authorized_keys of {target.user} there?"
            raise NotTrustedError(f"user {target.user} may not log in with this key", hint) from error
        except UnicodeError as error:  # of the encoding of a name, before anybody is asked for it
            text = f"its address in the file is no name: {target.address}"
            raise NotTrustedError(text, _ADDRESS) from error
        except (asyncssh.Error, OSError) as error:
            raise UnreachableError(_reason(error)) from error
        self._open[target] = found
        return found

    async def _connect(self, target: Target) -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            target.address,
            target.port,
            username=target.user,
            client_keys=[self._key],
            known_hosts=([asyncssh.import_public_key(target.host_key)], [], []),
            x509_trusted_certs=None,
            preferred_auth="publickey",
            agent_path=None,
            agent_forwarding=False,
            config=None,
            keepalive_interval=5,
            keepalive_count_max=3,
        )

    async def _said(
        self, connection: asyncssh.SSHClientConnection, target: Target, request: Mapping[str, object]
    ) -> bytes:
        """The whole answer; a program that is cut off in the middle has answered nothing."""
        command = _AS_ROOT if target.user == "root" else _AS_OTHER
        async with connection.create_process(command, encoding=None) as process:
            process.stdin.write(self._sent(request))
            process.stdin.write_eof()
            said, complaint = await asyncio.gather(
                _capped(process.stdout, _MOST_ANSWER), _capped(process.stderr, _MOST_COMPLAINT)
            )
            await process.wait_closed()
        code = process.exit_status
        if code is None or process.exit_signal:
            raise CutOffError("it ended before it had answered")
        if code != 0:
            raise _failure(target, code, complaint)
        return said

    def _sent(self, request: Mapping[str, object]) -> bytes:
        """The program, and the request as a literal of Python: whatever is in it stays data."""
        text = msgspec.json.encode(request).decode()
        return f"{self._program}\n\nmain({text!r})\n".encode()

    def _forget(self, target: Target) -> None:
        found = self._open.pop(target, None)
        if found is not None:
            found.abort()

    async def _hang_up(self) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*map(_leave, self._open.values()))


async def _leave(connection: asyncssh.SSHClientConnection) -> None:
    """Politely for a second: a machine that is dead does not say goodbye."""
    connection.close()
    with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
        async with asyncio.timeout(_GOODBYE_SECONDS):
            await connection.wait_closed()
    connection.abort()


async def _capped(stream: asyncssh.SSHReader[bytes], most: int) -> bytes:
    """What is said, up to a limit; more is read and thrown away, so that nobody waits for us."""
    kept = bytearray()
    while chunk := await stream.read(65536):
        kept += chunk[: max(most - len(kept), 0)]
    return bytes(kept)


def _failure(target: Target, code: int, complaint: bytes) -> SshError:
    """Waiting does not help where something is missing; a python3 that ended badly may have lacked memory."""
    said = " ".join(plain(complaint.decode(errors="replace")).split())[-200:]
    if code == _NOT_FOUND and target.user == "root":
        return NotTrustedError("it has no python3")
    if code == _NOT_FOUND:
        return NotTrustedError(f"it has no sudo, or no python3: {said}")
    if said.startswith("sudo:"):
        return NotTrustedError(f"user {target.user} may not become root without a password: {said}")
    return CutOffError(f"its python3 ended with exit code {code}: {said}")


def _answer(said: bytes) -> Answer:
    try:
        found = all_plain(msgspec.json.decode(said, type=dict[str, object]))
    except (msgspec.DecodeError, RecursionError) as error:
        raise CutOffError("what it answered is no answer of ours") from error
    if "error" in found:
        raise RefusedError(str(found["error"]))
    ok = found.get("ok")
    return msgspec.convert(ok, Answer)


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncssh.DisconnectError):
        return plain(error.reason)
    if isinstance(error, socket.gaierror):  # its numbers are not those of the system
        return (error.strerror or str(error)).lower()
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()  # asyncio's own words have the address in them
    return plain(str(error)) or type(error).__name__
