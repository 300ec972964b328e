"""A canary leaves nothing in a bucket, whoever was killed before it, and however the bucket keeps objects."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from shiplift.quorum.engines.minio import canary
from shiplift.quorum.engines.minio.canary import Query
from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.wire import BrokenOff, Got

SERVERS = tuple(Server(f"minio-{at}", f"10.0.0.{at}", 9000, f"minio-{at}.minio") for at in range(2))


class Version(msgspec.Struct):
    """Of an object; a mark that it is deleted has no content."""

    name: str
    content: bytes | None


class Storage:
    """Buckets by name; an object is a list of versions, the newest last."""

    def __init__(self, *, keeps_versions: bool = False) -> None:
        self.objects: dict[str, list[Version]] = {}
        self.buckets = {"named"}
        self.dies_at: str = ""
        self._keeps_versions, self._count = keeps_versions, 0

    def send(self, server: Server, method: str, path: str, body: bytes, query: Query) -> Got:
        del server
        if method == self.dies_at:
            raise BrokenOff("killed")
        bucket, _, name = path[1:].partition("/")
        if not name:
            return self._bucket(method, bucket)
        versions = self.objects.setdefault(path, [])
        try:
            return getattr(self, f"_{method.lower()}")(versions, body, dict(query))
        finally:
            self.objects = {key: kept for key, kept in self.objects.items() if kept}

    def _bucket(self, method: str, name: str) -> Got:
        if method == "PUT":
            self.buckets.add(name)
            return Got(200, {}, b"")
        if any(path.startswith(f"/{name}/") for path in self.objects):
            return Got(409, {}, b"")
        self.buckets.discard(name)
        return Got(204, {}, b"")

    def _put(self, versions: list[Version], body: bytes, query: Mapping[str, str]) -> Got:
        assert not query
        if not self._keeps_versions:
            versions.clear()
        self._count += 1
        versions.append(Version(f"v{self._count}", body))
        return self._said(200, versions[-1])

    def _get(self, versions: list[Version], body: bytes, query: Mapping[str, str]) -> Got:
        if not versions or versions[-1].content is None:
            return Got(404, {}, b"")
        return msgspec.structs.replace(self._said(200, versions[-1]), body=versions[-1].content)

    def _delete(self, versions: list[Version], body: bytes, query: Mapping[str, str]) -> Got:
        if "versionId" in query:
            versions[:] = [one for one in versions if one.name != query["versionId"]]
        elif self._keeps_versions:
            versions.append(Version("mark", None))
        else:
            versions.clear()
        return Got(204, {}, b"")

    def _said(self, status: int, version: Version) -> Got:
        return Got(status, {"x-amz-version-id": version.name} if self._keeps_versions else {}, b"")


def sings(storage: Storage, bucket: str | None) -> list[bool]:
    return [one.sings for one in canary.through(storage.send, SERVERS, bucket)]


@pytest.mark.parametrize("keeps_versions", [False, True])
def test_nothing_is_left_in_a_bucket_that_was_named(keeps_versions: bool) -> None:
    storage = Storage(keeps_versions=keeps_versions)
    assert sings(storage, "named") == [True, True]
    assert storage.objects == {}
    assert storage.buckets == {"named"}


@pytest.mark.parametrize("keeps_versions", [False, True])
@pytest.mark.parametrize("bucket", ["named", None])
def test_what_somebody_left_who_was_killed_goes_with_the_next(
    bucket: str | None, keeps_versions: bool
) -> None:
    storage = Storage(keeps_versions=keeps_versions)
    storage.dies_at = "DELETE"
    assert sings(storage, bucket) == [False, False]
    assert storage.objects
    storage.dies_at = ""
    assert sings(storage, bucket) == [True, True]
    assert storage.objects == {}
    assert storage.buckets == {"named"}


def test_what_was_left_does_not_count_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage()
    storage.dies_at = "DELETE"
    sings(storage, "named")
    kept = dict(storage.objects)
    storage.dies_at = ""
    monkeypatch.setattr(storage, "_put", lambda versions, *_: versions.extend(kept["/named/x"]) or OK)  # pyright: ignore[reportUnknownLambdaType]
    kept["/named/x"] = [Version("old", b"of another time")]
    assert sings(storage, "named") == [False, False]


OK = Got(200, {}, b"")
