"""What is wrong with a catalog is told by every command that it concerns, and nothing is claimed past it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.test_catalog import EXAMPLE, Json, run
from tests.operators.catalog.building import bundle_document, channel_document, package_document


def write(folder: Path, *documents: Json, name: str = "catalog.yaml") -> str:
    (folder / name).write_text(yaml.safe_dump_all(documents))
    return str(folder)


@pytest.fixture
def newest_left_out(tmp_path: Path) -> str:
    """A package whose highest version cannot be read."""
    entries = [{"name": "app.v1.0.0"}, {"name": "app.v1.1.0", "replaces": "app.v1.0.0"}]
    newest = bundle_document("1.1.0") | {"properties": []}
    return write(tmp_path, package_document(), channel_document(*entries), bundle_document("1.0.0"), newest)


LEFT_OUT = "Bundle: app: app.v1.1.0: it has 0 properties olm.package, not one\n"


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["path", "--from", "1.0.0"],
        ["why", "--from", "1.0.0"],
        ["graph"],
        ["crds", "--from", "1.0.0", "--to", "1.1.0"],
        ["manifests", "-n", "ops"],
    ],
)
def test_what_is_wrong_with_the_package_is_told(
    capsys: pytest.CaptureFixture[str], newest_left_out: str, words: list[str]
) -> None:
    command, *options = words
    _, _, err = run(capsys, command, newest_left_out, "app", *options)
    assert LEFT_OUT in err


def test_what_is_wrong_with_other_packages_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "graph", EXAMPLE, "lighthouse")[2] == ""


def test_a_file_that_cannot_be_read_concerns_every_package(
    capsys: pytest.CaptureFixture[str], newest_left_out: str
) -> None:
    Path(newest_left_out, "broken.yaml").write_text("a: [")
    code, _, err = run(capsys, "path", newest_left_out, "other", "--from", "1.0.0")
    assert code == 1
    assert "File: broken.yaml: it is no YAML" in err
    assert "error: there is no package 'other' in what can be read of this catalog" in err


@pytest.mark.parametrize("to", [[], ["--to", "1.0.0"]])
@pytest.mark.parametrize("command", ["path", "why"])
def test_nothing_newer_is_not_claimed_where_versions_were_left_out(
    capsys: pytest.CaptureFixture[str], newest_left_out: str, command: str, to: list[str]
) -> None:
    code, out, err = run(capsys, command, newest_left_out, "app", "--from", "1.0.0", *to)
    assert code == 0
    assert (
        "app.v1.0.0 is what channel stable leads to; there is nothing newer, as far as is known: "
        "versions may have been left out for the faults that are told\n"
    ) in out + err


def test_a_package_that_was_left_out_is_not_called_absent(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "path", EXAMPLE, "tugboat", "--from", "1.0.0")
    assert code == 1
    assert err.splitlines() == [
        "NoHead: tugboat: channel stable: each version is replaced by another, so it leads nowhere",
        "NoChannel: tugboat: it has no channel that can be followed",
        "error: package 'tugboat' was left out of this catalog: it has no channel that can be followed",
        "hint: what is wrong is told above, and has to be repaired in the catalog",
    ]


@pytest.mark.parametrize("command", [["list"], ["import", "--name", "x"], ["check", "--kubernetes", "1.36"]])
@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("a: [", "File: catalog.yaml: it is no YAML", "what is wrong is told above"),
        ("", "", "a catalog has documents of schema olm.package, olm.channel and olm.bundle"),
    ],
)
def test_a_source_with_nothing_that_can_be_used_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], text: str, told: str, hint: str
) -> None:
    (tmp_path / "catalog.yaml").write_text(text)
    code, out, err = run(capsys, command[0], str(tmp_path), *command[1:])
    assert (code, out) == (1, "")
    assert err.startswith(told)
    assert err.endswith(f"error: {tmp_path} has no package that can be used\nhint: {hint}\n")


def test_a_fault_is_told_in_a_line_however_long_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    long = "x" * 100_000
    folder = write(tmp_path, package_document(long), bundle_document(long))
    code, _, err = run(capsys, "list", folder)
    assert code == 1
    assert "NoChannel" in err or "PackageName" in err
    assert max(map(len, err.splitlines())) < 500
    _, _, err = run(capsys, "path", folder, long, "--from", "1.0.0")
    assert max(map(len, err.splitlines())) < 500


def test_the_versions_of_a_package_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", EXAMPLE, "lighthouse")
    assert code == 0
    assert out.split("\n\n")[1].splitlines() == [
        "VERSION  NAME               CHANNELS     DEPRECATED",
        "2.0.0    lighthouse.v2.0.0  stable       -",
        "1.2.0    lighthouse.v1.2.0  stable       -",
        "1.1.0    lighthouse.v1.1.0  stable       -",
        "1.0.0    lighthouse.v1.0.0  old, stable  -",
    ]
