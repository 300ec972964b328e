"""`shiplift catalog manifests`: what a version consists of, before anybody installs it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from tests.operators.catalog.test_installation import CRD
from tests.operators.catalog.test_installation import csv as installable
from tests.operators.catalog.test_sources import csv, write_bundle

main = importlib.import_module("shiplift.cli.main")


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    version = csv("1.0.0")
    version["spec"] |= installable()["spec"]
    write_bundle(tmp_path, "1.0.0", version, CRD)
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main.run(["catalog", "manifests", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_objects_are_printed_and_rights_are_told(capsys: pytest.CaptureFixture[str], catalog: str) -> None:
    code, out, err = run(capsys, catalog, "app", "-n", "ops")
    assert code == 0
    kinds = [one["kind"] for one in yaml.safe_load_all(out)]
    assert (kinds[0], kinds[-1], len(kinds)) == ("CustomResourceDefinition", "Deployment", 8)
    assert err == "8 objects; its accounts have 1 rule that hold in all namespaces\n"


def test_a_version_is_named_or_the_head_is_taken(capsys: pytest.CaptureFixture[str], catalog: str) -> None:
    head = run(capsys, catalog, "app", "-n", "ops")
    assert run(capsys, catalog, "app", "v1.0.0", "-n", "ops") == head
    code, _, err = run(capsys, catalog, "app", "2.0.0", "-n", "ops")
    assert code == 1
    assert "package app has no version '2.0.0'" in err


def test_what_cannot_be_installed_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_bundle(tmp_path, "1.0.0", csv("1.0.0", webhookdefinitions=[{}]))
    code, out, err = run(capsys, str(tmp_path), "app", "-n", "ops")
    assert (code, out) == (1, "")
    assert "error: app.v1.0.0 brings webhooks" in err


def test_a_namespace_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], catalog: str) -> None:
    code, out, err = run(capsys, catalog, "app", "-n", "Bad_NS")
    assert (code, out) == (1, "")
    assert err.startswith("error: 'Bad_NS' is not the name of a namespace\nhint: up to 63 lower-case")
