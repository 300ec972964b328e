"""`shiplift catalog`: what people see of a catalog, and what they are told when something is not there."""

from __future__ import annotations

import base64
import importlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from shiplift.operators.catalog import index
from shiplift.operators.catalog.manifests import PART_LABEL
from tests.docs.clone import ROOT
from tests.operators.catalog.test_sources import write_bundle

main = importlib.import_module("shiplift.cli.main")
Json = dict[str, Any]
EXAMPLE = str(ROOT / "docs/examples/catalog.yaml")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main.run(["catalog", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_packages_are_listed_and_what_is_wrong_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "list", EXAMPLE)
    assert code == 0
    assert out.splitlines() == [
        "PACKAGE     DEFAULT  HEAD   CHANNELS  VERSIONS",
        "lighthouse  stable   2.0.0  2         4",
    ]
    assert "NoHead: tugboat: channel stable: each version is replaced by another" in err


def test_a_way_is_shown_hop_by_hop(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "path", EXAMPLE, "lighthouse", "--from", "lighthouse.v1.0.0", "--to", "1.2.0")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["1.1.0", "1.2.0"]


def test_nothing_newer_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "path", EXAMPLE, "lighthouse", "--from", "2.0.0")
    assert (code, out) == (0, "")
    assert err == "lighthouse.v2.0.0 is what channel stable leads to; there is nothing newer\n"


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["list", "nowhere"], "nowhere is not there", "name a folder that `shiplift catalog import` wrote"),
        (["list", EXAMPLE, "lighthous"], "there is no package 'lighthous'", "did you mean lighthouse?"),
        (
            ["path", EXAMPLE, "lighthouse", "--from", "one"],
            "package lighthouse has no version 'one'",
            "a version",
        ),
        (
            ["path", EXAMPLE, "lighthouse", "--from", "1.0.0", "--to", "9.0.0"],
            "has no version '9.0.0'",
            "shiplift catalog list CATALOG lighthouse names the versions",
        ),
        (
            ["path", EXAMPLE, "lighthouse", "--from", "1.0.0", "--channel", "x"],
            "has no channel 'x'",
            "old, stable",
        ),
        (
            ["path", EXAMPLE, "lighthouse", "--from", "3.0.0"],
            "3.0.0 is not below 2.0.0",
            "pin the older version",
        ),
        (["path", EXAMPLE, "lighthouse"], "--from is missing", "shiplift catalog path --help"),
        (
            ["check", EXAMPLE, "--kubernetes", "new"],
            "'new' is not a Kubernetes version",
            "write it like 1.36",
        ),
        (
            ["check", EXAMPLE, "--kubernetes", "1.36", "--installed", "x"],
            "'x' names no version",
            "PACKAGE@VERSION",
        ),
        (["import", EXAMPLE], "import needs --output FOLDER, --name NAME, or both", "--help"),
        (["import", EXAMPLE, "--name", "A_b"], "'A_b' is no name of a catalog", "lower-case"),
        (
            ["import", EXAMPLE, "--name", "a", "-n", "Bad_NS"],
            "'Bad_NS' is not the name of a namespace",
            "up to 63 lower-case letters, digits and -",
        ),
        (["import", EXAMPLE, "-o", "/dev/null/x"], "cannot write /dev/null/x: Not a directory", "a folder"),
        (
            ["graph", EXAMPLE, "lighthouse", "-o", "/nowhere/x.svg"],
            "cannot write /nowhere/x.svg",
            "name a file",
        ),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(
    capsys: pytest.CaptureFixture[str], words: list[str], error: str, hint: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (1, "")
    said, _, hinted = err.partition("\nhint: ")
    assert said.rpartition("error: ")[2].find(error) >= 0
    assert hint in hinted


def test_a_picture_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "graph", EXAMPLE, "lighthouse")
    assert code == 0
    assert ElementTree.fromstring(out).tag.endswith("svg")
    file = tmp_path / "drawn.svg"
    assert run(capsys, "graph", EXAMPLE, "lighthouse", "--channel", "old", "-o", str(file))[:2] == (0, "")
    assert "2.0.0" not in file.read_text()


