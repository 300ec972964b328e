"""Where packages come from: the machine's own sources, and Kubernetes' for another minor version.

Kubernetes has a package source for each minor version, with the minor in its address (`…/v1.35/…`). Files of
the machine whose names begin with `kubernetes` are such. To see what another minor has, they are copied with
that minor beside all others into a folder of the agent's own; only when packages are installed is the
machine's own file switched, so that whoever looks there later finds what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from shiplift.agent.machine import disk

KUBERNETES = frozenset({"kubelet", "kubeadm", "kubectl"})
_MOST = 1 << 20
_MINOR = re.compile(r"(?<=/)v\d{1,3}\.\d{1,3}(?=[/\s]|$)", re.M)
_VERSION = re.compile(r"(\d{1,3}\.\d{1,3})\.\d")
_ENDINGS = (".list", ".sources")


def minors(desired: Mapping[str, str]) -> list[str]:
    """The minors of Kubernetes that are wanted, as `1.36`."""
    found = [_VERSION.match(version) for name, version in desired.items() if name in KUBERNETES]
    return sorted({match[1] for match in found if match})


def switched(text: str, minor: str) -> str:
    """The same sources, for another minor."""
    return _MINOR.sub(f"v{minor}", text)


def copy(etc: Path, to: Path, wanted: Iterable[str]) -> None:
    """All sources of the machine, and Kubernetes' for the minors that are wanted; what was there goes."""
    parts = to / "sources.list.d"
    parts.mkdir(parents=True, exist_ok=True)
    for old in parts.iterdir():
        old.unlink()
    disk.write(to / "sources.list", disk.read(etc / "sources.list", _MOST) or b"")
    minors_wanted = list(wanted)
    for path in _parts(etc):
        text = _text(path)
        disk.write(parts / path.name, _bytes(text))
        for minor in minors_wanted if _is_kubernetes(path) else ():
            if (other := switched(text, minor)) != text:
                disk.write(parts / f"{path.stem}-{minor}{path.suffix}", _bytes(other))


def switch(etc: Path, minor: str) -> None:
    """The machine's own sources of Kubernetes, to that minor."""
    for path in filter(_is_kubernetes, _parts(etc)):
        text = _text(path)
        if (other := switched(text, minor)) != text:
            disk.write(path, _bytes(other), path.stat().st_mode & 0o777)


def _parts(etc: Path) -> list[Path]:
    return sorted(path for path in (etc / "sources.list.d").glob("*") if path.suffix in _ENDINGS)


def _is_kubernetes(path: Path) -> bool:
    return path.name.startswith("kubernetes")


def _text(path: Path) -> str:
    return (disk.read(path, _MOST) or b"").decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
