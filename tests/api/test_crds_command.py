"""`shiplift crds` prints what the server can be given."""

from __future__ import annotations

import json

import pytest
import yaml

from shiplift.api import TYPES, crd
from shiplift.cli.crds import app


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app(words, result_action="return_value")
    return capsys.readouterr().out


def test_all_kinds_are_printed_as_yaml_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(yaml.safe_load_all(printed(capsys))) == crd.manifests()


def test_the_same_bytes_are_printed_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == printed(capsys)


def test_json_is_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, "-o", "json"))
    assert (listed["kind"], listed["items"]) == ("List", crd.manifests())


@pytest.mark.parametrize("name", ["WorkloadOrder", "workloadorder", "workloadorders", "wo"])
def test_a_kind_has_several_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    [manifest] = yaml.safe_load_all(printed(capsys, "--kind", name))
    assert manifest["metadata"]["name"] == "workloadorders.shiplift.dev"


def test_several_kinds_are_printed_in_the_order_of_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    manifests = yaml.safe_load_all(printed(capsys, "--kind", "wo", "--kind", "uc"))
    assert [one["spec"]["names"]["kind"] for one in manifests] == ["UpgradeConfig", "WorkloadOrder"]


def test_an_unknown_kind_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["--kind", "Pod"])
    said = capsys.readouterr()
    assert "there is no kind 'Pod'" in said.out + said.err
    assert "hint: one of UpgradeConfig" in said.out + said.err


def test_short_names_are_nobody_elses() -> None:
    names = [name for resource in TYPES.values() for name in resource.SHORT_NAMES]
    assert len(names) == len(set(names))
