"""What is refused: a reason in a condition and an Event, before anything is written on a StatefulSet."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.kube import grants
from shiplift.kube.manifests import kind_of
from tests.minio import builds
from tests.minio.keys import Key
from tests.quorum.conftest import Programs
from tests.quorum.images_made import Entry, Made, image, layer
from tests.quorum.rig import NEW, OLD, Rig, Service, image_of, served
from tests.until import until

Json = dict[str, Any]
_OLDER = "RELEASE.2024-12-18T13-15-44Z"


def says(tag: str) -> bytes:
    """A program that says that it is that release, and does nothing else."""
    return f'#!/bin/sh\necho "minio version {tag} (commit-id=x)"\n'.encode()


class Maker:
    """Small images of programs that only say what they are."""

    def __init__(self, rig: Rig, folder: Path) -> None:
        self._rig, self._folder = rig, folder

    def signature(self, program: bytes, key: Key | None = None) -> bytes:
        path = self._folder / hashlib.sha256(program).hexdigest()
        path.write_bytes(program)
        return (key or self._rig.key).sign(path)

    def put(self, tag: str, made: Made) -> str:
        repository = f"small/{uuid.uuid4().hex[:8]}"
        self._rig.registry.put(repository, tag, made)
        return f"{self._rig.registry.host}/{repository}:{tag}"

    def good(self, tag: str = NEW.tag) -> str:
        return self.put(tag, image_of(says(tag), self.signature(says(tag)), tag))

    def unsigned(self) -> str:
        checksum = f"{hashlib.sha256(says(NEW.tag)).hexdigest()}  minio.{NEW.tag}\n".encode()
        entries = [Entry("usr/bin/minio", says(NEW.tag)), Entry("usr/bin/minio.sha256sum", checksum)]
        return self.put(NEW.tag, image(layer(*entries)))

    def tampered(self) -> str:
        return self.put(
            NEW.tag, image_of(says(NEW.tag) + b"# and more\n", self.signature(says(NEW.tag)), NEW.tag)
        )

    def of_another_key(self) -> str:
        return self.put(NEW.tag, image_of(says(NEW.tag), self.signature(says(NEW.tag), Key()), NEW.tag))

    def wrong_checksum(self) -> str:
        return self.put(NEW.tag, image_of(says(NEW.tag), self.signature(says(NEW.tag)), NEW.tag, "0" * 64))

    def broken(self) -> str:
        program = b"#!/bin/sh\nexit 1\n"
        return self.put(NEW.tag, image_of(program, self.signature(program), NEW.tag))

    def of_another_version(self) -> str:
        return self.put(NEW.tag, image_of(says(_OLDER), self.signature(says(_OLDER)), NEW.tag))


@pytest.fixture(scope="module")
def maker(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(rig, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def shared(rig: Rig, minio_programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Servers that nobody swaps: all is refused."""
    programs = {OLD.tag: minio_programs.old, NEW.tag: minio_programs.new}

    def prepare(made: Service) -> None:
        made.grant()
        made.make_set()

    with served(
        rig, f"refusing-{uuid.uuid4().hex[:6]}", tmp_path_factory.mktemp("refusing"), programs, prepare
    ) as made:
        yield made


def refused(service: Service, reason: str, *words: str, seconds: float = 90) -> str:
    """It is said why, in the condition and in an Event, and nothing was changed."""
    before = service.live()["metadata"]["generation"]
    message = service.stalled(reason, seconds)
    for word in words:
        assert word in message, message
    until(lambda: any(one == reason and words[0] in note for one, note in service.events()), 30)
    live = service.live()
    assert live["metadata"]["generation"] == before
    assert service.marks() == []
    return message


def gone(service: Service) -> None:
    service.delete()
    until(lambda: not list(service.client.list(QUORUM_SERVICE, service.namespace)), 60)


