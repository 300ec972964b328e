"""Before the sshd of each machine: takes every command in whole, and passes it on as the director says.

It has the machine's own host key, so that nobody who connects can tell. Bytes of a connection go through our
hands before SSH begins: they can be held, or the connection reset.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

import asyncssh
import msgspec

from tests.crash.calls import Call, Sort
from tests.crash.machines import calls
from tests.crash.machines.director import Way
from tests.crash.plans import Spot

_REFUSED_SECONDS = 3.0
_RESET = struct.pack("ii", 1, 0)
T = TypeVar("T")


class Asked(Protocol):
    """The director, as a relay knows it."""

    def spot(self, call: Call) -> Spot: ...

    def before(self, call: Call, spot: Spot) -> Way: ...

    def executed(self, call: Call, spot: Spot, status: int, machine: str, entry: str) -> Way: ...

    def answered(self, spot: Spot) -> None: ...

    def lost(self, call: Call, spot: Spot) -> None: ...


class Keys(msgspec.Struct, frozen=True):
    """The machine's own, and the one that logs in."""

    host: asyncssh.SSHKey
    login: asyncssh.SSHKey


class Said(msgspec.Struct, frozen=True):
    """The whole answer of a machine."""

    out: bytes
    complaint: bytes
    code: int

    @property
    def status(self) -> int:
        """As an HTTP server would put it."""
        return 200 if self.code == 0 and self.out.startswith(b'{"ok"') else 409


class Relays:
    """All of them, on one event loop with a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._thread.start()
        self._relays: list[Relay] = []

    def add(self, machine: str, port: int, keys: Keys, director: Asked) -> int:
        """One before the sshd at that port; its own port."""
        relay = Relay(machine, port, keys, director)
        self._run(relay.open())
        self._relays.append(relay)
        return relay.port

    def hang_up(self) -> None:
        """All connections of now."""
        for one in self._relays:
            self._loop.call_soon_threadsafe(one.cut)

    def close(self) -> None:
        for one in self._relays:
            self._run(one.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)


class Line:
    """One connection of a client: its bytes pass through here, until they are held or it is reset."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._passing = asyncio.Event()
        self._passing.set()
        self.upstream: asyncssh.SSHClientConnection | None = None

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65536):
                await self._passing.wait()
                writer.write(chunk)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    def stall(self) -> None:
        """Nothing passes any more, in either direction, and nobody is told."""
        self._passing.clear()

    def cut(self) -> None:
        """As a middlebox that has forgotten the connection: both ends."""
        sock = self._writer.get_extra_info("socket")
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._writer.transport.abort()
        self._passing.set()
        self.hang_up()

    def hang_up(self) -> None:
        if self.upstream is not None:
            self.upstream.abort()


class Relay:
    """Before one machine."""

    def __init__(self, machine: str, upstream: int, keys: Keys, director: Asked) -> None:
        self._machine, self._upstream, self._keys, self._director = machine, upstream, keys, director
        self._server: asyncio.Server | None = None
        self._lines: set[Line] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # until transports that were closed are

    def cut(self) -> None:
        for line in list(self._lines):
            line.cut()

    async def refuse(self) -> None:
        """Nobody listens for a while."""
        assert self._server
        self._server.close()
        self.cut()
        await asyncio.sleep(_REFUSED_SECONDS)
        await self.open()

    # --- one connection ---

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._begin(self._serve(reader, writer))

    def _begin(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(writer)
        self._lines.add(line)
        ours, theirs = socket.socketpair()
        inner_reader, inner_writer = await asyncio.open_connection(sock=ours)
        try:
            line.upstream = await self._connect()
            self._begin(line.pump(reader, inner_writer))
            self._begin(line.pump(inner_reader, writer))
            self._begin(self._gone(line))
            server = await self._speak(theirs, line)
            await server.wait_closed()
        except (asyncssh.Error, OSError, TimeoutError):
            theirs.close()
            line.cut()
        finally:
            self._lines.discard(line)
            line.hang_up()
            inner_writer.close()
            writer.close()

    async def _connect(self) -> asyncssh.SSHClientConnection:
        public = self._keys.host.convert_to_public()
        async with asyncio.timeout(10):
            return await asyncssh.connect(
                "127.0.0.1",
                self._upstream,
                username="root",
                client_keys=[self._keys.login],
                known_hosts=([public], [], []),
                x509_trusted_certs=None,
                agent_path=None,
                config=None,
            )

    async def _gone(self, line: Line) -> None:
        """A machine that goes down takes its connections with it."""
        assert line.upstream
        await line.upstream.wait_closed()
        line.cut()

    async def _speak(self, sock: socket.socket, line: Line) -> asyncssh.SSHServerConnection:
        async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
            try:
                await self._handle(process, line)
            except (asyncssh.Error, OSError):
                line.cut()

        login = self._keys.login.export_public_key().decode()
        return await asyncssh.run_server(
            sock,
            server_host_keys=[self._keys.host],
            authorized_client_keys=asyncssh.import_authorized_keys(login),
            process_factory=handle,
            encoding=None,
        )

    # --- one command ---

    async def _handle(self, process: asyncssh.SSHServerProcess[bytes], line: Line) -> None:
        command, sent = process.command or "", await process.stdin.read()
        call = calls.recognise(self._machine, sent)
        spot = self._director.spot(call)
        way = await asyncio.to_thread(self._director.before, call, spot)
        if way is Way.PASS:
            await self._passed_on(process, line, command, sent, call, spot)
        elif way is Way.HALF:
            await self._half(line, command, sent)
        elif way is Way.REFUSE:
            self._begin(self.refuse())
        else:
            line.cut()

    async def _half(self, line: Line, command: str, sent: bytes) -> None:
        """The machine gets half of the request, and then nobody is there any more."""
        assert line.upstream
        async with line.upstream.create_process(command, encoding=None) as started:
            started.stdin.write(sent[: len(sent) // 2])
            await started.stdin.drain()
            await asyncio.sleep(0.1)
            line.cut()

    async def _passed_on(
        self,
        process: asyncssh.SSHServerProcess[bytes],
        line: Line,
        command: str,
        sent: bytes,
        call: Call,
        spot: Spot,
    ) -> None:
        try:
            said = await self._said(line, command, sent)
        except (asyncssh.Error, OSError):
            await asyncio.to_thread(self._director.lost, call, spot)
            line.cut()
            return
        entry = calls.entry(sent) if call.sort is not Sort.APART else ""
        arguments = (call, spot, said.status, self._machine, entry)
        way = await asyncio.to_thread(self._director.executed, *arguments)
        await self._answer(process, line, said, way)
        await asyncio.to_thread(self._director.answered, spot)

    async def _said(self, line: Line, command: str, sent: bytes) -> Said:
        assert line.upstream
        async with line.upstream.create_process(command, encoding=None) as started:
            started.stdin.write(sent)
            started.stdin.write_eof()
            out, complaint = await asyncio.gather(started.stdout.read(), started.stderr.read())
            await started.wait_closed()
        if started.exit_status is None:
            raise ConnectionError("the machine went down")
        return Said(out, complaint, started.exit_status)

    async def _answer(
        self, process: asyncssh.SSHServerProcess[bytes], line: Line, said: Said, way: Way
    ) -> None:
        if way is Way.STALL:
            return line.stall()
        if way is Way.CUT:
            return line.cut()
        whole = way is Way.PASS
        process.stdout.write(said.out if whole else said.out[: len(said.out) // 2])
        if whole:
            process.stderr.write(said.complaint)
            process.exit(said.code)
            return None
        await process.stdout.drain()
        await asyncio.sleep(0.1)
        return line.cut()
