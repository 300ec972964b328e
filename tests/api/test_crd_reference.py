"""The reference page is what the Structs say today."""

from __future__ import annotations

from pathlib import Path

from shiplift.api import TYPES, crd, reference
from shiplift.operator.layers import chosen

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "crds.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference.page(), (
        "run `python -m shiplift.api.reference > docs/reference/crds.md`"
    )


def test_the_page_has_every_kind_field_and_rule() -> None:
    page = reference.page()
    for kind in TYPES:
        schema = crd.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert f"## {kind}\n" in page
        assert all(f"`{name}" in page for name in schema["properties"]["spec"]["properties"])
    assert "replicas must be 1, 3 or 5 when role is ControlPlane" in page


def test_the_page_says_what_this_release_acts_on() -> None:
    owned = {kind.kind for part in chosen(()) for kind in part.own_kinds}
    head = reference.page().partition("\n## ")[0]
    sentence = head[head.index("This release acts on") : head.index("`shiplift crds --layers")]
    assert {
        kind.kind for kind in TYPES if kind.kind in sentence.replace(",", "").replace(".", "").split()
    } == owned


def test_a_table_row_has_four_cells() -> None:
    rows = [line for line in reference.page().splitlines() if line.startswith("| ")]
    assert rows
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}
