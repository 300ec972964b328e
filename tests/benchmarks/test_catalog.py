"""The benchmark of catalogs measures what it says, and says what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.catalog import data, run
from shiplift.operators import sources
from shiplift.operators.catalog.model import Catalog
from shiplift.operators.sources import Imported
from tests.operators.catalog.building import entry, package

CHAIN = package(entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0", ("1.0.0",)))


def test_every_successor_of_every_version_is_counted() -> None:
    assert run.count_successors(Catalog((CHAIN,))) == 3


def test_an_index_is_measured(tmp_path: Path) -> None:
    sources.write(Imported(Catalog((CHAIN,)), {}), tmp_path)
    found = run.measure(tmp_path)
    assert (found.packages, found.bundles, found.successors) == (1, 3, 3)
    assert found.load_s > 0
    assert found.successors_s > 0


def test_a_package_that_is_written_out_is_read_as_it_was(tmp_path: Path) -> None:
    row = data.Row(
        package="app",
        name="app.v1.0.0",
        version="1.0.0",
        replaces=None,
        skips=[],
        skip_range="<1.0.0",
        min_kube_version="1.30.0",
        owned=[],
        required=[],
        channels=["stable"],
        default_channel=None,
        update_graph="semver-mode",
        dependencies="dependencies:\n- {type: olm.package, value: {packageName: b, version: '>1.0.0'}}\n",
    )
    made, faults = data.package("app", [row])
    assert made
    assert faults == []
    data.write(made, tmp_path)
    assert sources.load(tmp_path).catalog == Catalog((made,))


def test_without_the_data_it_says_where_it_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHIPLIFT_DATA", str(tmp_path))
    with pytest.raises(run.NoDataError, match=f"there is no catalog in {tmp_path}"):
        run.run(1)
