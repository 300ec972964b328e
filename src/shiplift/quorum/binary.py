"""A binary that may be given to servers: signed, with its checksum, and of the version that its image says.

Checked in this order, each before the next: signature, checksum, and only then is it run, once, to say its
version. Servers never run it before they are it: a signed but broken one would take all of them down.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from shiplift.quorum import minisign
from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.images.pulling import Pulled

_CHECKSUM = re.compile(rb"([0-9a-fA-F]{64})[ \t]+\*?(\S{1,200})\s*")
_MOST_CHECKSUM = 4096
_RUN_SECONDS = 20.0
_MOST_OUTPUT = 64 << 10
_NOBODY = 65534
_LABELS = ("release", "version")


class Refused(Exception):  # noqa: N818 - says what became of the binary
    """The binary is not to be given to any server; the message says why."""


class Checked(msgspec.Struct, frozen=True):
    """A binary that passed."""

    path: Path
    sha256: str
    signature: bytes
    version: str
    """In the engine's words."""
    ran: bool
    """Whether it said its version itself; where it cannot run here, its image is believed."""


def check(pulled: Pulled, engine: Engine, key: str, tag: str, labels: Mapping[str, str]) -> Checked:
    """`Refused` unless all holds."""
    signature = _signed(pulled, key)
    sha256 = _summed(pulled)
    named = _named(engine, tag, labels)
    said = _said(pulled.program, engine)
    version = said or named
    if version is None:
        raise Refused("neither the image's tag nor its labels say a version, and the binary cannot run here")
    if said is not None and named is not None and _differ(engine, said, named):
        raise Refused(f"the binary says that it is {said}, its image says {named}")
    return Checked(pulled.program, sha256, signature, version, said is not None)


def _signed(pulled: Pulled, key: str) -> bytes:
    if pulled.signature.stat().st_size > minisign.MOST_TEXT:
        raise Refused(f"the signature of the binary has more than {minisign.MOST_TEXT} bytes")
    text = pulled.signature.read_bytes()
    try:
        minisign.verify(pulled.program, text, minisign.PublicKey.read(key))
    except minisign.SignatureError as error:
        raise Refused(f"the binary is not signed as it should be: {error}") from None
    return text


def _summed(pulled: Pulled) -> str:
    with pulled.checksum.open("rb") as file:
        found = _CHECKSUM.fullmatch(file.read(_MOST_CHECKSUM))
    if found is None:
        raise Refused("the checksum file of the binary is not a checksum and a name")
    with pulled.program.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != found[1].decode().lower():
        raise Refused("the binary does not have the checksum that is beside it")
    return sha256


def _named(engine: Engine, tag: str, labels: Mapping[str, str]) -> str | None:
    """What the image says, by its tag or its labels; the first that is a version."""
    for text in (tag, *(labels.get(name, "") for name in _LABELS)):
        with contextlib.suppress(ValueError):
            engine.newer(text, than=text)
            return text
    return None


def _differ(engine: Engine, one: str, other: str) -> bool:
    return engine.newer(one, than=other) or engine.newer(other, than=one)


def _said(program: Path, engine: Engine) -> str | None:
    """None where it cannot run here, for it is made for other machines."""
    try:
        output = _run(program)
    except subprocess.TimeoutExpired:
        raise Refused(f"the binary did not say its version within {_RUN_SECONDS:.0f} s") from None
    if output is None:
        return None
    try:
        return engine.said_version(output)
    except ValueError as error:
        raise Refused(f"the binary was run to say its version: {error}") from None


def _run(program: Path) -> str | None:
    """With no rights, no settings of ours, nothing to write to but an empty folder."""
    nobody = _NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="shiplift-run-") as folder, tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                [program if nobody is None else _within_reach(program, Path(folder)), "--version"],
                env={"HOME": folder, "PATH": ""},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                timeout=_RUN_SECONDS,
                check=False,
                start_new_session=True,
                user=nobody,
                group=nobody,
                extra_groups=None if nobody is None else (),
            )
        except OSError as error:
            return _unless_foreign(program, error)
        if done.returncode:
            raise Refused(f"the binary was run to say its version, and ended with {done.returncode}")
        output.seek(0)
        return output.read(_MOST_OUTPUT).decode(errors="replace")


def _within_reach(program: Path, folder: Path) -> Path:
    """The cache is ours alone: who has no rights gets a copy."""
    os.chown(folder, _NOBODY, _NOBODY)
    return Path(shutil.copy(program, folder / program.name))


def _unless_foreign(program: Path, error: OSError) -> None:
    """A program for another machine is an ELF file all the same; anything else is broken."""
    with program.open("rb") as file:
        header = file.read(20)
    if header[:4] == b"\x7fELF" and len(header) == 20 and header[18:20] != _own_machine():
        return
    raise Refused(f"the binary cannot be run: {error.strerror or error}") from None


def _own_machine() -> bytes:
    """The `e_machine` of the program that runs this, which does run here."""
    with Path("/proc/self/exe").open("rb") as file:
        return file.read(20)[18:20]