IMAGES: list[tuple[str, Callable[[Maker], str], Json, str, str]] = [
    ("unsigned", Maker.unsigned, {}, "ImageRefused", "minio.minisig"),
    ("tampered", Maker.tampered, {}, "ImageRefused", "not made with the minisign key"),
    ("of another key", Maker.of_another_key, {}, "ImageRefused", "not signed as it should be"),
    ("wrong checksum", Maker.wrong_checksum, {}, "ImageRefused", "checksum"),
    ("signed and broken", Maker.broken, {}, "ImageRefused", "ended with 1"),
    ("of another version", Maker.of_another_version, {}, "ImageRefused", _OLDER),
    ("older", lambda maker: maker.good(_OLDER), {}, "DowngradeRefused", "allowDowngrade"),
    (
        "below the minimum",
        Maker.good,
        {"minimumVersion": "RELEASE.2026-01-01T00-00-00Z"},
        "BelowMinimum",
        "RELEASE.2026-01-01T00-00-00Z",
    ),
    (
        "from a host that is not allowed",
        Maker.good,
        {"trust": {"registries": ["quay.io"]}},
        "ImageRefused",
        "trust.registries has quay.io",
    ),
    (
        "checked with a key that is none",
        Maker.good,
        {"trust": {"minisignKey": "RW" + "A" * 54}},
        "ImageRefused",
        "minisign key",
    ),
]


@pytest.mark.parametrize(
    ("make", "spec", "reason", "word"), [one[1:] for one in IMAGES], ids=[one[0] for one in IMAGES]
)
def test_an_image_that_must_not_run_is_refused(
    operated: Rig,
    shared: Service,
    maker: Maker,
    make: Callable[[Maker], str],
    spec: Json,
    reason: str,
    word: str,
) -> None:
    shared.make(make(maker), **spec)
    refused(shared, reason, word)
    assert set(shared.versions()) == {OLD.time}
    gone(shared)


def test_a_stateful_set_that_is_not_there_is_named(operated: Rig, shared: Service, maker: Maker) -> None:
    shared.make(maker.good(), statefulSets=["minio", "another"])
    refused(shared, "StatefulSetMissing", "statefulset/another")
    gone(shared)


def test_credentials_that_are_not_there_or_may_not_be_read_are_named(
    operated: Rig, shared: Service, maker: Maker
) -> None:
    shared.make(maker.good(), credentialsSecret="nobodys")
    message = refused(shared, "SecretUnusable", f"{shared.namespace}/nobodys")
    assert f"shiplift manifests --grant {shared.namespace}/nobodys" in message
    gone(shared)


def test_what_an_administrator_has_not_granted_is_named_with_the_command(
    operated: Rig, shared: Service, maker: Maker
) -> None:
    for manifest in grants.quorum(shared.namespace, "shiplift", "shiplift-system"):
        about = manifest["metadata"]
        kind = kind_of(manifest)
        live = shared.client.get(kind, about["name"], shared.namespace)
        shared.client.delete(kind, about["name"], shared.namespace, uid=live["metadata"]["uid"])
    try:
        shared.make(maker.good())
        message = refused(shared, "RightsMissing", "swap quorumservices", "patch statefulsets")
        assert f"shiplift manifests --quorum {shared.namespace} | kubectl apply -f -" in message
    finally:
        for manifest in grants.quorum(shared.namespace, "shiplift", "shiplift-system"):
            shared.client.create(kind_of(manifest), manifest)
    gone(shared)


def test_a_stateful_set_of_somebody_else_is_left_alone(operated: Rig, shared: Service, maker: Maker) -> None:
    mark = {
        "op": "add",
        "path": "/metadata/annotations",
        "value": {"argocd.argoproj.io/tracking-id": "store"},
    }
    shared.patch_set([mark])
    shared.make(maker.good())
    refused(shared, "ManagedElsewhere", "Argo CD")
    shared.patch_set([{"op": "remove", "path": "/metadata/annotations"}])
    gone(shared)


