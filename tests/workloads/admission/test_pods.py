"""What is added to which pods, on a real API server."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.facts.selectors import NodeTerm, Requirement, any_term_matches
from shiplift.kube.errors import Invalid
from tests.workloads.admission.stage import (
    HELD,
    RELEASED,
    TARGET,
    Json,
    Stage,
    owner,
    pod,
    pod_of,
    requiring,
    rule,
    terms,
)

ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
DISK = {"key": "disk", "operator": "Exists"}
BY_NAME = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
PREFERRED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [ZONE]}}
    ]
}
LONG = "a" * 253


def test_a_held_pod_keeps_off_the_target_nodes(stage: Stage, listed: str) -> None:
    assert stage.affinity(listed, pod_of("web")) == requiring({"matchExpressions": [HELD]})


def test_a_released_pod_keeps_off_all_other_nodes(stage: Stage, listed: str) -> None:
    assert stage.affinity(listed, pod_of("api")) == requiring({"matchExpressions": [RELEASED]})


def test_a_stateful_set_is_known_by_its_own_name(stage: Stage, listed: str) -> None:
    db = pod(owner("StatefulSet", "db"))
    assert stage.affinity(listed, db) == requiring({"matchExpressions": [HELD]})


def test_a_vendors_version_is_written_as_a_label_value(stage: Stage) -> None:
    value = label_value("v1.36.3+k3s1")
    namespace = stage.placed({"Deployment.web": "Held"}, value)
    wanted = {"matchExpressions": [rule(TARGET_LABEL, "v1.36.3_k3s1")]}
    assert stage.affinity(namespace, pod_of("web")) == requiring(wanted)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, requiring({"matchExpressions": [HELD]}), id="empty"),
        pytest.param({"nodeAffinity": {}}, requiring({"matchExpressions": [HELD]}), id="nothing-of-nodes"),
        pytest.param(
            {"podAntiAffinity": {}},
            {"podAntiAffinity": {}, **requiring({"matchExpressions": [HELD]})},
            id="only-of-pods",
        ),
        pytest.param(
            {"nodeAffinity": PREFERRED},
            {"nodeAffinity": PREFERRED | requiring({"matchExpressions": [HELD]})["nodeAffinity"]},
            id="only-preferred",
        ),
        pytest.param(
            requiring({"matchExpressions": [ZONE, DISK]}),
            requiring({"matchExpressions": [ZONE, DISK, HELD]}),
            id="one-term",
        ),
        pytest.param(
            requiring({"matchFields": [BY_NAME]}),
            requiring({"matchExpressions": [HELD], "matchFields": [BY_NAME]}),
            id="by-field",
        ),
        pytest.param(
            requiring(
                {"matchExpressions": [ZONE]},
                {"matchFields": [BY_NAME]},
                {"matchExpressions": [DISK], "matchFields": [BY_NAME]},
            ),
            requiring(
                {"matchExpressions": [ZONE, HELD]},
                {"matchExpressions": [HELD], "matchFields": [BY_NAME]},
                {"matchExpressions": [DISK, HELD], "matchFields": [BY_NAME]},
            ),
            id="several-terms",
        ),
        pytest.param(
            requiring({}, {"matchExpressions": [ZONE]}),
            requiring({}, {"matchExpressions": [ZONE, HELD]}),
            id="a-term-for-no-node-stays-one",
        ),
        pytest.param(requiring({}), requiring({}), id="for-no-node-at-all"),
        pytest.param(
            requiring({"matchExpressions": [HELD, ZONE]}, {"matchExpressions": [DISK]}),
            requiring({"matchExpressions": [HELD, ZONE]}, {"matchExpressions": [DISK, HELD]}),
            id="not-twice",
        ),
        pytest.param(
            requiring({"matchExpressions": [rule(TARGET_LABEL, "v1.35.0")]}),
            requiring({"matchExpressions": [rule(TARGET_LABEL, "v1.35.0"), HELD]}),
            id="beside-one-of-an-earlier-migration",
        ),
    ],
)
def test_what_the_user_asked_for_stays(stage: Stage, listed: str, before: Json, after: Json) -> None:
    assert stage.affinity(listed, pod_of("web", affinity=before)) == after


KEYS = st.sampled_from(["zone", "disk", TARGET_LABEL])
VALUES = st.lists(st.sampled_from(["a", "b", TARGET]), min_size=1, max_size=2, unique=True)
EXPRESSIONS = st.lists(
    st.builds(
        lambda key, how, values: {"key": key, "operator": how, "values": values},
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        VALUES,
    )
    | st.builds(
        lambda key, how: {"key": key, "operator": how}, KEYS, st.sampled_from(["Exists", "DoesNotExist"])
    ),
    max_size=3,
)
FIELDS = st.lists(
    st.builds(
        lambda how, name: BY_NAME | {"operator": how, "values": [name]},
        st.sampled_from(["In", "NotIn"]),
        st.sampled_from(["node-1", "node-2"]),
    ),
    max_size=1,
)
TERMS = st.lists(
    st.builds(
        lambda labels, fields: {"matchExpressions": labels, "matchFields": fields}, EXPRESSIONS, FIELDS
    ),
    min_size=1,
    max_size=4,
)
NODES = [
    (dict(zip(("zone", "disk", TARGET_LABEL), values, strict=True)), name)
    for values in itertools.product("ab", "ab", [TARGET, "v1.35.0"])
    for name in ("node-1", "node-2")
] + [({}, "node-1"), ({TARGET_LABEL: TARGET}, "node-2")]  # fmt: skip


def node_terms(found: list[Json]) -> tuple[NodeTerm, ...]:
    def rules(of: list[Json]) -> tuple[Requirement, ...]:
        return tuple(Requirement(one["key"], one["operator"], tuple(one.get("values", []))) for one in of)

    return tuple(
        NodeTerm(rules(term.get("matchExpressions", [])), rules(term.get("matchFields", [])))
        for term in found
    )


@settings(max_examples=60)
@given(asked=TERMS)
def test_the_nodes_left_are_those_asked_for_less_the_target_nodes(
    stage: Stage, listed: str, asked: list[Json]
) -> None:
    given = node_terms(terms(stage.affinity(listed, pod_of("web", affinity=requiring(*asked)))))
    for labels, name in NODES:
        wanted = any_term_matches(node_terms(asked), labels, name) and labels.get(TARGET_LABEL) != TARGET
        assert any_term_matches(given, labels, name) == wanted, (labels, name)


@pytest.mark.parametrize(
    "free",
    [
        pytest.param(pod(), id="a-bare-pod"),
        pytest.param(pod_of("worker"), id="not-listed"),
        pytest.param(pod_of("web-2"), id="a-longer-name"),
        pytest.param(pod(owner("StatefulSet", "web")), id="another-kind"),
        pytest.param(pod(owner("DaemonSet", "web")), id="a-daemon-set"),
        pytest.param(pod(owner("Job", "web", "batch/v1")), id="a-job"),
        pytest.param(pod(owner("StatefulSet", "db", "apps.example.org/v1")), id="another-group"),
        pytest.param(pod(owner("StatefulSet", "db", "v1")), id="no-group"),
        pytest.param(pod(owner("StatefulSet", "db", controller=False)), id="an-owner-that-does-not-control"),
        pytest.param(pod(owner("StatefulSet", "db", controller=None)), id="an-owner-that-does-not-say"),
        pytest.param(pod(owner("ReplicaSet", "web-7d9f")), id="a-replica-set-without-hash"),
        pytest.param(
            pod(owner("ReplicaSet", "web-7d9f"), {"pod-template-hash": "7d9e"}), id="a-hash-of-another"
        ),
        pytest.param(pod(owner("ReplicaSet", "web"), {"pod-template-hash": ""}), id="an-empty-hash"),
        pytest.param(pod(owner("ReplicaSet", "web-"), {"pod-template-hash": ""}), id="a-dash-for-a-hash"),
        pytest.param(pod(owner("ReplicaSet", "web-?"), {"app": "web"}), id="a-name-that-cannot-be"),
        pytest.param(pod(owner("ReplicaSet", "-7d9f"), {"pod-template-hash": "7d9f"}), id="only-a-hash"),
        pytest.param(pod(owner("ReplicaSet", "7d9f"), {"pod-template-hash": "7d9f"}), id="less-than-a-hash"),
        pytest.param(pod(owner("StatefulSet", "d/~'\"\\ü.b")), id="an-odd-name"),
        pytest.param(pod(owner("StatefulSet", LONG)), id="a-long-name"),
    ],
)
def test_every_other_pod_is_left_alone(stage: Stage, listed: str, free: Json) -> None:
    assert stage.affinity(listed, free) is None


@pytest.mark.parametrize("name", ["a.b-c", "web-7d9f", LONG, "a-7d9f-7d9f"])
def test_unusual_names_are_found_too(stage: Stage, name: str) -> None:
    namespace = stage.placed({f"Deployment.{name}": "Held", f"StatefulSet.{name}": "Released"})
    assert terms(stage.affinity(namespace, pod_of(name))) == [{"matchExpressions": [HELD]}]
    set_pod = pod(owner("StatefulSet", name))
    assert terms(stage.affinity(namespace, set_pod)) == [{"matchExpressions": [RELEASED]}]


def test_only_the_owner_that_controls_a_pod_counts(stage: Stage, listed: str) -> None:
    two = pod(owner("StatefulSet", "db", controller=False), {"pod-template-hash": "7d9f"})
    two["metadata"]["ownerReferences"].append(owner("ReplicaSet", "api-7d9f") | {"uid": "u-2"})
    assert terms(stage.affinity(listed, two)) == [{"matchExpressions": [RELEASED]}]


def test_without_a_placement_nothing_is_added(stage: Stage) -> None:
    assert stage.affinity(stage.namespace(), pod_of("web")) is None


def test_a_placement_that_lists_nobody_adds_nothing(stage: Stage) -> None:
    assert stage.affinity(stage.placed({}), pod_of("web")) is None


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (requiring(), "must have at least one node selector term"),
        (
            requiring({"matchExpressions": [{"key": "zone", "operator": "Near"}]}),
            "not a valid selector operator",
        ),
        (
            requiring({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}),
            "not a valid field",
        ),
    ],
)
def test_a_malformed_pod_is_refused_as_it_would_be_without_us(
    stage: Stage, listed: str, broken: Json, complaint: str
) -> None:
    refusals: list[str] = []
    for name in ("web", "not-listed"):
        with pytest.raises(Invalid, match=complaint) as refused:
            stage.affinity(listed, pod_of(name, affinity=broken))
        refusals.append(refused.value.message)
    assert refusals[0] == refusals[1]


def test_a_very_large_affinity_is_narrowed_too(stage: Stage, listed: str) -> None:
    many = [{"matchExpressions": [ZONE] * 20, "matchFields": [BY_NAME]}] * 100
    found = terms(stage.affinity(listed, pod_of("web", affinity=requiring(*many))))
    assert found == [{"matchExpressions": [ZONE] * 20 + [HELD], "matchFields": [BY_NAME]}] * 100
