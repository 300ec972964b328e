"""What new nodes are born with."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from shiplift.api.marks import OFF_TARGET_LABEL, OFF_TARGET_TAINT, TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.engine.versions import reaches
from shiplift.facts.kinds import (
    NODE,
    WORKLOAD_MIGRATION,
)
from shiplift.workloads.names import MIGRATION
from tests.until import until
from tests.workloads.admission.stage import (
    OTHER,
    Json,
    Stage,
)

_PATCHES = itertools.count(100)
TEMPLATE_TAINTS = {
    True: {"key": UPGRADE_TAINT, "effect": "NoSchedule"},
    False: {"key": OFF_TARGET_TAINT, "effect": "PreferNoSchedule"},
}
USERS_TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def node(version: str, labels: Json | None = None, **spec: Any) -> Json:
    meta = {"name": "late"} | ({"labels": labels} if labels is not None else {})
    return {"metadata": meta, "spec": spec, "status": {"nodeInfo": {"kubeletVersion": version}}}


def ours(found: Json) -> dict[str, str]:
    labels = found["metadata"].get("labels", {})
    return {key: value for key, value in labels.items() if key in (TARGET_LABEL, OFF_TARGET_LABEL)}


def taints(found: Json) -> list[Json]:
    """Without what the API server itself puts on every new node."""
    return [
        one for one in found["spec"].get("taints", []) if not one["key"].startswith("node.kubernetes.io/")
    ]


def migrating(
    stage: Stage, spec: Json, in_scope: Json | None = None, mode: str = "Inject", suffix: str = "+k3s1"
) -> str:
    """A migration to a version that no test had before, in force for a node in its scope; its target."""
    target = f"v1.36.{next(_PATCHES)}{suffix}"
    stage.migrate(spec, {"state": "Upgrade", "target": target, "mode": mode})
    wanted = {TARGET_LABEL: label_value(target)}
    until(lambda: ours(stage.born(node(target, in_scope))) == wanted)
    return target


@pytest.mark.parametrize("labels", [None, {}, {"zone": "a"}])
def test_a_new_node_is_labelled_at_birth(stage: Stage, labels: Json | None) -> None:
    target = migrating(stage, {})
    value = label_value(target)
    for version, wanted in ((target, {TARGET_LABEL: value}), (OTHER, {OFF_TARGET_LABEL: value})):
        found = stage.born(node(version, labels, taints=[USERS_TAINT]))
        assert found["metadata"]["labels"] == (labels or {}) | wanted
        assert taints(found) == [USERS_TAINT]


@pytest.mark.parametrize("before", [None, [], [USERS_TAINT]])
def test_in_mode_template_a_new_node_is_tainted_too(stage: Stage, before: list[Json] | None) -> None:
    target = migrating(stage, {}, mode="Template")
    spec = {} if before is None else {"taints": before}
    for version in (target, OTHER):
        wanted = TEMPLATE_TAINTS[version == target] | {"value": label_value(target)}
        assert taints(stage.born(node(version, **spec))) == [*(before or []), wanted]


def test_a_taint_that_is_there_already_is_not_added_twice(stage: Stage) -> None:
    target = migrating(stage, {}, mode="Template")
    there = TEMPLATE_TAINTS[True] | {"value": "by-hand"}
    assert taints(stage.born(node(target, taints=[there]))) == [there]


@pytest.mark.parametrize("suffix", ["", "-gke.1200", "+a+b", "-eks.", "-x+-."])
def test_a_new_node_is_labelled_as_the_operator_would_do_it(stage: Stage, suffix: str) -> None:
    target = migrating(stage, {}, suffix=suffix)
    assert ours(stage.born(node(OTHER))) == {OFF_TARGET_LABEL: label_value(target)}


@pytest.mark.parametrize(
    ("version", "reached"),
    [
        ("v1.36.3", True),
        ("v1.36.2-eks-1a2b3c4", True),
        ("v1.36.1-gke.1234000", True),
        ("v1.37.0+k3s1", True),
        ("v1.100.0", True),
        ("v1.35.9-eks-1a2b3c4", False),
        ("v1.4.0", False),
        ("v2.36.0", False),
        ("nonsense", False),
    ],
)
def test_a_minor_is_reached_by_every_version_of_it_and_of_newer_ones(
    stage: Stage, version: str, reached: bool
) -> None:
    stage.migrate({}, {"state": "Upgrade", "target": "v1.36", "mode": "Inject"})
    until(lambda: ours(stage.born(node("v1.36.0"))) == {TARGET_LABEL: "v1.36"})
    wanted = TARGET_LABEL if reached else OFF_TARGET_LABEL
    assert reached is reaches(version, "v1.36")
    assert ours(stage.born(node(version))) == {wanted: "v1.36"}


def test_a_real_node_keeps_what_it_was_born_with(stage: Stage) -> None:
    target = migrating(stage, {})
    late = stage.client.create(NODE, node(target)).object
    try:
        assert ours(stage.client.get(NODE, "late")) == {TARGET_LABEL: label_value(target)}
    finally:
        stage.client.delete(NODE, "late", uid=late["metadata"]["uid"])


def expression(operator: str, *values: str) -> Json:
    one = {"key": "tier", "operator": operator} | ({"values": list(values)} if values else {})
    return {"matchExpressions": [one]}


@pytest.mark.parametrize(
    ("selector", "inside", "outside"),
    [
        (
            {"matchLabels": {"tier": "gold"}},
            [{"tier": "gold"}],
            [{}, None, {"tier": "iron"}, {"gold": "tier"}],
        ),
        ({"matchLabels": {"tier": "", "x": "y"}}, [{"tier": "", "x": "y"}], [{"x": "y"}, {"tier": ""}]),
        (expression("In", "a", "b"), [{"tier": "a"}, {"tier": "b"}], [{"tier": "c"}, {}, None]),
        (expression("NotIn", "a", "b"), [{"tier": "c"}, {}, None], [{"tier": "a"}, {"tier": "b"}]),
        (expression("Exists"), [{"tier": ""}, {"tier": "a"}], [{}, None, {"x": "tier"}]),
        (expression("DoesNotExist"), [{}, None, {"x": "tier"}], [{"tier": ""}]),
        (
            {"matchLabels": {"x": "y"}, **expression("In", "a")},
            [{"x": "y", "tier": "a"}],
            [{"x": "y"}, {"tier": "a"}, {"x": "y", "tier": "b"}],
        ),
        (
            {
                "matchExpressions": expression("Exists")["matchExpressions"]
                + expression("NotIn", "a")["matchExpressions"]
            },
            [{"tier": "b"}],
            [{"tier": "a"}, {}],
        ),
    ],
)
def test_only_nodes_in_scope_are_labelled(
    stage: Stage, selector: Json, inside: list[Json | None], outside: list[Json | None]
) -> None:
    target = migrating(stage, {"nodeSelector": selector}, inside[0])
    for labels in inside:
        assert ours(stage.born(node(OTHER, labels))) == {OFF_TARGET_LABEL: label_value(target)}
    for labels in outside:
        assert ours(stage.born(node(OTHER, labels))) == {}


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("status", {"state": "NoUpgrade"}),
        ("status", {"target": None}),
        ("spec", {"abort": True}),
    ],
)
def test_once_no_migration_runs_new_nodes_are_left_alone(stage: Stage, part: str, change: Json) -> None:
    target = migrating(stage, {}, mode="Template")
    found = stage.client.get(WORKLOAD_MIGRATION, MIGRATION)
    changed = found | {part: found[part] | change}
    stage.client.update(WORKLOAD_MIGRATION, changed, "status" if part == "status" else "")
    until(lambda: not ours(found := stage.born(node(target))) and not taints(found))


def test_without_a_migration_new_nodes_are_left_alone(stage: Stage) -> None:
    target = migrating(stage, {})
    uid = stage.client.get(WORKLOAD_MIGRATION, MIGRATION)["metadata"]["uid"]
    stage.client.delete(WORKLOAD_MIGRATION, MIGRATION, uid=uid)
    until(lambda: not ours(stage.born(node(target))))


@pytest.mark.parametrize("status", [{}, {"nodeInfo": {}}, {"nodeInfo": {"kubeletVersion": ""}}])
def test_a_node_that_does_not_say_its_version_is_left_to_the_operator(stage: Stage, status: Json) -> None:
    migrating(stage, {}, mode="Template")
    found = stage.born({"metadata": {"name": "late"}, "status": status})
    assert ours(found) == {}
    assert taints(found) == []
