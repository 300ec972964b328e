"""The official programs, each compared with the checksum that its project publishes beside it.

Only for Linux: the projects publish no control plane for other systems.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import tarfile
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

import msgspec

from shiplift.local import platforms
from shiplift.local.errors import LocalError
from shiplift.local.progress import Progress, Say

KUBERNETES, ETCD, KWOK = "v1.36.3", "v3.6.8", "v0.8.0"
_FROM_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_CHUNK = 1 << 20
_TIMEOUT = 10.0
_MOST = 500 << 20


class Sources(msgspec.Struct, frozen=True):
    """Where the projects publish."""

    kubernetes: str = "https://dl.k8s.io"
    github: str = "https://github.com"
    github_api: str = "https://api.github.com"


class _Asset(msgspec.Struct):
    name: str
    digest: str | None = None


class _Release(msgspec.Struct):
    assets: list[_Asset]


OFFICIAL = Sources()


def download(folder: Path, say: Say, sources: Sources) -> None:
    """All programs into the folder, which exists and is empty; a LocalError when that cannot be."""
    if platforms.system() != "linux":
        raise LocalError("no official programs for this system", "they are built with Go instead")
    with _network_errors():
        for name in _FROM_KUBERNETES:
            _kubernetes(sources, name, folder, say)
        _etcd(sources, folder, say)
        _kwok(sources, folder, say)


def _kubernetes(sources: Sources, name: str, folder: Path, say: Say) -> None:
    url = f"{sources.kubernetes}/{KUBERNETES}/bin/linux/{platforms.machine()}/{name}"
    checksum = _text(f"{url}.sha256").split()[0]
    _fetch(url, folder / name, checksum, say)


def _etcd(sources: Sources, folder: Path, say: Say) -> None:
    name = f"etcd-{ETCD}-linux-{platforms.machine()}"
    base = f"{sources.github}/etcd-io/etcd/releases/download/{ETCD}"
    archive = folder / "etcd.tar.gz"
    _fetch(f"{base}/{name}.tar.gz", archive, _listed(_text(f"{base}/SHA256SUMS"), f"{name}.tar.gz"), say)
    with tarfile.open(archive) as content, (folder / "etcd").open("wb") as target:
        member = content.extractfile(f"{name}/etcd")
        if member is None:
            raise LocalError(f"{name}.tar.gz holds no etcd", "try again later")
        while chunk := member.read(_CHUNK):
            target.write(chunk)
    archive.unlink()
    (folder / "etcd").chmod(0o755)


def _kwok(sources: Sources, folder: Path, say: Say) -> None:
    """kwok publishes no checksum file; GitHub itself states the digest of each file of a release."""
    name = f"kwok-linux-{platforms.machine()}"
    described = _text(f"{sources.github_api}/repos/kubernetes-sigs/kwok/releases/tags/{KWOK}")
    release = msgspec.json.decode(described, type=_Release)
    digests = {asset.name: asset.digest or "" for asset in release.assets}
    checksum = digests.get(name, "").removeprefix("sha256:")
    url = f"{sources.github}/kubernetes-sigs/kwok/releases/download/{KWOK}/{name}"
    _fetch(url, folder / "kwok", checksum, say)


def _listed(sums: str, name: str) -> str:
    """The checksum of one file in the output of sha256sum."""
    pairs = (line.split() for line in sums.splitlines())
    return next((pair[0] for pair in pairs if len(pair) == 2 and pair[1].lstrip("*") == name), "")


def _fetch(url: str, target: Path, checksum: str, say: Say) -> None:
    """A missing checksum is a wrong one."""
    digest = hashlib.sha256()
    with _open(url) as answer, target.open("wb") as file:
        size = int(answer.headers.get("Content-Length") or 0)
        progress = Progress(say, f"downloading {target.name}", size >> 20, "MB")
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            progress.at(file.tell() >> 20)
            if file.tell() > _MOST:
                raise LocalError(f"{url} is larger than it should be", "try again later")
    if digest.hexdigest() != checksum:
        target.unlink()
        raise LocalError(
            f"{url} does not have its published checksum", "something between here and there changes files"
        )
    target.chmod(0o755)


def _text(url: str) -> str:
    with _open(url) as answer:
        return answer.read(4 << 20).decode()


def _open(url: str) -> http.client.HTTPResponse:
    return urllib.request.urlopen(url, timeout=_TIMEOUT)  # noqa: S310  only our own addresses


@contextlib.contextmanager
def _network_errors() -> Generator[None]:
    try:
        yield
    except (http.client.HTTPException, TimeoutError, urllib.error.URLError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise LocalError(
            f"the official programs cannot be downloaded: {reason}", "is there a network?"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, IndexError, tarfile.TarError) as error:
        raise LocalError("the official programs are not where they should be", "try again later") from error
