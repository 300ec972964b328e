"""Builds the programs from Go module source at the versions that go.mod and go.sum pin."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Collection, Generator, Iterator
from importlib import resources
from pathlib import Path

import msgspec

from shiplift.local import golang
from shiplift.local.errors import LocalError, NoSpaceError
from shiplift.local.progress import Progress, Say

VERSION = "v1.36.3"
_NETWORK = re.compile(
    r"dial tcp|no such host|i/o timeout|connection refused|proxyconnect|TLS handshake|Bad Gateway"
)


class Recipe(msgspec.Struct, frozen=True):
    """What is built: of which Kubernetes, by which Go module, and what the programs are called."""

    version: str
    module: Path
    main_packages: tuple[str, ...]
    binary: str
    names: tuple[str, ...]
    module_file: str = "go.mod"
    title: str = "Kubernetes"

    @property
    def sums(self) -> Path:
        return (self.module / self.module_file).with_suffix(".sum")

    def sources(self) -> Iterator[Path]:
        yield from (self.module / self.module_file, self.sums)
        yield from sorted(self.module.rglob("*.go"))

    def linker_flags(self) -> str:
        """The version is stamped: programs compare theirs with those of others."""
        major, minor, _ = self.version.removeprefix("v").split(".")
        stamp = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        values = (f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items())
        return " ".join(["-s -w", *values])

    def digest(self) -> str:
        """Changes with anything that changes the programs."""
        content = b"".join(path.read_bytes() for path in self.sources())
        return hashlib.sha256(content + self.linker_flags().encode()).hexdigest()[:12]


def module(name: str) -> Path:
    """The folder of a Go module of ours, by its path in `shiplift.local`."""
    return Path(str(resources.files("shiplift.local"))) / name


CLUSTER = Recipe(
    VERSION,
    module("kubernetes"),
    (".", "sigs.k8s.io/kwok/cmd/kwok"),
    "kubernetes",
    ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
)


def build(recipe: Recipe, folder: Path, say: Say) -> None:
    """All programs into the folder, which exists and is empty."""
    go = golang.find(say)
    say(f"looking up what {recipe.title} is made of; the first time, its modules are downloaded")
    total = _count_packages(recipe, go, say)
    say(f"building {recipe.title} {recipe.version} from {total} packages; this takes minutes, once")
    _compile(recipe, go, folder, Progress(say, f"building {recipe.title}", total, "packages"))
    for name in recipe.names:
        (folder / name).symlink_to(recipe.binary)


def _count_packages(recipe: Recipe, go: Path, say: Say) -> int:
    packages, modules = 0, 0
    progress = Progress(say, "downloading", _count_modules(recipe), "modules at most")
    with contextlib.closing(_lines(recipe, go, "list", "-deps", *recipe.main_packages)) as lines:
        for line in lines:
            if line.startswith("go: downloading "):
                modules += 1
                progress.at(modules)
            elif not line.startswith("go: "):
                packages += 1
    return packages


def _count_modules(recipe: Recipe) -> int:
    return len(set(re.findall(r"^(\S+ \S+) h1:", recipe.sums.read_text(), re.MULTILINE)))


def _compile(recipe: Recipe, go: Path, folder: Path, progress: Progress) -> None:
    options = ["-v", "-trimpath", "-ldflags", recipe.linker_flags(), "-o", f"{folder}{os.sep}"]
    with contextlib.closing(_lines(recipe, go, "build", *options, *recipe.main_packages)) as lines:
        for done, _ in enumerate(lines, 1):
            progress.at(done)


def _lines(recipe: Recipe, go: Path, verb: str, *arguments: str) -> Generator[str]:
    """What go writes, line by line; none of its processes is left behind, whatever happens."""
    last: deque[str] = deque(maxlen=20)
    process = subprocess.Popen(
        [go, verb, f"-modfile={recipe.module / recipe.module_file}", *arguments],
        cwd=recipe.module,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            for line in process.stdout or ():
                last.append(line.strip())
                yield line
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise _why(last)


def _why(last: Collection[str]) -> LocalError:
    text = "\n".join(last)
    if "no space left on device" in text:
        return NoSpaceError("the Go build (it needs 5 GB)")
    if _NETWORK.search(text):
        return LocalError(
            "the Go modules of Kubernetes cannot be downloaded",
            "is there a network, or a GOPROXY to use? else set KUBEBUILDER_ASSETS to a folder of programs",
        )
    return LocalError(f"go failed: {text[-300:]}", "run go version: 1.26 or newer is needed")


def _environment() -> dict[str, str]:
    """The user's proxies and caches, but not flags that would change what is built."""
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    return {"HOME": str(Path.home()), **os.environ, **fixed}