@pytest.mark.parametrize(
    ("start", "said", "arrows"),
    [
        ("1.1.0", "", 1),
        ("1.5.0", "1.5.0 is not in channel stable: its arrow comes from outside\n", 1),
        ("2.0.0", "no way is drawn: lighthouse.v2.0.0 is what channel stable leads to; ", 0),
        ("0.9.0", "no way is drawn: no version of channel stable takes over from 0.9.0", 0),
    ],
)
def test_a_way_is_drawn_or_it_is_said_why_there_is_none(
    capsys: pytest.CaptureFixture[str], start: str, said: str, arrows: int
) -> None:
    code, out, err = run(capsys, "graph", EXAMPLE, "lighthouse", "--from", start)
    assert code == 0
    assert err.startswith(said) if said else err == ""
    assert out.count("#d9480f") == arrows * 2, "one in the legend, and one arrow a hop"


def test_the_picture_of_the_guide_is_the_one_that_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "graph", EXAMPLE, "lighthouse", "--from", "1.0.0")
    assert out == (ROOT / "docs/catalog.svg").read_text()


def test_a_catalog_is_imported_into_objects_that_hold_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "import", EXAMPLE, "--name", "harbour", "-n", "ops")
    assert code == 0
    *pieces, catalog = yaml.safe_load_all(out)
    data = b"".join(base64.b64decode(piece["binaryData"]["data"]) for piece in pieces)
    assert index.decode(data).packages[0].name == "lighthouse"
    assert {piece["metadata"]["namespace"] for piece in pieces} == {"ops"}
    source = catalog["spec"]["source"]["configMaps"]
    assert source["selector"]["matchLabels"] == pieces[0]["metadata"]["labels"]
    code, out, err = run(capsys, "import", EXAMPLE, "--name", "harbour", "-o", str(tmp_path / "out"))
    assert code == 0
    (catalog,) = yaml.safe_load_all(out)
    assert catalog["spec"]["source"] == {"folder": {"path": str(tmp_path / "out")}}
    assert err.endswith(f"1 package with 4 versions, 2 faults; written to {tmp_path / 'out'}\n")


def test_a_catalog_without_anything_that_can_be_used_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_text("a: [")
    code, _, err = run(capsys, "import", str(tmp_path), "-o", str(tmp_path / "out"))
    assert code == 1
    assert "File: broken.yaml: it is no YAML" in err
    assert "has no package that can be used" in err
    assert not (tmp_path / "out").exists()


def test_an_index_is_imported_with_the_manifests_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_bundle(tmp_path / "bundles", "1.0.0")
    first, second = tmp_path / "first", tmp_path / "second"
    assert run(capsys, "import", str(tmp_path / "bundles"), "-o", str(first))[0] == 0
    assert run(capsys, "import", str(first), "-o", str(second))[0] == 0
    names = [[file.name for file in (folder / "bundles").iterdir()] for folder in (first, second)]
    assert names[0] == names[1] != []
    code, out, _ = run(capsys, "import", str(first), "--name", "harbour")
    parts = [one["metadata"].get("labels", {}).get(PART_LABEL) for one in yaml.safe_load_all(out)]
    assert (code, parts) == (0, ["index", "bundle", None])
    (first / "bundles" / names[0][0]).unlink()
    code, out, err = run(capsys, "import", str(first), "--name", "harbour")
    assert code == 0
    assert "BundleWithoutContent: app: the manifests of app.v1.0.0 cannot be had" in err
    assert err.endswith("1 package with 1 version, 1 fault\n")


def test_nothing_is_written_where_the_name_is_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, "import", EXAMPLE, "--name", "A_b", "-o", str(tmp_path / "out"))[0] == 1
    assert not (tmp_path / "out").exists()


def test_what_a_catalog_says_does_nothing_to_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = Path(EXAMPLE).read_text().replace("name: old", 'name: "[red]\\e[31mold"')
    (tmp_path / "catalog.yaml").write_text(text)
    _, out, err = run(capsys, "list", str(tmp_path), "lighthouse")
    assert "\x1b" not in out + err
    assert "[red] [31mold" in out
