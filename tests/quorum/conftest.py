"""Real MinIO servers, the artifact server that they fetch a binary from, and services played in memory."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.engine import clock
from shiplift.local.cluster import Cluster
from shiplift.quorum.controller import PART
from shiplift.quorum.serving import Artifact, ArtifactServer
from tests import registry as registries
from tests import rights
from tests.minio import builds
from tests.minio.keys import Key
from tests.quorum.images_made import Made
from tests.quorum.rig import REPOSITORY, Rig, Service, image_of
from tests.quorum.world import World


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


@pytest.fixture(scope="session")
def new_image(minio_programs: Programs, signature: bytes) -> Made:
    """The new release, as its publisher would make an image of it."""
    return image_of(minio_programs.new.read_bytes(), signature, builds.NEW.tag)


@pytest.fixture(scope="session")
def rig(
    clusters_folder: Path, tmp_path_factory: pytest.TempPathFactory, new_image: Made, key: Key
) -> Iterator[Rig]:
    """A cluster of its own with the operator's account, and a registry that the operator trusts."""
    folder = tmp_path_factory.mktemp("quorum")
    cluster = Cluster(f"quorum-{uuid.uuid4().hex[:8]}", clusters_folder)
    (folder / "registry").mkdir()
    with (
        rights.audited(cluster, PART),
        registries.running(folder / "registry") as registry,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SSL_CERT_FILE", str(folder / "registry" / "ca.crt"))
        registry.put(REPOSITORY, builds.NEW.tag, new_image)
        made = Rig(cluster, registry, folder, key)
        yield made
        made.close()


@pytest.fixture
def operated(rig: Rig) -> Iterator[Rig]:
    """With an operator that runs."""
    rig.start()
    yield rig
    rig.stop()


@pytest.fixture
def store(
    rig: Rig, minio_programs: Programs, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Service]:
    """A namespace with rights, and nothing in it yet."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:30].strip("-")
    programs = {builds.OLD.tag: minio_programs.old, builds.NEW.tag: minio_programs.new}
    made = Service(rig, f"{words}-{uuid.uuid4().hex[:6]}", tmp_path, programs)
    made.grant()
    yield made
    made.close()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(clock, "now", lambda: made.now)
    return made


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two StatefulSets that are one service."""
    made = World("a", "b", replicas=2)
    monkeypatch.setattr(clock, "now", lambda: made.now)
    return made
