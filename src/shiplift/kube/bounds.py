"""The bounds of our user, whatever RBAC lets it do: of any pod spec it changes the tolerations, and the Nodes
that it makes are simulated.

RBAC grants a whole object. Whoever may patch pods or workloads can have any image run under any
ServiceAccount of their namespaces, and in one of those is somebody who may do everything. So a
ValidatingAdmissionPolicy looks at what our user writes: of a pod, and of the pod template of a workload,
every field but `spec.tolerations` stays as it was, those that a later Kubernetes adds too; and so do a
template's labels and annotations, by which others give pods sidecars and roles in clouds. Replicas are
changed through `scale`, which has no template.

One exception: where a Role of its namespace gives our user the verb `swap` on quorumservices, images of the
containers of StatefulSets may be changed too, and nothing else of these containers.

Of Nodes it makes those of simulated machines: marked as kwok's, and with the label of their pool. Whoever
could make any Node could take the name of one that is still to join.

Both fail closed (`Fail`), which the fence cannot: they need no parameter, and their one match condition
reads only who asks. So nobody but our user ever meets them.
"""

from __future__ import annotations

from shiplift.api.marks import POOL_LABEL
from shiplift.facts.kinds import (
    NODE,
    QUORUM_SERVICE,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from shiplift.facts.nodes import FAKE, SIMULATED
from shiplift.kube.policies import Manifest, matched, named, object_of, text

NAME = "shiplift-bounds"

_WITH_POD_SPECS = {
    "": ["pods", "pods/ephemeralcontainers", "pods/resize", "podtemplates", "replicationcontrollers"],
    "apps": ["daemonsets", "deployments", "replicasets", "statefulsets"],
    "batch": ["cronjobs", "jobs"],
}
_FREE = "tolerations"
SWAP = "swap"
"""The verb on quorumservices that lets images be changed."""


def manifests(username: str, name: str = NAME) -> list[Manifest]:
    """What an administrator installs, for that user."""
    return [*_bound(name, _policy(username)), *_bound(f"{name}-of-nodes", _of_nodes(username))]


def _bound(name: str, policy: Manifest) -> list[Manifest]:
    bound: Manifest = {"policyName": name, "validationActions": ["Deny"]}
    return [
        object_of(VALIDATING_ADMISSION_POLICY, name, policy),
        object_of(VALIDATING_ADMISSION_POLICY_BINDING, name, bound),
    ]


def _for(username: str, *rules: Manifest) -> Manifest:
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": list(rules)},
        "matchConditions": named({"sent-by-shiplift": f"request.userInfo.username == {text(username)}"}),
    }


def _of_nodes(username: str) -> Manifest:
    simulated = f"object.metadata.?annotations[?{text(SIMULATED)}].orValue('') == {text(FAKE)}"
    of_pool = f"{text(POOL_LABEL)} in object.metadata.?labels.orValue({{}})"
    return _for(username, matched(NODE, "CREATE")) | {
        "validations": [
            {
                "expression": f"{simulated} && {of_pool}",
                "messageExpression": "'node ' + object.metadata.name + ' is not a simulated one of a pool'",
                "reason": "Forbidden",
            }
        ],
    }


def _policy(username: str) -> Manifest:
    return _for(username, *_matched()) | {
        "variables": named(_variables()),
        "validations": [
            {
                "expression": f"size(variables.changed) == 0 || ({_only_swaps()})",
                "messageExpression": f"'of a pod spec {_FREE} may be changed and nothing else, not '"
                " + variables.changed.join(', ')",
                "reason": "Forbidden",
            }
        ],
    }


def _matched() -> list[Manifest]:
    return [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": resources}
        for group, resources in _WITH_POD_SPECS.items()
    ]


def _variables() -> dict[str, str]:
    """What would be changed, as a list of fields."""
    now, was = "variables.now.spec", "variables.was.spec"
    differs = f"!(key in {now}) || {now}[key] != {was}[key]"
    return {
        "now": _template("object"),
        "was": _template("oldObject"),
        "about": "request.resource.resource != 'pods' && ['labels', 'annotations'].exists(key,"
        " variables.now.?metadata[?key].orValue({}) != variables.was.?metadata[?key].orValue({}))",
        "changed": f"{was}.filter(key, key != '{_FREE}' && ({differs}))"
        f" + {now}.filter(key, key != '{_FREE}' && !(key in {was}))"
        " + (variables.about ? ['metadata'] : [])",
    }


def _only_swaps() -> str:
    """Of a StatefulSet's containers only images differ, and our user may swap in that namespace. Not a
    variable: the message is made from variables, and may not ask the authorizer."""
    now, was = "variables.now.spec.containers", "variables.was.spec.containers"
    kept = "before.all(key, key == 'image' || (key in after && after[key] == before[key]))"
    no_more = "after.all(key, key == 'image' || key in before)"
    same = f"{was}.exists(before, before.name == after.name && {kept} && {no_more})"
    asked = f"authorizer.group({text(QUORUM_SERVICE.group)}).resource({text(QUORUM_SERVICE.plural)})"
    may = f"{asked}.namespace(request.namespace).check({text(SWAP)}).allowed()"
    is_set = "request.resource.resource == 'statefulsets' && variables.changed == ['containers']"
    return f"{is_set} && size({now}) == size({was}) && {now}.all(after, {same}) && {may}"


def _template(thing: str) -> str:
    """Where metadata and spec of the pods are: a pod is its own template."""
    places = {
        "pods": thing,
        "podtemplates": f"{thing}.template",
        "cronjobs": f"{thing}.spec.jobTemplate.spec.template",
    }
    chosen = "".join(
        f"request.resource.resource == '{plural}' ? {place} : " for plural, place in places.items()
    )
    return f"{chosen}{thing}.spec.template"
