"""What the way to a machine makes of an end that is not the one it hoped for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any, cast

import asyncssh
import pytest

from shiplift.machines.ssh import door
from shiplift.machines.ssh.door import Target
from shiplift.machines.ssh.errors import CutOffError, NotTrustedError, SshError
from tests.machines.world import KEY


@pytest.mark.parametrize(
    ("user", "code", "complaint", "kind", "message"),
    [
        ("root", 127, "sh: python3: not found", NotTrustedError, "it has no python3"),
        ("ops", 127, "no sudo", NotTrustedError, "it has no sudo, or no python3: no sudo"),
        (
            "ops",
            1,
            "sudo: a password is required",
            NotTrustedError,
            "user ops may not become root without a password: sudo: a password is required",
        ),
        ("root", 1, "MemoryError", CutOffError, "its python3 ended with exit code 1: MemoryError"),
    ],
)
def test_only_what_waiting_cannot_help_is_final(
    user: str, code: int, complaint: str, kind: type[SshError], message: str
) -> None:
    found = door._failure(Target("w-1", "10.0.0.10", 22, KEY, user), code, complaint.encode())
    assert (type(found), str(found)) == (kind, message)


@pytest.fixture(scope="module")
def opened() -> Iterator[door.Door]:
    with door.Door(asyncssh.generate_private_key("ssh-ed25519")) as found:
        yield found


@pytest.mark.parametrize("address", ["m1..example.test", f"{'a' * 64}.test", ".", "..."])
def test_an_address_that_is_no_name_is_named_and_ends_nothing_else(address: str, opened: door.Door) -> None:
    odd, other = (Target(name, to, 1, KEY) for name, to in (("w-1", address), ("w-2", "127.0.0.1")))
    said = opened.ask_all({odd: {}, other: {}}, 5.0)
    assert isinstance(said[odd], NotTrustedError)
    assert str(said[odd]) == f"its address in the file is no name: {address}"
    assert str(said[other]) == "connection refused"


def test_a_name_that_nobody_knows_is_told_as_the_resolver_tells_it() -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert door._reason(unknown) == "name or service not known"


class Dead:
    """A connection to a machine that does not say goodbye before all others are waited for, too."""

    waiting, most = 0, 20
    everybody: asyncio.Event

    def __init__(self) -> None:
        self.aborted = False

    def close(self) -> None:
        """Nobody hears it."""

    async def wait_closed(self) -> None:
        Dead.waiting += 1
        if Dead.waiting == Dead.most:
            Dead.everybody.set()
        try:
            await Dead.everybody.wait()
        finally:
            Dead.waiting -= 1

    def abort(self) -> None:
        self.aborted = True


def test_machines_that_are_dead_are_left_all_at_once() -> None:
    dead = [Dead() for _ in range(Dead.most)]

    async def leave() -> bool:
        Dead.everybody = asyncio.Event()
        found = cast("Any", object.__new__(door.Door))
        found._asking, found._open = set(), dict(enumerate(dead))
        await found._hang_up()
        return Dead.everybody.is_set()

    assert asyncio.run(leave())
    assert all(one.aborted for one in dead)
