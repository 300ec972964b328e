"""The build file itself, built by a real engine on Debian's Python: its image is that which is made here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiplift
from shiplift.local import operator_image, platforms
from tests.operator.engine import Engine
from tests.operator.test_image_live import MOST_BYTES, SHELLS, Image

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can build in a chroot"),
    pytest.mark.skipif(
        not (shutil.which("apt-get") and shutil.which("dpkg-deb")), reason="both bases are made of Debian"
    ),
    pytest.mark.long(seconds=75),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, programs: object) -> Image:
    return Image(operator_image.find(print), tmp_path_factory.mktemp("here"))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, here: Image) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("engine")
    engine = Engine(folder, operator_image.checkout())
    base = shutil.copy(here.layers[0], folder / "base.tar.gz")
    bases = {"BUILD": engine.python(), "BASE": engine.base("base", base)}
    yield Image(engine.built("built.tar", **bases), folder / "image")
    shutil.rmtree(folder, ignore_errors=True)


def files(root: Path) -> set[str]:
    """What there is, but for what installing writes about itself."""
    found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return {
        one for one in found if ".dist-info/" not in one and "__pycache__" not in one and "/bin/" not in one
    }


def test_the_image_of_the_build_file_is_the_one_that_is_made_without(image: Image, here: Image) -> None:
    assert image.config["architecture"] == platforms.machine()
    for key in ("User", "Entrypoint", "WorkingDir"):
        assert image.config["config"].get(key, "/") == here.config["config"].get(key, "/")
    assert here.environment.items() <= image.environment.items()
    assert files(image.root) == files(here.root)


def test_it_is_small_has_no_shell_and_runs_as_nobody_where_nothing_can_be_written(image: Image) -> None:
    assert sum(path.stat().st_size for path in image.layers) < MOST_BYTES
    assert not {path.name for path in image.root.rglob("*") if path.parent.name in ("bin", "sbin")} & SHELLS
    done = subprocess.run(
        image.command("version"), env=image.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shiplift.__version__ in done.stdout
