"""The operator inside a cluster: what is applied for it."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import msgspec
import pytest

from shiplift.engine.layer import Layer
from shiplift.facts.meta import Row
from shiplift.kube.part import Context, LayerPart, Listens, Reaches
from shiplift.local.operator_image import checkout
from shiplift.operator import inside, install
from shiplift.operator.inside import Inside, InsideError
from shiplift.operator.layers import LAYERS, chosen

Json = dict[str, Any]
SPACE = "shiplift-system"
IMAGE = "registry.example/shiplift:0.2.0"


def _make(_: Context) -> Layer[Any, Any, Any]:
    raise AssertionError("nothing is made")


def _nobody(*_: Row | object | None) -> tuple[Hashable, ...]:
    return ()


def printed(*layers: LayerPart, **more: Any) -> list[Json]:
    return inside.manifests(SPACE, layers or chosen(), Inside(image=IMAGE, **more))


def the(kind: str, found: list[Json], name: str = "shiplift") -> Json:
    [one] = [one for one in found if one["kind"] == kind and one["metadata"]["name"] == name]
    return one


def pod() -> Json:
    return the("Deployment", printed())["spec"]["template"]


def test_what_a_laptop_needs_is_all_there_and_the_same() -> None:
    found = printed()
    for one in install.manifests(SPACE, chosen()):
        if one["kind"] == "Namespace":
            continue
        assert one in found


def test_the_namespace_takes_restricted_pods_alone() -> None:
    labels = the("Namespace", printed(), SPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("space", ["kube-system", "kube-public", "kube-node-lease", "kube-tools", "default"])
def test_the_operator_does_not_run_in_a_namespace_of_the_cluster(space: str) -> None:
    """Restricted, it would take no pods of the cluster any more; and deleted with what was printed, none."""
    with pytest.raises(InsideError, match=f"namespace {space} is the cluster's") as error:
        inside.manifests(space, chosen(), Inside(image=IMAGE))
    assert "--namespace shiplift-system" in error.value.hint


def test_two_stand_on_two_nodes_and_one_may_go_at_a_time() -> None:
    found = printed()
    assert the("Deployment", found)["spec"]["replicas"] == 2
    [by_node, _] = pod()["spec"]["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert by_node["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    budget = the("PodDisruptionBudget", found)["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_everything_that_selects_the_pods_selects_them() -> None:
    found, labels = printed(), pod()["metadata"]["labels"]
    assert the("Service", found)["spec"]["selector"] == labels
    for kind, field in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert the(kind, found)["spec"][field]["matchLabels"] == labels


def test_the_container_asks_for_what_it_needs_and_has_no_way_to_more() -> None:
    [container] = pod()["spec"]["containers"]
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["spec"]["securityContext"]["runAsNonRoot"] is True
    assert pod()["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_only_a_layer_that_says_so_has_room_for_temporary_files() -> None:
    part = LayerPart("writer", (), _nobody, _make, scratch="1Gi")

    def room(found: list[Json]) -> tuple[Json, Json]:
        spec = the("Deployment", found)["spec"]["template"]["spec"]
        return spec["volumes"], spec["containers"][0]["volumeMounts"]

    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}
    mount = {"name": "scratch", "mountPath": "/tmp"}
    assert room(printed(part)) == ([volume], [mount])
    assert room(printed(*chosen(["nodes", "workloads"]))) == ([], [])


_ANYWHERE = re.compile(r"tempfile\.\w+\((?![^)]*dir=)")
"""A temporary file that is wherever such files are."""


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_layer_that_writes_temporary_files_asks_for_room(name: str) -> None:
    """The root of its pod cannot be written to."""
    folder = checkout() / "src/shiplift" / name
    found = [one.name for one in folder.rglob("*.py") if _ANYWHERE.search(one.read_text())]
    assert bool(found) is bool(LAYERS[name].scratch), found


def test_the_pod_runs_the_layers_whose_rights_are_printed() -> None:
    found = printed(*chosen(["nodes", "policy"]))
    [container] = the("Deployment", found)["spec"]["template"]["spec"]["containers"]
    words = container["args"]
    assert words[words.index("--layers") + 1] == "nodes,policy"
    assert words[words.index("--namespace") + 1] == SPACE


def test_what_a_layer_listens_on_and_calls_comes_from_its_part() -> None:
    part = LayerPart(
        "talker",
        (),
        _nobody,
        _make,
        listens=(Listens("artifacts", 9443),),
        reaches=(Reaches((9000, 9001), "servers"),),
    )
    with_it, without = printed(part), printed(*chosen(["nodes"]))

    def ports(found: list[Json]) -> list[int]:
        return [one["port"] for one in the("Service", found)["spec"]["ports"]]

    def outward(found: list[Json]) -> list[int]:
        rules = the("NetworkPolicy", found)["spec"]["egress"]
        return [one["port"] for rule in rules for one in rule["ports"]]

    assert ports(with_it) == ports(without) == [8443], (
        "a layer listens where it leads, a Service leads anywhere"
    )
    assert outward(with_it) == [53, 53, 5353, 5353, 443, 6443, 9000, 9001]
    assert outward(without) == [53, 53, 5353, 5353, 443, 6443]
    [container] = the("Deployment", with_it)["spec"]["template"]["spec"]["containers"]
    assert [one["containerPort"] for one in container["ports"]] == [8443, 9443]
    [inward] = the("NetworkPolicy", with_it)["spec"]["ingress"]
    assert [one["port"] for one in inward["ports"]] == [8443, 9443]


def test_a_proxy_is_reached_where_the_administrator_says_so() -> None:
    rules = the("NetworkPolicy", printed(*chosen(["nodes"]), egress_ports=(3128,)))["spec"]["egress"]
    assert {"port": 3128, "protocol": "TCP"} in [one for rule in rules for one in rule["ports"]]


def test_who_edits_a_namespace_orders_workloads_and_nobody_gets_the_cluster_by_that() -> None:
    edit = the("ClusterRole", printed(), inside.EDIT_ROLE)
    assert edit["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    assert [rule["resources"] for rule in edit["rules"]] == [["apptypes", "quorumservices", "workloadorders"]]
    upgrade = the("ClusterRole", printed(), inside.UPGRADE_ROLE)
    assert "labels" not in upgrade["metadata"]
    assert [rule["resources"] for rule in upgrade["rules"]] == [
        ["machinepools", "noderollouts", "operatorcatalogs", "upgradeconfigs", "workloadmigrations"],
        ["nodes"],
    ]
    bound = [one["roleRef"]["name"] for one in printed() if one["kind"] == "ClusterRoleBinding"]
    assert not {inside.UPGRADE_ROLE, inside.READER_ROLE} & set(bound)


def test_who_upgrades_a_cluster_reads_its_nodes_which_view_does_not_let_them() -> None:
    upgrade = the("ClusterRole", printed(), inside.UPGRADE_ROLE)
    [rule] = [rule for rule in upgrade["rules"] if "nodes" in rule["resources"]]
    assert rule["verbs"] == ["get", "list", "watch"]


def test_every_kind_that_people_write_is_served_by_its_layer() -> None:
    for part in LAYERS.values():
        assert set(part.written_by_people) <= set(part.own_kinds)


def test_where_people_write_nothing_there_is_no_role_for_none() -> None:
    found = {one["metadata"]["name"] for one in printed(*chosen(["policy"]))}
    assert not found & {inside.EDIT_ROLE, inside.UPGRADE_ROLE}


def test_the_fence_has_nothing_to_say_about_reviews() -> None:
    policy = the("ValidatingAdmissionPolicy", printed(), "shiplift-fence")
    matched = {
        name for rule in policy["spec"]["matchConstraints"]["resourceRules"] for name in rule["resources"]
    }
    assert not matched & {"tokenreviews", "subjectaccessreviews"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"image": ""}, "'' is no image"),
        ({"image": "shiplift"}, "is no image with a tag or a digest"),
        ({"image": "Registry/Shiplift:1"}, "is no image"),
        ({"image": "ex ample.com/shiplift:1"}, "is no image"),
        ({"image": "shiplift:1@sha256:abc"}, "is no image"),
        ({"image": "shiplift:1 --privileged"}, "is no image"),
        ({"replicas": 0}, "0 replicas cannot be"),
        ({"replicas": -1}, "-1 replicas cannot be"),
        ({"replicas": 10}, "10 replicas cannot be"),
        ({"api_ports": (0,)}, "0 is no port"),
        ({"api_ports": (443, 70000)}, "70000 is no port"),
        ({"egress_ports": (-1,)}, "-1 is no port"),
    ],
)
def test_what_cannot_be_is_named(changed: Json, said: str) -> None:
    with pytest.raises(InsideError, match=said):
        msgspec.structs.replace(Inside(image=IMAGE), **changed).checked()


@pytest.mark.parametrize("image", ["shiplift:1", "localhost:5000/a/b:1.2_3-x", f"q.io/x@sha256:{'0' * 64}"])
def test_what_names_an_image_is_taken(image: str) -> None:
    assert Inside(image=image).checked().image == image


def test_the_guide_says_what_each_right_is_for() -> None:
    """Every resource that the account may do more with than look at."""
    page = (checkout() / "docs/install.md").read_text()
    ours = {install.ACCOUNT, install.TEMPLATES_ROLE, inside.REVIEWS_ROLE}
    found = inside.manifests(SPACE, chosen(), Inside(image=IMAGE), templates=True)
    rules = [rule for one in found if one["metadata"]["name"] in ours for rule in one.get("rules", ())]
    written = {name for rule in rules if set(rule["verbs"]) - {"list", "watch"} for name in rule["resources"]}
    assert not {name for name in written if f"`{name}`" not in page}
    names = {name for rule in rules for name in rule.get("resourceNames", ())}
    assert not {name for name in names if f"`{name}`" not in page}
    roles = {one["metadata"]["name"] for one in printed() if one["kind"] == "ClusterRole"}
    assert not {name for name in roles - ours if f"`{name}`" not in page}


def _rights_told() -> dict[str, list[str]]:
    """The rights of each layer as the guide has them, row by row."""
    found: dict[str, list[str]] = {}
    layer = ""
    for row in (checkout() / "docs/install.md").read_text().splitlines():
        cells = [one.strip() for one in row.strip("|").split("|")]
        if row.startswith("|") and len(cells) == 3:
            layer = cells[0] or layer
            found.setdefault(layer, []).append(cells[1])
    return found


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_the_guide_has_every_verb_of_every_layer(name: str) -> None:
    told, part = _rights_told().get(name, []), LAYERS[name]
    rules = (*part.rules, *part.template_rules, *part.near_rules)
    rights = {
        (verb, resource)
        for rule in rules
        for verb in set(rule["verbs"]) - {"list", "watch"}
        for resource in rule["resources"]
    }
    assert not {right for right in rights if not any(_tells(row, *right) for row in told)}


def _tells(row: str, verb: str, resource: str) -> bool:
    return f"`{resource}`" in row and verb in re.findall("[a-z]+", re.sub("`[^`]*`", "", row))
