"""What was asked for comes out of an image as a container would see it, and nothing else does."""

from __future__ import annotations

import gzip
import os
import tarfile
import time
from pathlib import Path

import pytest

from shiplift.quorum.images import layers
from shiplift.quorum.images.errors import BadImage, ImageError, NotAllowed, RegistryAway
from tests.quorum.images_made import Entry, device, folder, hard_link, layer, packed, symlink

WANTED = ("usr/bin/minio", "usr/bin/minio.minisig", "opt/bin/minio")


def extracted(tmp_path: Path, *contents: bytes, seconds: float = 60.0) -> dict[str, bytes]:
    files = []
    for number, content in enumerate(contents):
        files.append(tmp_path / f"layer-{number}")
        files[-1].write_bytes(content)
    target = tmp_path / "target"
    target.mkdir()
    found = layers.extract(files, WANTED, target, time.monotonic() + seconds)
    assert {path.parent for path in map(lambda one: one.path, found.values())} <= {target}
    return {name: file.path.read_bytes() for name, file in found.items()}


def one(content: bytes, name: str = "usr/bin/minio") -> Entry:
    return Entry(name, content)


@pytest.mark.parametrize("name", ["usr/bin/minio", "./usr/bin/minio", "/usr/bin/minio"])
@pytest.mark.parametrize("pack", [packed, bytes])
def test_a_file_comes_out_however_its_name_is_written(tmp_path: Path, name: str, pack) -> None:
    content = os.urandom(3 << 20)
    found = extracted(tmp_path, pack(layer(folder("usr"), Entry(name, content), one(b"x", "etc/passwd"))))
    assert found == {"usr/bin/minio": content}


def test_the_uppermost_layer_counts(tmp_path: Path) -> None:
    assert extracted(tmp_path, layer(one(b"old")), layer(one(b"new"))) == {"usr/bin/minio": b"new"}


def test_the_last_of_two_in_one_layer_counts(tmp_path: Path) -> None:
    assert extracted(tmp_path, layer(one(b"first"), one(b"last"))) == {"usr/bin/minio": b"last"}


@pytest.mark.parametrize(
    "hiding",
    [
        Entry("usr/bin/.wh.minio"),
        Entry("usr/.wh.bin"),
        Entry(".wh.usr"),
        Entry("usr/bin/.wh..wh..opq"),
        Entry("usr/.wh..wh..opq"),
        Entry(".wh..wh..opq"),
        symlink("usr/bin", "/opt/bin"),
        one(b"a file in a folder's place", "usr"),
    ],
)
def test_what_an_upper_layer_hides_is_gone(tmp_path: Path, hiding: Entry) -> None:
    assert extracted(tmp_path, layer(one(b"old")), layer(hiding)) == {}


@pytest.mark.parametrize(
    "hiding", [Entry("usr/bin/.wh.minio2"), Entry("opt/.wh..wh..opq"), folder("usr/bin")]
)
def test_what_hides_something_else_hides_nothing_of_it(tmp_path: Path, hiding: Entry) -> None:
    assert extracted(tmp_path, layer(one(b"old")), layer(hiding)) == {"usr/bin/minio": b"old"}


@pytest.mark.parametrize("first", [True, False])
def test_a_layers_whiteout_hides_only_what_is_below_it(tmp_path: Path, first: bool) -> None:
    entries = (Entry("usr/bin/.wh..wh..opq"), one(b"new"))
    upper = layer(*(entries if first else reversed(entries)))
    below = layer(one(b"old"), one(b"old", "usr/bin/minio.minisig"))
    assert extracted(tmp_path, below, upper) == {"usr/bin/minio": b"new"}


def test_a_second_name_of_a_file_is_that_file(tmp_path: Path) -> None:
    found = extracted(tmp_path, layer(one(b"it"), hard_link("opt/bin/minio", "usr/bin/minio")))
    assert found == {"usr/bin/minio": b"it", "opt/bin/minio": b"it"}


@pytest.mark.parametrize(
    "entry",
    [
        symlink("usr/bin/minio", "/etc/shadow"),
        symlink("usr/bin/minio", "../../../../etc/shadow"),
        hard_link("usr/bin/minio", "/etc/shadow"),
        device("usr/bin/minio"),
        Entry("usr/bin/minio", kind=tarfile.FIFOTYPE),
        Entry("usr/bin/minio", kind=tarfile.BLKTYPE),
    ],
)
def test_what_is_asked_for_has_to_be_a_plain_file(tmp_path: Path, entry: Entry) -> None:
    with pytest.raises(BadImage, match=r"usr/bin/minio in the image is (no plain file|a link to etc/shadow)"):
        extracted(tmp_path, layer(entry))


@pytest.mark.parametrize("name", ["../minio", "usr/../../minio", "usr/bin/../../../../tmp/x", "a/.."])
def test_an_entry_that_leads_out_of_the_image_condemns_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadImage, match="leads out of it"):
        extracted(tmp_path, layer(one(b"good"), Entry(name, b"evil")))


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadImage, match="no plain file"):
        extracted(tmp_path, sparse("usr/bin/minio", 1 << 40))


def sparse(name: str, real_size: int) -> bytes:
    """A GNU sparse header that says a kilobyte is a terabyte."""
    header = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"%011o\0%011o\0" % (0, 512)
    header[124:136] = b"%011o\0" % 512
    header[483:495] = b"\x80" + real_size.to_bytes(11, "big")
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(512) + bytes(1024)


def test_a_file_that_says_it_is_huge_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "MOST_FILE", 1000)
    with pytest.raises(NotAllowed, match="more than"):
        extracted(tmp_path, layer(one(bytes(1001))))


def test_a_gzip_bomb_is_given_up_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_UNPACKED", 8 << 20)
    bomb = packed(layer(one(bytes(64 << 20), "a"), one(b"x")))
    assert len(bomb) < 1 << 20
    with pytest.raises(NotAllowed, match="unpacks to more than 8 MiB"):
        extracted(tmp_path, bomb)


def test_the_bound_is_that_of_all_layers_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_UNPACKED", 3 << 20)
    half = packed(layer(one(bytes(2 << 20), "a")))
    with pytest.raises(NotAllowed, match="unpacks to more than 3 MiB"):
        extracted(tmp_path, half, half)


def test_what_cannot_be_unpacked_in_time_is_no_verdict_on_the_image(tmp_path: Path) -> None:
    with pytest.raises(RegistryAway, match="could not be unpacked in time"):
        extracted(tmp_path, layer(one(b"x")), seconds=-1)


def test_a_header_that_wants_gigabytes_is_no_header(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 2 << 30
    with pytest.raises(NotAllowed, match="has a header of"):
        extracted(tmp_path, info.tobuf(tarfile.USTAR_FORMAT) + bytes(4096))


def test_too_many_entries_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_ENTRIES", 10)
    with pytest.raises(NotAllowed, match="more than 10 entries"):
        extracted(tmp_path, layer(*(one(b"", f"f{number}") for number in range(11))))


@pytest.mark.parametrize(
    "content",
    [
        b"not an archive at all, by any means" * 40,
        packed(layer(one(b"x" * 5000)))[:60],
        layer(one(b"x" * 5000))[:2000],
        gzip.compress(b"nothing of an archive" * 100, mtime=0),
    ],
)
def test_a_layer_that_cannot_be_read_is_an_error_of_ours(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ImageError):
        extracted(tmp_path, content)


def test_a_layer_of_zstd_is_named_as_that(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="zstd"):
        extracted(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(100))
