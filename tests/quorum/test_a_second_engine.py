"""Another kind of service is a module behind the same protocol, with versions in words of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer
from shiplift.quorum.binary import Refused, check
from shiplift.quorum.decide import decide
from shiplift.quorum.engines.protocol import (
    Answered,
    Canary,
    Engine,
    HostAnswer,
    Reply,
    Server,
    Silent,
    Stop,
    Told,
    Verdict,
)
from shiplift.quorum.images.pulling import Pulled
from shiplift.quorum.judging import staged
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.observe.order import ordered
from shiplift.quorum.steps import Begin
from tests.minio.keys import Key
from tests.quorum.decide.views import ENDPOINTS, IMAGE, NOW, members, view


class Keeper:
    """Counts its versions: `k7` comes after `k6`."""

    program = "keeper"
    publisher = Key().public

    def said_version(self, output: str) -> str:
        return f"k{_number(output.strip())}"

    def newer(self, version: str, than: str) -> bool:
        return _number(version) > _number(than)

    def stages(self, version: str) -> bool:
        return _number(version) >= 3

    def ask(self, server: Server) -> Told | Silent:
        return Told("k6", True, 2, ENDPOINTS)

    def stage(self, through: Server, url: str) -> Reply:
        return Answered(tuple(HostAnswer(endpoint, Verdict.DONE) for endpoint in ENDPOINTS))

    def switch(self, through: Server, url: str) -> Reply:
        return self.stage(through, url)

    def may_stop(self, server: Server) -> Stop:
        return Stop(Truth.TRUE)

    def canary(self, servers: Sequence[Server], bucket: str | None) -> tuple[Canary, ...]:
        return tuple(Canary(server.name) for server in servers)


def _number(version: str) -> int:
    if not version.startswith("k"):
        raise ValueError(f"{version!r} is no version of Keeper")
    return int(version[1:])


ENGINE: Engine = Keeper()


def test_its_versions_are_compared_in_its_own_words() -> None:
    order = ordered(ENGINE, ("k10", "k9", "RELEASE.2025-09-07T16-13-09Z"))
    assert order.newer("k10", than="k9")
    assert set(order.ranks) == {"k9", "k10"}


def test_its_binary_is_checked_and_says_its_own_version(tmp_path: Path) -> None:
    key, content = Key(), b"#!/bin/sh\necho k7\n"
    pulled = Pulled(tmp_path / "program", tmp_path / "checksum", tmp_path / "signature")
    pulled.program.write_bytes(content)
    pulled.program.chmod(0o755)
    pulled.checksum.write_text(f"{hashlib.sha256(content).hexdigest()}  keeper\n")
    pulled.signature.write_bytes(key.sign(pulled.program))
    assert check(pulled, ENGINE, key.public, "k7", {}).version == "k7"
    with pytest.raises(Refused, match="says that it is k7, its image says k8"):
        check(pulled, ENGINE, key.public, "k8", {})


def test_what_follows_from_its_answers_is_decided_as_of_any() -> None:
    servers = tuple(Server(f"minio-{at}", "", 9000, f"minio-{at}.minio.store.svc") for at in range(4))
    said = members(told=ENGINE.ask(servers[0]))
    made = view(
        members=said, candidate=Candidate(Validity.GOOD, "k7", IMAGE), order=ordered(ENGINE, ("k6", "k7"))
    )
    [step] = decide(made, NOW).steps
    assert isinstance(step, Begin)
    older = msgspec.structs.replace(made, candidate=Candidate(Validity.GOOD, "k5", IMAGE))
    older = msgspec.structs.replace(older, order=ordered(ENGINE, ("k6", "k5")))
    assert decide(older, NOW).steps == ()
    assert staged(ENGINE.stage(servers[0], ""), servers, ()).answer is Answer.OK
