"""Real MinIO servers, and the artifact server that they fetch a binary from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.quorum.serving import Artifact, ArtifactServer
from tests.minio import builds
from tests.minio.keys import Key


class Programs(msgspec.Struct, frozen=True):
    """The paths of two releases."""

    old: Path
    new: Path


@pytest.fixture(scope="session")
def minio_programs() -> Programs:
    """Built before any test needs them: a first build takes longer than tests wait."""
    return Programs(builds.program(builds.OLD), builds.program(builds.NEW))


@pytest.fixture(scope="session")
def key() -> Key:
    return Key()


@pytest.fixture(scope="session")
def signature(minio_programs: Programs, key: Key) -> bytes:
    return key.sign(minio_programs.new)


@pytest.fixture(scope="session")
def artifact(minio_programs: Programs, signature: bytes) -> Artifact:
    """The new release, as it would be served."""
    with minio_programs.new.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Artifact(f"minio.{builds.NEW.tag}", minio_programs.new, digest, signature)


@pytest.fixture
def serving() -> Iterator[ArtifactServer]:
    server = ArtifactServer(("127.0.0.1", 0))
    server.start()
    yield server
    server.stop()