class Gardener:
    """Whoever manages the StatefulSet from elsewhere: it takes back what is not as its manifest says."""

    def __init__(self, service: Service) -> None:
        self._service, self._image = service, service.image()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _run(self) -> None:
        image = {
            "op": "replace",
            "path": "/spec/template/spec/containers/0/image",
            "value": self._image,
        }
        strategy = {"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "RollingUpdate"}}
        while not self._over.wait(0.1):
            if self._service.image() != self._image:
                self._service.patch_set([image, strategy])


def test_a_stateful_set_that_somebody_puts_back_again_and_again_is_left_to_them(
    operated: Rig, store: Service, new_image: Made
) -> None:
    store.make_set()
    store.serve()
    uids = {name: pod["metadata"]["uid"] for name, pod in store.pods().items()}
    with Gardener(store):
        store.make()
        message = store.stalled("ManagedElsewhere", 180)
        assert "somebody puts statefulset/minio back" in message
        until(lambda: store.marks() == [], 60)
        assert store.image() == store.was
        store.stalled("ManagedElsewhere", 60)
    assert {name: pod["metadata"]["uid"] for name, pod in store.pods().items()} == uids
    assert set(store.versions()) == {OLD.time}


def test_two_services_do_not_swap_the_same_stateful_set(operated: Rig, shared: Service, maker: Maker) -> None:
    """The other one has marked it."""
    before = '{"image":"x","strategy":{}}'
    record = f'{{"service":"other","target":"x","image":"x","container":"minio","before":{before}}}'
    mark = {"op": "add", "path": "/metadata/annotations", "value": {"quorum.shiplift.dev/swap": record}}
    shared.patch_set([mark])
    shared.make(maker.good())
    until(lambda: shared.reason() == "SwappedByAnother", 60)
    shared.patch_set([{"op": "remove", "path": "/metadata/annotations"}])
    gone(shared)


def test_pods_that_fetch_through_a_proxy_or_trust_another_key_are_refused_in_place(
    operated: Rig, store: Service, maker: Maker
) -> None:
    store.make_set(HTTPS_PROXY="http://127.0.0.1:1", NO_PROXY="nowhere.example")
    store.serve()
    store.make(maker.good())
    refused(store, "ProxyInTheWay", "NO_PROXY")
    other = Key()
    store.change(trust={"minisignKey": other.public}, image=maker.put(NEW.tag, _signed_by(maker, other)))
    refused(store, "KeyDiffers", "MINIO_UPDATE_MINISIGN_PUBKEY")


def _signed_by(maker: Maker, key: Key) -> Made:
    program = says(NEW.tag)
    return image_of(program, maker.signature(program, key), NEW.tag)


def test_servers_whose_updates_are_switched_off_are_refused(
    operated: Rig, store: Service, maker: Maker
) -> None:
    store.make_set(MINIO_UPDATE="off")
    store.serve()
    store.make(maker.good())
    refused(store, "UpdatesSwitchedOff", "MINIO_UPDATE=off")


def test_servers_with_one_processor_are_refused(operated: Rig, store: Service, maker: Maker) -> None:
    store.make_set(GOMAXPROCS="1")
    store.serve()
    store.make(maker.good())
    refused(store, "OneProcessor", "GOMAXPROCS")


def test_a_server_that_cannot_write_beside_its_binary_is_found_before_anything_is_written(
    operated: Rig, store: Service, maker: Maker
) -> None:
    """Where it would try whether it can write: a folder is nothing to write to, even for root."""
    store.make_set()
    store.serve()
    in_the_way = store.kubelet.program(2).with_name(".minio.check-perm")
    in_the_way.mkdir()
    store.make(maker.good())
    refused(store, "RehearsalFailed", "minio-2: it cannot write beside its binary")
    assert not [one for one in store.kubelet.folder.glob("p*/.minio.new")]


def test_servers_that_cannot_reach_the_operator_are_found_before_anything_is_written(
    operated: Rig, store: Service, maker: Maker
) -> None:
    store.make_set()
    store.serve()
    store.make(maker.good(), servingURL="http://127.0.0.1:1")
    refused(store, "RehearsalFailed", "cannot fetch the binary")


def test_hosts_that_are_not_the_pods_are_refused(operated: Rig, store: Service, maker: Maker) -> None:
    store.make_set()
    store.serve()
    store.patch_set([{"op": "replace", "path": "/spec/replicas", "value": 3}])
    until(lambda: len(store.pods()) == 3, 60)
    store.make(maker.good())
    refused(store, "HostsDiffer", "have 3 pods")


def test_servers_that_know_no_dry_run_are_refused(
    operated: Rig, store: Service, maker: Maker, minio_programs: Programs
) -> None:
    """To them staging would be switching."""
    ancient = msgspec.structs.replace(OLD, time="2024-01-01T16:36:33Z")
    store.set_program(OLD.tag, builds.program(ancient))
    store.make_set()
    store.serve()
    store.make(maker.good())
    refused(store, "CannotStage", "dry run")
