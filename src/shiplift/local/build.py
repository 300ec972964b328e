"""Builds the programs from Go module source at the versions that go.mod and go.sum pin."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Collection, Generator
from importlib import resources
from pathlib import Path

from shiplift.local import golang
from shiplift.local.errors import LocalError, NoSpaceError
from shiplift.local.progress import Progress, Say

VERSION = "v1.36.3"
_STAMP = {"gitVersion": VERSION, "gitMajor": "1", "gitMinor": "36"}
_LINKER_FLAGS = "-s -w " + " ".join(
    f"-X k8s.io/component-base/version.{key}={value}" for key, value in _STAMP.items()
)
_MAIN_PACKAGES = (".", "sigs.k8s.io/kwok/cmd/kwok")
_MULTI_CALL = "kubernetes"
_NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_NETWORK = re.compile(
    r"dial tcp|no such host|i/o timeout|connection refused|proxyconnect|TLS handshake|Bad Gateway"
)


def digest() -> str:
    """Changes with anything that changes the programs."""
    content = b"".join((_source() / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    return hashlib.sha256(content + _LINKER_FLAGS.encode()).hexdigest()[:12]


def build(folder: Path, say: Say) -> None:
    """All programs into the folder, which exists and is empty."""
    go = golang.find(say)
    say("looking up what Kubernetes is made of; the first time, its modules are downloaded")
    total = _count_packages(go, say)
    say(f"building Kubernetes {VERSION} and kwok from {total} packages; this takes minutes, once")
    _compile(go, folder, Progress(say, "building Kubernetes", total, "packages"))
    for name in _NAMES:
        (folder / name).symlink_to(_MULTI_CALL)


def _count_packages(go: Path, say: Say) -> int:
    packages, modules = 0, 0
    progress = Progress(say, "downloading", _count_modules(), "modules at most")
    with contextlib.closing(_lines(go, "list", "-deps", *_MAIN_PACKAGES)) as lines:
        for line in lines:
            if line.startswith("go: downloading "):
                modules += 1
                progress.at(modules)
            elif not line.startswith("go: "):
                packages += 1
    return packages


def _count_modules() -> int:
    return len(set(re.findall(r"^(\S+ \S+) h1:", (_source() / "go.sum").read_text(), re.MULTILINE)))


def _compile(go: Path, folder: Path, progress: Progress) -> None:
    options = ["-v", "-trimpath", "-ldflags", _LINKER_FLAGS, "-o", f"{folder}{os.sep}"]
    with contextlib.closing(_lines(go, "build", *options, *_MAIN_PACKAGES)) as lines:
        for done, _ in enumerate(lines, 1):
            progress.at(done)


def _lines(go: Path, *arguments: str) -> Generator[str]:
    """What go writes, line by line; none of its processes is left behind, whatever happens."""
    last: deque[str] = deque(maxlen=20)
    process = subprocess.Popen(
        [go, *arguments],
        cwd=_source(),
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


def _source() -> Path:
    return Path(str(resources.files("shiplift.local"))) / "kubernetes"
