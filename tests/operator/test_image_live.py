"""The operator's image: small, without a shell, and run as nobody where nothing can be written."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import ssl
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import shiplift
from shiplift.kube.account import Account, ask_token
from shiplift.kube.credentials import load
from shiplift.kube.manifests import kind_of
from shiplift.local import operator_image, platforms
from shiplift.local.cluster import Cluster
from shiplift.local.ports import free_ports
from shiplift.operator import inside, install
from shiplift.operator.inside import Inside
from shiplift.operator.layers import chosen
from tests.until import until

SPACE = "shiplift-system"
MOST_BYTES = 120 << 20
_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
SHELLS = {"sh", "bash", "dash", "busybox", "ash", "zsh", "perl"}
_JAIL = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --rbind /proc "$1/proc"'
_INTO_IT = 'exec chroot --userspec=65532:65532 "$@"'


class Image:
    """The archive, unpacked as a runtime does."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.size = archive.stat().st_size
        with tarfile.open(archive) as opened:
            opened.extractall(folder / "layout", filter="data")
        self._blobs = folder / "layout/blobs"
        [listed] = self._json(folder / "layout/index.json")["manifests"]
        manifest = self._json(self._blob(listed["digest"]))
        self.config = self._json(self._blob(manifest["config"]["digest"]))
        self.root = folder / "root"
        self.layers = [self._blob(layer["digest"]) for layer in manifest["layers"]]
        for layer in self.layers:
            with tarfile.open(layer) as opened:
                opened.extractall(self.root, filter="tar")

    def command(self, *words: str) -> list[str]:
        """As a runtime starts it: as its user, in a root where nothing can be written."""
        run = self.config["config"]
        jailed = ["unshare", "--mount", "--propagation=private", "sh", "-c", f"{_JAIL} && {_INTO_IT}", "sh"]
        return [*jailed, str(self.root), *run["Entrypoint"], *words]

    @property
    def environment(self) -> dict[str, str]:
        return dict(one.split("=", 1) for one in self.config["config"]["Env"])

    def _blob(self, digest: str) -> Path:
        return self._blobs / digest.replace(":", "/")

    @staticmethod
    def _json(path: Path) -> Any:
        return json.loads(path.read_bytes())


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, programs: object) -> Image:
    """Made where it is not in the cache; like a cluster, no part of the quick tests."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip("the image is made of Debian packages, and this is no Debian")
    return Image(operator_image.find(print), tmp_path_factory.mktemp("image"))


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the image without an engine")


def test_it_is_small_and_there_is_no_shell_in_it(image: Image) -> None:
    assert image.size < MOST_BYTES
    programs = {path.name for path in image.root.rglob("*") if path.parent.name in ("bin", "sbin")}
    assert not programs & SHELLS
    assert not [
        path for path in image.root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6000
    ]


def test_it_runs_as_nobody_in_particular(image: Image) -> None:
    assert image.config["config"]["User"] == "65532:65532"
    assert (image.config["os"], image.config["architecture"]) == ("linux", platforms.machine())


@needs_root
def test_the_command_in_it_is_this_one(image: Image) -> None:
    done = subprocess.run(
        image.command("version"), env=image.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shiplift.__version__ in done.stdout


# --- on a real server ---


@contextmanager
def started(image: Image, cluster: Cluster, port: int, log: Path) -> Iterator[None]:
    """With what a kubelet puts into the pod: the account's token, the authority, where the server is."""
    admin = load(cluster.kubeconfig)
    folder = image.root / _ACCOUNT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "token").write_text(ask_token(admin, Account(SPACE, install.ACCOUNT)).token)
    (folder / "ca.crt").write_bytes((cluster.layout.pki / "ca.crt").read_bytes())
    (folder / "namespace").write_text(SPACE)
    where = {
        "KUBERNETES_SERVICE_HOST": admin.server.host,
        "KUBERNETES_SERVICE_PORT": str(admin.server.port),
    }
    words = inside.arguments(SPACE, ["nodes"])
    words[words.index("--listen") + 1] = f"127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            image.command(*words),
            env=image.environment | where,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def answer(port: int, path: str, token: str = "") -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        got = connection.getresponse()
        return got.status, got.read().decode()
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()


@needs_root
def test_the_operator_in_it_leads_and_acts_with_the_rights_that_are_printed(
    image: Image, private_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    from shiplift.api import crd

    cluster = private_cluster()
    parts = chosen(["nodes"])
    with cluster.client() as client:
        printed = inside.manifests(SPACE, parts, Inside(image="registry.example/shiplift:1"))
        for one in [*crd.manifests(), *printed]:
            client.create(kind_of(one), one)
    [port] = free_ports(1)
    log = tmp_path / "log"
    with started(image, cluster, port, log):
        until(lambda: answer(port, "/readyz") == (200, "ok\n"), 120)
        until(lambda: '"event": "leading"' in log.read_text(), 120)
        assert answer(port, "/metrics")[0] == 401
        own = ask_token(load(cluster.kubeconfig), Account(SPACE, install.ACCOUNT)).token
        assert answer(port, "/metrics", own)[0] == 403
