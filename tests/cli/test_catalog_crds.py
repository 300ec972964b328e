"""`shiplift catalog crds`: what an upgrade would do, from two versions of a catalog or from a cluster."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.local.cluster import Cluster
from tests.operators.catalog.test_sources import csv, write_bundle
from tests.operators.crds.building import Json, crd, spec_of, version
from tests.operators.crds.test_existing_live import served

main = importlib.import_module("shiplift.cli.main")


def boats(plural: str = "boats", **size: object) -> Json:
    return crd(version(schema=spec_of(size=dict(size) or {"type": "integer"})), plural=plural)


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    write_bundle(tmp_path, "1.0.0", csv("1.0.0"), boats(type="integer"))
    write_bundle(tmp_path, "1.1.0", csv("1.1.0", replaces="app.v1.0.0"), boats(type="integer", maximum=5))
    write_bundle(tmp_path, "2.0.0", csv("2.0.0", replaces="app.v1.1.0"), boats(type="string"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main.run(["catalog", "crds", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_is_told_and_not_denied_is_no_error(capsys: pytest.CaptureFixture[str], catalog: Path) -> None:
    code, out, err = run(capsys, str(catalog), "app", "--from", "1.0.0", "--to", "1.1.0")
    assert code == 0
    assert out.splitlines()[1].split(None, 4) == [
        "boats.harbour.example",
        "Warn",
        "Maximum",
        ".spec.size",
        "v1: maximum becomes 5",
    ]
    assert err == "1 definition compared, 1 finding\n"


def test_what_is_denied_is_an_error(capsys: pytest.CaptureFixture[str], catalog: Path) -> None:
    code, out, err = run(capsys, str(catalog), "app", "--from", "1.0.0", "--to", "2.0.0")
    assert code == 1
    assert "v1: the type changes from integer to string" in out
    assert err.startswith("error: 1 definition compared, 1 finding, of which some are denied")


def test_definitions_that_come_and_go_are_named(capsys: pytest.CaptureFixture[str], catalog: Path) -> None:
    write_bundle(
        catalog, "3.0.0", csv("3.0.0", replaces="app.v2.0.0"), boats(type="string"), boats("ferries")
    )
    write_bundle(catalog, "4.0.0", csv("4.0.0", replaces="app.v3.0.0"), boats("ferries"))
    code, _, err = run(capsys, str(catalog), "app", "--from", "2.0.0", "--to", "3.0.0")
    assert code == 0
    assert err == "ferries.harbour.example comes with 3.0.0\n1 definition compared, 0 findings\n"
    code, _, err = run(capsys, str(catalog), "app", "--from", "app.v3.0.0", "--to", "v4.0.0")
    assert code == 0
    gone = "boats.harbour.example is in 3.0.0 and not in 4.0.0: it stays in the cluster as it is\n"
    assert err == f"{gone}1 definition compared, 0 findings\n"


def test_an_index_finds_its_manifests_again(
    capsys: pytest.CaptureFixture[str], catalog: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out") / "index"
    assert main.run(["catalog", "import", str(catalog), "-o", str(out)]) == 0
    capsys.readouterr()
    assert run(capsys, str(out), "app", "--from", "1.0.0", "--to", "1.1.0")[0] == 0
    for file in (out / "bundles").iterdir():
        file.unlink()
    code, _, err = run(capsys, str(out), "app", "--from", "1.0.0", "--to", "1.1.0")
    assert code == 1
    assert "error: the manifests of app.v1.1.0: it cannot be read: No such file or directory" in err


def test_a_catalog_that_only_names_images_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from tests.cli.test_catalog import EXAMPLE

    code, _, err = run(capsys, EXAMPLE, "lighthouse", "--from", "1.0.0", "--to", "2.0.0")
    assert code == 1
    assert "error: the catalog does not hold the manifests of lighthouse.v2.0.0" in err


def test_a_definition_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], catalog: Path) -> None:
    file = catalog / "app/1.0.0/manifests/1.yaml"
    broken = yaml.safe_load(file.read_text())
    del broken["spec"]["names"]
    file.write_text(yaml.safe_dump(broken))
    code, _, err = run(capsys, str(catalog), "app", "--from", "1.0.0", "--to", "1.1.0")
    assert code == 1
    assert "is no CustomResourceDefinition: KeyError('names')" in err


def test_without_a_version_to_compare_with_the_cluster_is_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, cluster: Cluster, namespace: str
) -> None:
    plural = f"boats{namespace[-6:]}"
    write_bundle(
        tmp_path, "1.1.0", csv("1.1.0"), boats(plural, type="integer", maximum=5), boats(f"new{plural}")
    )
    with cluster.client() as client:
        made = client.create(CUSTOM_RESOURCE_DEFINITION, boats(plural)).object
        kind = Kind("Boat", plural, "harbour.example")
        served(client, kind)
        client.create(kind, {"metadata": {"name": "big"}, "spec": {"size": 7}}, namespace)
        code, out, err = run(
            capsys, str(tmp_path), "app", "--to", "1.1.0", "--kubeconfig", str(cluster.kubeconfig)
        )
        client.delete(CUSTOM_RESOURCE_DEFINITION, made["metadata"]["name"], uid=made["metadata"]["uid"])
    assert code == 1
    assert f"{namespace}/big would be refused: spec.size" in out
    assert f"{plural}.harbour.example: 1 object checked, 1 would be refused" in err
    assert f"new{plural}.harbour.example is new to this cluster" in err
