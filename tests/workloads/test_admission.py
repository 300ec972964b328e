"""The admission policies on a real API server, with real controllers and a real scheduler."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.facts.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    MUTATING_ADMISSION_POLICY_BINDING,
    NODE,
    POD,
    STATEFUL_SET,
    WORKLOAD_MIGRATION,
    WORKLOAD_PLACEMENT,
)
from shiplift.facts.selectors import NodeTerm, Requirement, any_term_matches
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, Invalid, NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.workloads import admission
from shiplift.workloads.names import (
    EFFECTIVE_GENERATION,
    MIGRATION,
    OFF_TARGET_LABEL,
    OFF_TARGET_TAINT,
    PLACEMENT,
    TARGET_LABEL,
    UPGRADE_TAINT,
    label_value,
)
from tests.kube import operator_identity
from tests.until import until
from tests.workloads.admission_stage import (
    NEW,
    OLD,
    OTHER,
    POLICY_KINDS,
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
HELD, RELEASED = rule(TARGET_LABEL), rule(OFF_TARGET_LABEL)
LISTED = {"Deployment.web": "Held", "Deployment.api": "Released", "StatefulSet.db": "Held"}
LONG = "a" * 253


@pytest.fixture(scope="module")
def stage(clusters_folder: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    cluster = Cluster(f"admission-{worker}", clusters_folder)
    cluster.up(pools=[OLD, NEW])
    with cluster.client() as client:
        ready = Stage(cluster, client)
        ready.prepare()
        yield ready
    cluster.down()


@pytest.fixture(scope="module")
def listed(stage: Stage) -> str:
    """A namespace where `web` and `db` are held and `api` is released."""
    return stage.placed(LISTED)


# --- pods: what is added, and to which ---


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


# --- pods: with controllers and scheduler ---


def workload(name: str, replicas: int = 3, **template: Any) -> Json:
    labels = {"app": name}
    spec = {"containers": [{"name": "main", "image": "none"}], "terminationGracePeriodSeconds": 0, **template}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def pods(stage: Stage, namespace: str, app: str) -> list[Json]:
    found = stage.client.list(POD, namespace, label_selector=f"app={app}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def pools_of(stage: Stage, namespace: str, app: str, count: int = 3) -> set[str]:
    """The pools that the pods are on, once they are all there."""

    def nodes() -> list[str]:
        names = [one["spec"].get("nodeName", "") for one in pods(stage, namespace, app)]
        return names if len(names) == count and all(names) else []

    return {name.rsplit("-", 1)[0] for name in until(nodes)}


def test_real_pods_go_where_their_turn_says(stage: Stage, listed: str) -> None:
    for kind, name in ((DEPLOYMENT, "web"), (DEPLOYMENT, "api"), (STATEFUL_SET, "db")):
        stage.client.create(kind, workload(name), listed)
    assert pools_of(stage, listed, "web") == {OLD.name}
    assert pools_of(stage, listed, "api") == {NEW.name}
    assert pools_of(stage, listed, "db") == {OLD.name}
    stored = stage.client.get(DEPLOYMENT, "web", listed)
    assert "affinity" not in stored["spec"]["template"]["spec"]


def test_after_a_rollout_the_new_pods_are_held_too(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    made = stage.client.create(DEPLOYMENT, workload("web"), namespace).object
    before = {one["metadata"]["labels"]["pod-template-hash"] for one in _all(stage, namespace, 3)}
    change = {"spec": {"template": {"metadata": {"annotations": {"restarted": "once"}}}}}
    stage.client.patch(DEPLOYMENT, "web", change, namespace, uid=made["metadata"]["uid"])

    def replaced() -> bool:
        now = [one["metadata"]["labels"]["pod-template-hash"] for one in pods(stage, namespace, "web")]
        return len(now) == 3 and before.isdisjoint(now)

    until(replaced)
    assert pools_of(stage, namespace, "web") == {OLD.name}
    for one in pods(stage, namespace, "web"):
        assert terms(one["spec"]["affinity"]) == [{"matchExpressions": [HELD]}]


def _all(stage: Stage, namespace: str, count: int) -> list[Json]:
    return until(lambda: found if len(found := pods(stage, namespace, "web")) == count else [])


def test_a_user_s_own_zone_holds_for_real_pods_too(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Released"})
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-b"]}
    affinity = requiring({"matchExpressions": [zone]})
    stage.client.create(DEPLOYMENT, workload("web", affinity=affinity), namespace)
    pools_of(stage, namespace, "web")
    assert {one["spec"]["nodeName"] for one in pods(stage, namespace, "web")} == {"new-1"}


def test_jobs_and_daemon_sets_of_listed_names_are_free(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held", "StatefulSet.web": "Released"})
    daemons = workload("web")
    del daemons["spec"]["replicas"]
    stage.client.create(DAEMON_SET, daemons, namespace)
    assert pools_of(stage, namespace, "web", OLD.count + NEW.count) == {OLD.name, NEW.name}
    job = {"metadata": {"name": "web"}, "spec": {"template": workload("job")["spec"]["template"]}}
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    stage.client.create(JOB, job, namespace)
    (one,) = until(lambda: pods(stage, namespace, "job"))
    assert "affinity" not in one["spec"]


# --- the echo: which placement the API server goes by ---


def test_the_echo_tells_the_generation_of_the_placement(stage: Stage) -> None:
    namespace = stage.namespace()
    made = stage.place(namespace, {})
    for turn in ("Held", "Released", "Held"):
        change = {"spec": {"turns": {"Deployment.web": turn}}}
        uid = made["metadata"]["uid"]
        made = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid).object
        until(lambda made=made: stage.effective(namespace) == made["metadata"]["generation"])
    assert made["metadata"]["generation"] == 4


def test_what_the_echo_has_told_holds_for_pods(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
    turns = itertools.islice(itertools.cycle([("Released", RELEASED), ("Held", HELD)]), 40)
    for turn, wanted in turns:
        change = {"spec": {"turns": {"Deployment.web": turn}}}
        made = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid).object
        until(lambda made=made: stage.effective(namespace) == made["metadata"]["generation"], every=0.002)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [wanted]})


def test_the_echo_is_never_stored(stage: Stage, listed: str) -> None:
    assert stage.effective(listed) == 1
    found = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, listed)
    change = {"metadata": {"annotations": {"note": "by hand"}}}
    uid = found["metadata"]["uid"]
    written = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, listed, uid=uid).object
    assert written["metadata"]["annotations"] == {"note": "by hand"}
    answer = stage.client.update(WORKLOAD_PLACEMENT, written, dry_run=True).object
    assert answer["metadata"]["annotations"] == {"note": "by hand", EFFECTIVE_GENERATION: "1"}
    assert stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, listed)["metadata"]["annotations"].keys() == {
        "note"
    }


def test_an_echo_that_somebody_stored_is_no_answer(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
    lie = {"metadata": {"annotations": {EFFECTIVE_GENERATION: "99"}}}
    stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, lie, namespace, uid=uid)
    assert stage.effective(namespace) == 1
    stage.remove(_is_binding)
    until(lambda: stage.effective(namespace) == 0)
    stage.install(_is_binding)
    until(lambda: stage.effective(namespace) == 1, seconds=90)


def test_the_echo_never_takes_an_earlier_placement_for_the_new_one(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    for _ in range(20):
        uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
        stage.client.delete(WORKLOAD_PLACEMENT, PLACEMENT, namespace, uid=uid)
        stage.place(namespace, {"Deployment.web": "Released"})
        until(lambda: stage.effective(namespace), every=0.002)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [RELEASED]})
        uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
        change = {"spec": {"turns": {"Deployment.web": "Held"}}}
        stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid)


def test_the_echo_needs_no_right_to_create_pods(stage: Stage, tmp_path: Path) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    rights = {"apiGroups": ["shiplift.dev"], "resources": ["workloadplacements"], "verbs": ["get", "patch"]}
    operator_identity.make_service_account(stage.client, namespace, [rights])
    config = operator_identity.kubeconfig(
        stage.client, stage.cluster.kubeconfig, tmp_path / "kubeconfig", namespace
    )
    with Client(credentials.load(config)) as operator:
        with pytest.raises(Forbidden):
            operator.create(POD, pod_of("web"), namespace, dry_run=True)
        assert Stage(stage.cluster, operator).effective(namespace) == 1


@pytest.mark.parametrize(
    ("annotations", "generation"),
    [(None, 0), ({}, 0), ({"note": "x"}, 0)]
    + [
        ({EFFECTIVE_GENERATION: text}, number)
        for text, number in (("7", 7), ("", 0), ("x", 0), ("-1", 0), ("²", 0))
    ],
)
def test_an_answer_without_an_echo_counts_as_none(annotations: Json | None, generation: int) -> None:
    assert admission.effective_generation({"metadata": {"annotations": annotations}}) == generation


def test_an_answer_without_metadata_counts_as_none() -> None:
    assert admission.effective_generation({}) == 0


# --- nodes ---

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


# --- installed, removed, not possible ---


def _is_binding(manifest: Json) -> bool:
    return manifest["kind"] == MUTATING_ADMISSION_POLICY_BINDING.kind


def _all_of_them(_: Json) -> bool:
    return True


@pytest.mark.parametrize("which", [_is_binding, _all_of_them])
def test_what_was_removed_and_installed_again_works_again(
    stage: Stage, which: Callable[[Json], bool]
) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    for _ in range(2):
        stage.remove(which)
        until(lambda: stage.affinity(namespace, pod_of("web")) is None)
        until(lambda: stage.effective(namespace) == 0)
        stage.install(which)
        until(lambda: stage.effective(namespace) == 1, seconds=90)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [HELD]})


def test_the_manifests_can_be_applied_as_yaml_by_anyone(stage: Stage) -> None:
    for manifest in admission.manifests():
        kind, name = POLICY_KINDS[manifest["kind"]], manifest["metadata"]["name"]
        stored = stage.client.get(kind, name)
        answer = stage.client.apply(
            kind, manifest, uid=stored["metadata"]["uid"], force=True, dry_run=True
        ).object
        assert answer["spec"] == stored["spec"]
    assert msgspec.json.decode(msgspec.json.encode(admission.manifests())) == admission.manifests()


def test_the_oldest_supported_server_does_not_know_such_policies(
    private_cluster: Callable[..., Cluster],
) -> None:
    cluster = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    with cluster.client() as client:
        for manifest in admission.manifests():
            with pytest.raises(NotFound, match="the server could not find the requested resource"):
                client.create(POLICY_KINDS[manifest["kind"]], manifest)
