"""buildah without installing it: in a root file system of its own, kept in the cache. Images are built in a
chroot there, in a storage that goes with the test."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from shiplift.local import cache, paths, platforms
from tests import debian

_PACKAGES = ("python3", "python3-pip", "ca-certificates", "buildah")
_OPTIONS = (
    *("--mode=root", "--variant=minbase", "--format=directory"),
    '--aptopt=Apt::Install-Recommends "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")),
)
_SUITE = "bookworm"
_MARKER = "usr/lib/python3.11/EXTERNALLY-MANAGED"
"""By which Debian keeps pip from its own Python: in an image nobody else installs anything."""
_ENTER = """
root=$1 work=$2 context=$3; shift 3
mount --bind "$root" "$root"
for one in proc sys dev etc/ssl/certs etc/resolv.conf etc/hosts; do mount --rbind "/$one" "$root/$one"; done
mount --bind "$work" "$root/mnt" && mount --bind "$context" "$root/srv"
cd "$root" && pivot_root . opt && umount -l /opt && exec buildah "$@"
"""
"""It wants a root that is mounted, which that of a chroot is not."""


class Engine:
    """Builds images, below a folder that is its own."""

    def __init__(self, folder: Path, context: Path) -> None:
        self._root, self._folder, self._context = _python_and_engine(), folder, context
        policy = {"default": [{"type": "insecureAcceptAnything"}]}
        (folder / "policy.json").write_text(json.dumps(policy))

    def python(self) -> str:
        """An image of Debian with Python and pip: the one that it runs in itself."""
        packed = self._folder / "python.tar"
        subprocess.run(["tar", "-C", self._root, "-cf", packed, "."], check=True)
        return self.base("python", packed)

    def base(self, name: str, archive: Path) -> str:
        """An image of what is in an archive of that folder, for builds to begin with."""
        container = self._run("from", "scratch")
        self._run("add", "--quiet", container, f"/mnt/{archive.relative_to(self._folder)}", "/")
        self._run("commit", "--quiet", *_CHECKED, container, f"localhost/{name}")
        self._run("rm", container)
        return f"localhost/{name}"

    def built(self, name: str, **arguments: str) -> Path:
        """The archive of the image that the Containerfile of the context makes."""
        given = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
        alone = ("--isolation", "chroot", "--pull-never", "--volume=/etc/ssl/certs:/etc/ssl/certs:ro")
        self._run("build", "--quiet", *alone, *_CHECKED, *given, "--tag", "localhost/built", "/srv")
        self._run("push", "--quiet", *_CHECKED, "localhost/built", f"oci-archive:/mnt/{name}")
        return self._folder / name

    def _run(self, *words: str) -> str:
        inside = ["unshare", "--mount", "--propagation=private", "sh", "-euc", _ENTER, "sh"]
        store = ("--root", "/mnt/store", "--runroot", "/mnt/run", "--storage-driver", "vfs")
        command = [*inside, self._root, self._folder, self._context, *store, *words]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/mnt", "HOME": "/mnt"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"buildah {words[0]} failed: {done.stderr.strip()[-1500:]}")
        return done.stdout.strip()


_CHECKED = ("--signature-policy", "/mnt/policy.json")


def _python_and_engine() -> Path:
    """Made in a minute or two where it is not in the cache."""
    folder = paths.cache_root() / f"engine-{_SUITE}-{platforms.machine()}"
    return cache.filled(folder, "Debian with buildah", _bootstrap, print) / "root"


def _bootstrap(empty: Path) -> Path:
    made = empty / "made"
    made.mkdir()
    program = debian.program("mmdebstrap", "usr/bin/mmdebstrap")
    include = f"--include={','.join(_PACKAGES)}"
    subprocess.run(
        [program, *_OPTIONS, include, _SUITE, made / "root"],
        check=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "PATH": f"{program.parent}:{os.environ['PATH']}"},
    )
    (made / "root" / _MARKER).unlink()
    for name in ("etc/resolv.conf", "etc/hosts"):
        (made / "root" / name).touch()
    return made
