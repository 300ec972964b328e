"""The programs are found, downloaded with checksums, or built; and if they cannot be, it is said why."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from shiplift.local import assets, build, download, golang, platforms, progress
from shiplift.local.download import Sources
from shiplift.local.errors import LocalError, NoSpaceError
from tests.until import until

from .leftovers import processes_of

NOWHERE = "http://127.0.0.1:9"
MACHINE = platforms.machine()
linux_only = pytest.mark.skipif(platforms.system() != "linux", reason="official programs are for Linux only")


class Publisher:
    """Publishes small stand-ins at the addresses of the real programs."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        base = f"/{download.KUBERNETES}/bin/linux/{MACHINE}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
            self.publish(f"{base}/{name}", f"#!{name}".encode())
        archive = f"etcd-{download.ETCD}-linux-{MACHINE}"
        releases = f"/etcd-io/etcd/releases/download/{download.ETCD}"
        packed = packed_etcd(archive)
        self.files[f"{releases}/{archive}.tar.gz"] = packed
        self.files[f"{releases}/SHA256SUMS"] = f"{sha256(packed)}  {archive}.tar.gz\n".encode()
        kwok = f"kwok-linux-{MACHINE}"
        self.files[f"/kubernetes-sigs/kwok/releases/download/{download.KWOK}/{kwok}"] = b"#!kwok"
        self.describe_kwok({"name": kwok, "digest": f"sha256:{sha256(b'#!kwok')}"})

    def publish(self, path: str, content: bytes) -> None:
        self.files[path] = content
        self.files[f"{path}.sha256"] = sha256(content).encode()

    def describe_kwok(self, asset: dict[str, str | None]) -> None:
        path = f"/repos/kubernetes-sigs/kwok/releases/tags/{download.KWOK}"
        self.files[path] = msgspec.json.encode({"assets": [asset]})


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def packed_etcd(name: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(f"{name}/etcd")
        entry.size = len(b"#!etcd")
        archive.addfile(entry, io.BytesIO(b"#!etcd"))
    return packed.getvalue()


@pytest.fixture
def publisher(monkeypatch):
    """Downloads go to it, and nowhere else."""
    published = Publisher()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            published.asked[self.path] += 1
            content = published.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        here = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(download, "OFFICIAL", Sources(here, here, here))
        yield published
        server.shutdown()
        thread.join()


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIPLIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """Nothing can be downloaded, and nothing has been."""
    monkeypatch.setattr(download, "OFFICIAL", Sources(NOWHERE, NOWHERE, NOWHERE))
    for key, value in {
        "GOPROXY": NOWHERE,
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOFLAGS": "-modcacherw",
        "GONOSUMDB": "*",
        "PIP_INDEX_URL": NOWHERE,
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(key, value)


@pytest.fixture
def no_go(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(golang, "_USUAL", "")


def quiet(_line: str) -> None:
    """Not looked at here."""


def test_a_full_folder_of_given_programs_is_taken_as_it_is(monkeypatch, empty_cache, tmp_path):
    folder = fill(tmp_path / "given", assets.PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    assert assets.find(quiet) == {name: str(folder / name) for name in assets.PROGRAMS}


def test_what_the_given_folder_lacks_comes_from_the_cache(monkeypatch, empty_cache, tmp_path):
    given = fill(tmp_path / "given", ("etcd", "kube-apiserver", "kubectl"))
    cached = fill(assets.cache_folder(), assets.PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    found = assets.find(quiet)
    assert found["etcd"] == str(given / "etcd")
    assert found["kwok"] == str(cached / "kwok")


def test_a_given_folder_without_programs_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(LocalError, match="no program is there") as refused:
        assets.find(quiet)
    assert "kube-apiserver" in refused.value.hint


def fill(folder: Path, names: tuple[str, ...]) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


@linux_only
def test_the_official_programs_are_downloaded_into_the_cache(publisher, empty_cache):
    found = assets.find(quiet)
    assert {name: Path(path).read_text() for name, path in found.items()} == {
        name: f"#!{name}" for name in assets.PROGRAMS
    }
    asked = publisher.asked.total()
    assert assets.find(quiet) == found
    assert publisher.asked.total() == asked


@linux_only
def test_two_at_once_download_once(publisher, empty_cache):
    threads = [threading.Thread(target=assets.find, args=(quiet,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(publisher.asked.values()) == {1}
    assert [path.name for path in assets.cache_folder().parent.glob("getting-*")] == []


@linux_only
@pytest.mark.parametrize("wrong", ["changed on the way", "no digest published"])
def test_a_program_without_the_right_checksum_is_refused(publisher, tmp_path, wrong):
    if wrong == "no digest published":
        publisher.describe_kwok({"name": f"kwok-linux-{MACHINE}", "digest": None})
    else:
        publisher.files[f"/{download.KUBERNETES}/bin/linux/{MACHINE}/kubectl"] = b"evil"
    with pytest.raises(LocalError, match="published checksum"):
        download.download(tmp_path, quiet, download.OFFICIAL)
    assert not any(path.read_bytes() == b"evil" for path in tmp_path.iterdir())


@linux_only
def test_a_missing_file_is_an_error_that_leads_to_the_build(publisher, tmp_path):
    publisher.files.clear()
    with pytest.raises(LocalError, match="cannot be downloaded: Not Found"):
        download.download(tmp_path, quiet, download.OFFICIAL)


@linux_only
def test_a_full_disk_is_said_and_nothing_is_left_in_the_cache(publisher, small_disk, monkeypatch):
    monkeypatch.setenv("SHIPLIFT_CACHE", str(small_disk))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    publisher.publish(f"/{download.KUBERNETES}/bin/linux/{MACHINE}/kube-apiserver", b"x" * (50 << 20))
    with pytest.raises(NoSpaceError):
        assets.find(quiet)
    assert [path for path in assets.cache_folder().parent.iterdir() if path.is_dir()] == []


def test_an_interrupted_build_leaves_no_process(monkeypatch, tmp_path):
    busy = tmp_path / "go"
    busy.write_text(f"#!/bin/sh\necho one\ntail -f {tmp_path}/go\n")
    busy.chmod(0o755)

    def interrupted(_line: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "_EVERY", -1.0)
    with pytest.raises(KeyboardInterrupt):
        build._compile(
            build.CLUSTER, busy, tmp_path, progress.Progress(interrupted, "building", 5, "packages")
        )
    until(lambda: processes_of(tmp_path) == [])


def test_without_a_network_it_is_said_and_nothing_is_left_in_the_cache(no_network, empty_cache):
    if not golang.installed():
        pytest.skip("no Go here")
    said: list[str] = []
    with pytest.raises(LocalError, match="modules of Kubernetes cannot be downloaded") as refused:
        assets.find(said.append)
    assert "network" in refused.value.hint
    assert any("cannot be downloaded" in line for line in said)
    assert [path for path in assets.cache_folder().parent.iterdir() if path.is_dir()] == []


def test_without_go_and_without_a_network_it_is_said_where_to_get_go(no_network, no_go, empty_cache):
    with pytest.raises(LocalError, match=r"no Go 1\.26 or newer") as refused:
        assets.find(quiet)
    assert "KUBEBUILDER_ASSETS" in refused.value.hint
    assert [path.name for path in empty_cache.glob("go-*")] == []


def test_a_go_that_is_too_old_is_passed_over(monkeypatch, no_go, tmp_path):
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go1.24.11\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert golang.version(old) == (1, 24)
    assert golang.installed() is None


@pytest.mark.parametrize(
    ("output", "kind", "words"),
    [
        ("write /tmp/x: no space left on device", NoSpaceError, "no space left"),
        ("dial tcp: lookup modules.example.com: no such host", LocalError, "cannot be downloaded"),
        ("main.go:3: syntax error", LocalError, "go failed: main.go:3: syntax error"),
    ],
)
def test_a_failed_build_says_why(output, kind, words):
    error = build._why([output])
    assert type(error) is kind
    assert words in error.message
    assert error.hint


def test_progress_says_how_much_is_done_and_how_long_the_rest_takes():
    assert progress.describe("building", 0, 2786, "packages", 5) == "building: 0 of 2786 packages"
    assert (
        progress.describe("building", 700, 2800, "packages", 100)
        == "building: 700 of 2800 packages, 5 min left"
    )
    assert progress.describe("building", 90, 100, "packages", 90) == "building: 90 of 100 packages, 10 s left"
