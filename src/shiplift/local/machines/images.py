"""The container images of a version of Kubernetes, with the names that its own kubeadm asks for.

They are kept as the registry keeps them on its disk (distribution's layout), so that nothing is pushed.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from shiplift.local import cache, paths, platforms
from shiplift.local.errors import LocalError
from shiplift.local.machines import dns, programs, root
from shiplift.local.progress import Say

_REGISTRY = "registry.k8s.io/"
_LAYOUT = 1
_BIN = "usr/local/bin"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
# the packages that kube-proxy's iptables is made of
_FIREWALL = (
    *("iptables", "libxtables12", "libmnl0", "libnftnl11", "libip4tc2", "libip6tc2"),
    *("libnetfilter-conntrack3", "libnfnetlink0", "libc6"),
)
_FIREWALL_NAMES = tuple(
    f"{kind}{suffix}" for kind in ("iptables", "ip6tables") for suffix in ("", "-save", "-restore")
)


class Blob(msgspec.Struct, frozen=True):
    """A part of an image, by its digest."""

    media_type: str = msgspec.field(name="mediaType")
    digest: str
    size: int


class Store:
    """A folder in the registry's own layout."""

    def __init__(self, folder: Path) -> None:
        self._top = folder / "docker/registry/v2"

    def add_blob(self, content: Path | bytes, media_type: str) -> Blob:
        """A file is moved, not copied."""
        data = content.read_bytes() if isinstance(content, Path) else content
        digest = hashlib.sha256(data).hexdigest()
        target = self._top / "blobs/sha256" / digest[:2] / digest / "data"
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            content.rename(target)
        else:
            target.write_bytes(content)
        return Blob(media_type, f"sha256:{digest}", len(data))

    def add_image(self, name: str, tag: str, layers: list[Blob], program: str) -> None:
        config = self.add_blob(_config(layers, program), _CONFIG)
        manifest = self.add_blob(_manifest(config, layers), _MANIFEST)
        repository = self._top / "repositories" / name
        for blob in (config, *layers):
            self._link(repository / "_layers", blob)
        self._link(repository / "_manifests/revisions", manifest)
        _write(repository / "_manifests/tags" / tag / "current/link", manifest.digest)
        self._link(repository / "_manifests/tags" / tag / "index", manifest)

    def _link(self, folder: Path, blob: Blob) -> None:
        _write(folder / blob.digest.replace(":", "/") / "link", blob.digest)


def find(version: str, say: Say) -> Path:
    """The folder of the images of that version."""
    return cache.filled(
        folder_of(version), f"images of {version}", lambda empty: _make(version, empty, say), say
    )


def folder_of(version: str) -> Path:
    parts = (programs.folder_of(version), root.folder(), dns.folder_of())
    made_of = " ".join([*(part.name for part in parts), str(_LAYOUT)])
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    return paths.cache_root() / "machines" / f"images-{version}-{platforms.machine()}-{digest}"


def wanted(version: str, kubeadm: Path) -> list[tuple[str, str]]:
    """Name and tag of each image that the version's own kubeadm asks for."""
    command = [kubeadm, "config", "images", "list", f"--kubernetes-version={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LocalError(
            f"kubeadm {version} does not say its images: {done.stderr[-200:]}", "is its build whole?"
        )
    lines = [line.removeprefix(_REGISTRY) for line in done.stdout.split()]
    return [(name, tag) for name, _, tag in (line.partition(":") for line in lines)]


def _make(version: str, empty: Path, say: Say) -> Path:
    folder = programs.find(version, say)
    say(f"making the images of Kubernetes {version}")
    store = Store(empty / "images")
    shared = store.add_blob(_pack(empty, _programs(folder)), _LAYER)
    firewall = store.add_blob(_pack(empty, _firewall(root.find(say))), _LAYER)
    pause = store.add_blob(_pack(empty, [_File("pause", folder / programs.PAUSE)]), _LAYER)
    names = store.add_blob(_pack(empty, [_File(dns.PROGRAM, dns.find(say))]), _LAYER)
    content = {"kube-proxy": [firewall, shared], programs.PAUSE: [pause], dns.IMAGE: [names]}
    started = {programs.PAUSE: f"/{programs.PAUSE}", dns.IMAGE: f"/{dns.PROGRAM}"}
    for name, tag in {*wanted(version, folder / "kubeadm"), (programs.PAUSE, root.SANDBOX)}:
        store.add_image(name, tag, content.get(name, [shared]), started.get(name, f"/{_BIN}/{name}"))
    return empty / "images"


class _File(msgspec.Struct, frozen=True):
    """A file of a layer, or a link where `link` says to what."""

    name: str
    source: Path | None = None
    link: str = ""


def _programs(folder: Path) -> list[_File]:
    links = [_File(f"{_BIN}/{name}", link=programs.BINARY) for name in programs.NAMES]
    return [_File(f"{_BIN}/{programs.BINARY}", folder / programs.BINARY), *links]


def _firewall(base: Path) -> list[_File]:
    links = [_File(f"usr/sbin/{name}", link="xtables-nft-multi") for name in _FIREWALL_NAMES]
    return [*_files_of(base, _FIREWALL), *links]


def _files_of(base: Path, packages: Iterable[str]) -> list[_File]:
    """What Debian packages of the root have installed, but for what only people read."""
    found: dict[str, _File] = {}
    for package in packages:
        (listed,) = [
            path
            for path in (base / "var/lib/dpkg/info").glob(f"{package}*.list")
            if path.stem.partition(":")[0] == package
        ]
        for line in listed.read_text().splitlines():
            name, path = line.lstrip("/"), base / line.lstrip("/")
            if name.startswith(("usr/share", "etc", "var")) or (path.is_dir() and not path.is_symlink()):
                continue
            if path.is_symlink():
                found[name] = _File(name, link=os.readlink(path))
            elif path.exists():
                found[name] = _File(name, path)
    return list(found.values())


def _pack(empty: Path, files: Iterable[_File]) -> Path:
    """Not compressed: it stays on this computer, and machines unpack it in half the time."""
    target = empty / "layer.tar"
    with tarfile.open(target, "w") as archive:
        for file in files:
            entry = tarfile.TarInfo(file.name)
            entry.mode = 0o755
            if file.source is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.link
                archive.addfile(entry)
                continue
            entry.size = file.source.stat().st_size
            with file.source.open("rb") as content:
                archive.addfile(entry, content)
        _add_folder(archive, "tmp", 0o1777)
        _add_folder(archive, "run", 0o755)
    return target


def _add_folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    archive.addfile(entry, io.BytesIO())


def _config(layers: list[Blob], program: str) -> bytes:
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    content = {
        "architecture": platforms.machine(),
        "os": "linux",
        "config": {"Env": [path], "Entrypoint": [program]},
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
    }
    return msgspec.json.encode(content)


def _manifest(config: Blob, layers: list[Blob]) -> bytes:
    content = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": layers}
    return msgspec.json.encode(content)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
