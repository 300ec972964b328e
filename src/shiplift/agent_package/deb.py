"""A Debian package, made without Debian: an `ar` archive of two `tar` archives, as deb(5) describes it."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from importlib import resources

_CONTROL = """\
Package: {name}
Version: {version}
Architecture: all
Maintainer: shiplift <noreply@shiplift.dev>
Installed-Size: {size}
Depends: python3 (>= 3.11)
Section: admin
Priority: optional
Homepage: https://shiplift.dev
Description: changes the software of a Kubernetes node, on order
 The agent of a machine that is a node, or will be one: it brings packages to the
 versions that shiplift asks for, runs kubeadm, copies etcd's data and restarts
 the machine, one order at a time, and says on its Node what came of it.
"""
_SCRIPTS = ("postinst", "prerm", "postrm")
_UNIT = "shiplift-agent.service"
Files = dict[str, tuple[bytes, int]]
"""What an archive holds, by path, each with its mode."""


def version(text: str) -> str:
    """What comes before a release (`1.0rc1`) sorts before it in Debian, too."""
    return re.sub(r"\.?(a|b|rc|dev)(?=\d)", r"~\1", text)


def content(name: str, of_version: str, program: bytes) -> bytes:
    """The package with that program in it."""
    files: Files = {
        f"usr/bin/{name}": (program, 0o755),
        f"usr/lib/systemd/system/{_UNIT}": (_file(_UNIT), 0o644),
        f"usr/share/doc/{name}/copyright": (_file("copyright"), 0o644),
    }
    size = sum(len(text) for text, _ in files.values()) // 1024 + 1
    control: Files = {
        "control": (_CONTROL.format(name=name, version=version(of_version), size=size).encode(), 0o644),
        "md5sums": (_sums(files), 0o644),
        **{script: (_file(script), 0o755) for script in _SCRIPTS},
    }
    return _ar({"debian-binary": b"2.0\n", "control.tar.gz": _tar(control), "data.tar.gz": _tar(files)})


def _file(name: str) -> bytes:
    return resources.files("shiplift.agent_package").joinpath("files", name).read_bytes()


def _sums(files: Files) -> bytes:
    """What `dpkg --verify` compares with: against accidents, not against anybody."""
    sums = {path: hashlib.md5(text, usedforsecurity=False).hexdigest() for path, (text, _) in files.items()}
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(sums.items())).encode()


def _tar(files: Files) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for folder in sorted(_folders(files)):
            about = _about(folder, 0o755)
            about.type = tarfile.DIRTYPE
            archive.addfile(about)
        for path, (text, mode) in sorted(files.items()):
            about = _about(path, mode)
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text))
    return gzip.compress(written.getvalue(), mtime=0)


def _about(path: str, mode: int) -> tarfile.TarInfo:
    about = tarfile.TarInfo(f"./{path}" if path else "./")
    about.mode, about.mtime, about.uname, about.gname = mode, 0, "root", "root"
    return about


def _folders(files: Files) -> set[str]:
    parts = [path.split("/")[:-1] for path in files]
    return {"/".join(part[:depth]) for part in parts for depth in range(len(part) + 1)}


def _ar(members: dict[str, bytes]) -> bytes:
    archive = b"!<arch>\n"
    for name, text in members.items():
        archive += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(text):<10}`\n".encode()
        archive += text + b"\n" * (len(text) % 2)
    return archive
