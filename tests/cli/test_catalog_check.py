"""`shiplift catalog check`: what blocks is told with the way out, and what is not known is not fine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_catalog import EXAMPLE, Json, run
from tests.cli.test_catalog_faults import write
from tests.operators.catalog.building import bundle_document, channel_document, package_document


def app(*versions: str, replaces: bool = True, default: str = "stable") -> list[Json]:
    """A package of these versions, each of which replaces the one before, or none does."""
    entries = [
        {"name": f"app.v{version}"} | ({"replaces": f"app.v{before}"} if before and replaces else {})
        for before, version in zip(("", *versions), versions, strict=False)
    ]
    bundles = [bundle_document(version) for version in versions]
    return [package_document(default=default), channel_document(*entries), *bundles]


def check(capsys: pytest.CaptureFixture[str], source: str, *words: str) -> tuple[int, str, str]:
    return run(capsys, "check", source, "--kubernetes", "1.36", *words)


def test_where_nothing_blocks_that_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = check(capsys, write(tmp_path, *app("1.0.0", "1.1.0")))
    assert (code, out) == (0, "")
    assert err == "nothing that is known of 1 operator speaks against Kubernetes 1.36\n"


def test_what_blocks_is_told_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    installed = ("--installed", "lighthouse@v1.0.0", "--installed", "lighthouse@1.1.0")
    code, out, err = check(capsys, EXAMPLE, *installed)
    assert code == 1
    assert out.splitlines()[1].split("  ")[-1].strip() == "upgrade to 1.1.0"
    assert err == (
        "error: 1 of 2 operators cannot run on Kubernetes 1.36\n"
        "hint: upgrade them to a version that can, before the cluster\n"
    )


def test_what_needs_a_newer_kubernetes_is_not_told_to_be_upgraded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("check", EXAMPLE, "--kubernetes", "1.33", "--installed", "lighthouse@2.0.0")
    code, _, err = run(capsys, *words)
    assert code == 1
    hint = err.splitlines()[-1]
    assert hint.startswith("hint: what needs a newer Kubernetes comes after the cluster's upgrade to that")


def test_a_package_that_was_left_out_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = check(capsys, EXAMPLE)
    assert code == 1
    (row,) = out.splitlines()[1:]
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [
        "-",
        "tugboat",
        "-",
        "not known: left out, for it has no channel that can be followed",
        "repair the catalog",
    ]
    *told, hint = err.splitlines()
    assert hint.startswith("hint: repair what is told above in the catalog, or name what is installed")
    assert told == [
        "NoHead: tugboat: channel stable: each version is replaced by another, so it leads nowhere",
        "NoChannel: tugboat: it has no channel that can be followed",
        "error: 1 of 2 operators cannot be judged",
    ]


def test_a_package_without_its_default_channel_is_not_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = check(capsys, write(tmp_path, *app("1.0.0", default="gone")))
    assert code == 1
    assert "not known: it has no default channel that could be followed" in out
    assert "DefaultChannel: app: default channel 'gone' is not there" in err


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"properties": []}, "Bundle: app: app.v1.1.0: it has 0 properties olm.package"),
        (
            {"schema": "olm.nothing"},
            "EntryWithoutBundle: app: channel stable: there is no bundle 'app.v1.1.0'",
        ),
    ],
)
def test_a_head_that_may_not_be_the_head_is_not_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, broken: dict[str, Any], told: str
) -> None:
    *others, newest = app("1.0.0", "1.1.0")
    code, out, err = check(capsys, write(tmp_path, *others, newest | broken))
    assert code == 1
    assert "not known: versions of it were left out, so its head may be another" in out
    assert told in err


def test_a_head_that_may_not_be_the_head_is_judged_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    introduced, channel, older, newest = app("1.0.0", "1.1.0")
    too_old = {"type": "olm.maxOpenShiftVersion", "value": "4.9"}
    blocked = older | {"properties": [*older["properties"], too_old]}
    folder = write(tmp_path, introduced, channel, blocked, newest | {"properties": []})
    code, out, err = check(capsys, folder)
    assert code == 1
    assert "runs on OpenShift 4.9 at most" in out
    assert "error: 1 of 1 operator cannot run on Kubernetes 1.36 or cannot be judged" in err
    assert "; upgrade them to a version that can" in err


def test_a_file_that_cannot_be_read_may_hold_anything(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write(tmp_path, *app("1.0.0"))
    (tmp_path / "broken.yaml").write_text("a: [")
    code, out, err = check(capsys, folder)
    assert (code, out) == (1, "")
    assert "File: broken.yaml: it is no YAML" in err
    assert "error: nothing that is known of 1 operator speaks against Kubernetes 1.36, but more may be" in err


def test_an_ignore_file_leaves_nothing_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write(tmp_path, *app("1.0.0"))
    (tmp_path / ".indexignore").write_text("x")
    code, _, err = check(capsys, folder)
    assert code == 0
    assert "IgnoreFile: .indexignore is not followed" in err


def test_what_is_installed_is_judged_whatever_else_was_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    *others, newest = app("1.0.0", "1.1.0")
    folder = write(tmp_path, *others, newest | {"properties": []})
    words = ("--installed", "app@1.0.0", "--installed", "app@1.0.0")
    code, out, err = check(capsys, folder, *words)
    assert (code, out) == (0, "")
    assert err.count("Bundle: app: app.v1.1.0: it has 0 properties") == 1
