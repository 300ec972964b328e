"""What operators used of their rights, as it is read, told and summed up."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from shiplift.operator.layers import LAYERS
from tests import rights


@pytest.fixture(autouse=True)
def _nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - pytest calls it
    used: rights.Used = defaultdict(set)
    monkeypatch.setattr(rights, "_used", used)


def event(verb: str, user: str, **about: str) -> dict[str, Any]:
    return {"verb": verb, "user": {"username": user}, "objectRef": about}


def test_only_what_the_operators_account_asked_for_is_read(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    events = [
        event("patch", "system:serviceaccount:shiplift-system:shiplift", resource="nodes"),
        event("create", "system:serviceaccount:other:shiplift", resource="pods", subresource="eviction"),
        event("delete", "system:serviceaccount:shiplift-system:installer", resource="pods"),
        event("delete", "admin", resource="nodes"),
        {"verb": "get", "user": {"username": "system:serviceaccount:shiplift-system:shiplift"}},
    ]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in events))
    assert rights.used(log) == {"patch nodes", "create pods/eviction"}


def test_what_workers_note_is_summed_up_by_layer() -> None:
    given = rights.granted(LAYERS["journal"])
    rights.note({"journal upgrade": sorted(given)[1:]})
    rights.note(rights.noted())
    said = {line.split(":")[0]: line for line in rights.summary()}
    assert set(said) == {"rights of journal", "rights of upgrade"}
    assert said["rights of journal"].endswith(f"not used: {sorted(given)[0]}")


def test_pages_of_lists_are_asked_for_where_nothing_streams() -> None:
    assert rights.without_use({"list pods", "get pods", "watch pods"}, {"watch pods"}) == {"get pods"}


def test_what_a_test_of_a_whole_layer_used_or_another_has_counts_in_the_summary() -> None:
    part = LAYERS["nodes"]
    given = sorted(rights.granted(part))
    assert rights.unused(part, set(given[2:]), {given[0]}) == rights.without_use({given[1]}, set())
    (said,) = (line for line in rights.summary() if line.startswith("rights of nodes"))
    assert f"{given[0]}," not in said
