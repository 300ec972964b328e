"""The guide on installing has what is printed and the options that say how; a page has every alert."""

from __future__ import annotations

import re
from typing import Any

import yaml

from shiplift.cli.main import COMMANDS, load
from shiplift.operator import alerts, inside, install, reference
from shiplift.operator.inside import Inside
from shiplift.operator.layers import chosen, faces
from tests.docs.clone import ROOT

GUIDE = (ROOT / "docs/install.md").read_text()
VALUES: dict[str, Any] = yaml.safe_load((ROOT / "charts/shiplift/values.yaml").read_text())
ELSEWHERE = {"--kubeconfig", "--context", "--kubernetes", "--in-cluster", "--user"}
"""Options that say nothing of what runs in the cluster, or that do not go with it."""


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that begins so."""
    lines = GUIDE.partition(f"\n| {heading} |")[2].splitlines()[2:]
    table = lines[: next(number for number, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def printed() -> list[dict[str, Any]]:
    return inside.manifests(install.NAMESPACE, chosen(), Inside(image="registry.example/shiplift:1"))


def test_every_kind_that_is_printed_has_its_row() -> None:
    told = {kind for row in rows("printed") for kind in row[0].split(", ")}
    assert told == {one["kind"] for one in printed()}


def test_every_option_that_says_how_it_runs_has_its_row() -> None:
    told = {
        found for row in rows("option of `shiplift manifests`") for found in re.findall("--[a-z-]+", row[0])
    }
    app = load(next(one for one in COMMANDS if one.name == "manifests"))
    known = {name for one in app.assemble_argument_collection() for name in one.names}
    granted = {"--grant", "--hooks", "--account", "--catalogs", "--quorum"}
    assert told == known - ELSEWHERE - granted
    assert not [name for name in granted if f"`{name}`" not in GUIDE]


def test_every_value_of_the_chart_that_is_named_is_there() -> None:
    spans = [span.partition("=")[0] for span in re.findall("`([^`\n]+)`", GUIDE)]
    named = [span.split(".") for span in spans if re.fullmatch(r"[A-Za-z]+(\.[A-Za-z]+)*", span)]
    paths = [path for path in named if path[0] in VALUES and (len(path) > 1 or path[0] == "podTemplates")]
    assert ["metrics", "tlsSecret"] in paths
    assert [path for path in paths if not is_there(VALUES, path)] == []


def is_there(values: Any, path: list[str]) -> bool:
    return not path or (
        isinstance(values, dict) and path[0] in values and is_there(values[path[0]], path[1:])
    )


def test_the_page_of_alerts_is_up_to_date() -> None:
    assert (ROOT / "docs/reference/alerts.md").read_text() == reference.page(), (
        "run `python -m shiplift.operator.reference > docs/reference/alerts.md`"
    )


def test_the_page_of_alerts_has_each_of_them_once() -> None:
    told = re.findall(r"^\| `(\w+)`", reference.page(), re.MULTILINE)
    assert sorted(told) == sorted(rule["alert"] for rule in alerts.rules(faces().values()))
    rows = [line for line in reference.page().splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {6}
