"""The operator's image made on this computer, without a container engine: as an archive in the OCI layout.

The same as `Containerfile` makes: on Debian 12's own Python, with the same packages of the same digests, run
by the same command as the same user. The base is made of Debian packages as they are (nothing is installed,
no script of theirs runs): there is no shell in it. It is kept in the cache, by what it is made of.
"""

from __future__ import annotations

import compileall
import gzip
import hashlib
import io
import os
import platform
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

import shiplift
from shiplift.local import cache, paths, platforms
from shiplift.local.errors import LocalError
from shiplift.local.progress import Say

PYTHON = "3.11"
"""Of Debian 12."""
USER = "65532:65532"
ENTRYPOINT = ("/usr/bin/python3", "-P", "-m", "shiplift")
ENVIRONMENT = {
    "PYTHONPATH": "/app",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
}
PACKAGES = (
    *("libc6", "libgcc-s1", "zlib1g", "libexpat1", "libffi8", "libssl3", "libbz2-1.0", "liblzma5"),
    *("libsqlite3-0", "libuuid1", "libcrypt1", "netbase", "ca-certificates"),
    *(f"libpython{PYTHON}-minimal", f"libpython{PYTHON}-stdlib", f"python{PYTHON}-minimal"),
)
_FILES = {
    "etc/passwd": "root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/:/none\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
_ONLY_READ_BY_PEOPLE = ("usr/share/doc", "usr/share/man", "usr/share/lintian", "usr/share/bug", "usr/sbin")
_PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-deps", "--no-compile")
_WHEELS = {"amd64": "x86_64", "arm64": "aarch64"}
_LAYOUT = 1
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
ARCHIVE = "image.tar"


class Blob(msgspec.Struct, frozen=True):
    """A part of the image, by its digest."""

    media_type: str = msgspec.field(name="mediaType")
    digest: str
    size: int
    annotations: dict[str, str] | None = None


def find(say: Say) -> Path:
    """The archive; made when it is not there, which takes a minute."""
    folder = folder_of()
    cache.filled(folder, "the operator's image", lambda empty: _make(empty, say), say)
    return folder / ARCHIVE


def folder_of() -> Path:
    content = hashlib.sha256(repr((_LAYOUT, PACKAGES, _FILES, ENTRYPOINT, ENVIRONMENT, USER)).encode())
    for path in _sources(checkout()):
        content.update(path.read_bytes())
    return paths.cache_root() / "operator-image" / f"{platforms.machine()}-{content.hexdigest()[:12]}"


def checkout() -> Path:
    """Where the source is that the image is made of."""
    top = Path(shiplift.__file__).parents[2]
    if not (top / "requirements/run.txt").exists():
        raise LocalError("the operator's image is made of a checkout of shiplift", "clone its repository")
    return top


def _sources(top: Path) -> Iterator[Path]:
    yield from (top / name for name in ("pyproject.toml", "README.md", "requirements/run.txt"))
    yield from (path for path in sorted((top / "src").rglob("*")) if path.is_file() and path.suffix != ".pyc")


def _make(empty: Path, say: Say) -> Path:
    say("making the operator's image: Debian packages, wheels, and this checkout")
    base, app, made = empty / "base", empty / "app", empty / "made"
    for folder in (base, app / "app", made):
        folder.mkdir(parents=True)
    _unpack_packages(empty, base)
    _install(empty, app / "app")
    _compile(base, f"usr/lib/python{PYTHON}")
    _compile(app, "app")
    _write_archive(made / ARCHIVE, [_packed(base), _packed(app)])
    return made


def _unpack_packages(empty: Path, base: Path) -> None:
    downloads = empty / "packages"
    downloads.mkdir()
    _run(
        ["apt-get", "-o", "APT::Sandbox::User=root", "download", "-q", *PACKAGES],
        downloads,
        f"the Debian packages of Python {PYTHON} cannot be downloaded",
    )
    for package in sorted(downloads.glob("*.deb")):
        _run(["dpkg-deb", "-x", package, base], downloads, f"{package.name} cannot be unpacked")
    for name in _ONLY_READ_BY_PEOPLE:
        shutil.rmtree(base / name, ignore_errors=True)
    _gather_authorities(base)
    (base / "usr/bin/python3").symlink_to(f"python{PYTHON}")
    (base / "tmp").mkdir(exist_ok=True)
    (base / "tmp").chmod(0o1777)
    for name in ("proc", "var/run/secrets"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (base / name).write_text(text)


def _gather_authorities(base: Path) -> None:
    """What the package's own script would make of its certificates."""
    listed = base / "usr/share/ca-certificates"
    certificates = sorted(listed.rglob("*.crt"))
    target = base / "etc/ssl/certs/ca-certificates.crt"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"".join(one.read_bytes() for one in certificates))
    shutil.rmtree(listed)


def _install(empty: Path, app: Path) -> None:
    """Wheels for Debian's Python, whichever runs here."""
    top, machine = checkout(), _WHEELS[platforms.machine()]
    wanted = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (36, 34, 28, 17)]
    wheels = ["--only-binary=:all:", "--require-hashes", f"--python-version={PYTHON}", "--implementation=cp"]
    options = [*wheels, *wanted, f"--platform=manylinux2014_{machine}", f"--target={app}"]
    requirements = top / "requirements/run.txt"
    python = [sys.executable, *_PIP]
    _run([*python, *options, "-r", requirements], empty, "the image's packages cannot be fetched")
    source = empty / "source"
    shutil.copytree(top / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(top / name, source / name)
    _run([*python, "--no-build-isolation", f"--target={app}", source], empty, "shiplift cannot be packed")
    shutil.rmtree(app / "bin", ignore_errors=True)


def _compile(root: Path, folder: str) -> None:
    """So that nothing has to be compiled, and could not be kept, where nothing can be written."""
    if platform.python_version().startswith(f"{PYTHON}."):
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        where = str(root / folder)
        compileall.compile_dir(
            where, quiet=2, invalidation_mode=mode, stripdir=str(root), prependdir="/", maxlevels=20
        )


def _run(command: list[str | Path], where: Path, failed: str) -> None:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = re.sub(r"\s+", " ", done.stderr)[-300:]
        raise LocalError(f"{failed}: {said}", "on Debian 12 with a network, or use Containerfile")


class _Packed(msgspec.Struct, frozen=True):
    content: bytes
    plain_digest: str


def _packed(folder: Path) -> _Packed:
    """A layer: the same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False, filter=_nobodys)
    content = plain.getvalue()
    return _Packed(gzip.compress(content, 6, mtime=0), _digest(content))


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode &= 0o1777 if entry.mode & 0o1000 else 0o755
    return entry


def _write_archive(target: Path, layers: list[_Packed]) -> None:
    blobs = {_digest(layer.content): layer.content for layer in layers}
    config = msgspec.json.encode(_config(layers))
    listed = [Blob(_LAYER, _digest(layer.content), len(layer.content)) for layer in layers]
    manifest = msgspec.json.encode(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": Blob(_CONFIG, _digest(config), len(config)),
            "layers": listed,
        }
    )
    name = {"org.opencontainers.image.ref.name": f"shiplift:{shiplift.__version__}"}
    index = {"schemaVersion": 2, "manifests": [Blob(_MANIFEST, _digest(manifest), len(manifest), name)]}
    blobs |= {_digest(config): config, _digest(manifest): manifest}
    files = {f"blobs/{digest.replace(':', '/')}": content for digest, content in blobs.items()}
    files |= {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": msgspec.json.encode(index)}
    _write_tar(target, files.items())


def _config(layers: Iterable[_Packed]) -> dict[str, object]:
    return {
        "architecture": platforms.machine(),
        "os": "linux",
        "config": {
            "User": USER,
            "WorkingDir": "/",
            "Env": [f"{name}={value}" for name, value in ENVIRONMENT.items()],
            "Entrypoint": list(ENTRYPOINT),
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.plain_digest for layer in layers]},
    }


def _write_tar(target: Path, files: Iterable[tuple[str, bytes]]) -> None:
    with tarfile.open(target, "w") as archive:
        for name, content in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


if __name__ == "__main__":
    print(find(print))
