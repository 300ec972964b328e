"""shiplift of two ages: this checkout, and the code from before it could move itself; each with its image in
the machines' registry, its chart and its manifests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from shiplift.local.machines import Machines
from shiplift.local.operator_image import checkout
from tests.quorum.images_made import Made, lay_down

REPOSITORY, HOST = "shiplift", "registry.example"
BEFORE = "e8f599d"
"""The last commit before the operator knew its own pods."""
LAYERS = ("workloads", "nodes")


class Release(NamedTuple):
    """One of the two."""

    tag: str
    top: Path
    """Its source."""

    @property
    def image(self) -> str:
        return f"{HOST}/{REPOSITORY}:{self.tag}"

    @property
    def chart(self) -> Path:
        return self.top / "charts/shiplift"

    def values(self) -> list[str]:
        """For helm."""
        layers = ",".join(LAYERS)
        said = (f"layers={{{layers}}}", f"image.repository={HOST}/{REPOSITORY}", f"image.tag={self.tag}")
        return [word for one in said for word in ("--set", one)]

    def manifests(self) -> bytes:
        """All that kubectl applies."""
        inside = ("--in-cluster", "--image", self.image, "--kubernetes", "1.36")
        words = (("crds",), ("manifests", "--layers", ",".join(LAYERS), *inside))
        return b"\n---\n".join(self.said(*one) for one in words)

    def said(self, *words: str) -> bytes:
        """What its command prints."""
        return self._python("-c", "from shiplift.cli import main; main()", *words)

    def publish(self, made: Machines) -> None:
        """Its image, where every machine looks for images."""
        archive = self._python("-m", "shiplift.local.operator_image").decode().split()[-1]
        lay_down(_whole(Path(archive)), made.published / "registry", REPOSITORY, self.tag)

    def _python(self, *words: str) -> bytes:
        environment = {**os.environ, "PYTHONPATH": str(self.top / "src")}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.top, env=environment, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"shiplift of {self.tag}: {done.stderr.decode()[-500:]}")
        return done.stdout


def this() -> Release:
    return Release("this", checkout())


def before(folder: Path) -> Release | None:
    """None where the history does not go back so far."""
    top = folder / "before"
    top.mkdir()
    packed = subprocess.run(["git", "-C", checkout(), "archive", BEFORE], capture_output=True, check=False)
    if packed.returncode:
        return None
    subprocess.run(["tar", "-x", "-C", top], input=packed.stdout, check=True)
    return Release("before", top)


def _whole(archive: Path) -> Made:
    """An image out of its archive."""
    with tarfile.open(archive) as opened:
        found = {one.name: opened.extractfile(one) for one in opened.getmembers() if one.isfile()}
        files = {name.removeprefix("./"): file.read() for name, file in found.items() if file is not None}
    [listed] = json.loads(files["index.json"])["manifests"]
    blobs = {
        f"sha256:{name.rpartition('/')[2]}": content
        for name, content in files.items()
        if name.startswith("blobs/sha256/")
    }
    manifest = blobs.pop(listed["digest"])
    return Made(blobs, manifest)
