"""The bounds of our user: of any pod spec it changes the tolerations, whatever RBAC lets it patch.

RBAC grants a whole object. Whoever may patch pods or workloads can have any image run under any
ServiceAccount of their namespaces, and in one of those is somebody who may do everything. So a
ValidatingAdmissionPolicy looks at what our user writes: of a pod, and of the pod template of a workload,
every field but `spec.tolerations` stays as it was, those that a later Kubernetes adds too; and so do a
template's labels and annotations, by which others give pods sidecars and roles in clouds. Replicas are
changed through `scale`, which has no template.

It fails closed (`Fail`), which the fence cannot: it needs no parameter, and its one match condition reads
only who asks. So nobody but our user ever meets it.
"""

from __future__ import annotations

from shiplift.facts.kinds import VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING
from shiplift.kube.policies import Manifest, named, object_of, text

NAME = "shiplift-bounds"

_WITH_POD_SPECS = {
    "": ["pods", "pods/ephemeralcontainers", "pods/resize", "podtemplates", "replicationcontrollers"],
    "apps": ["daemonsets", "deployments", "replicasets", "statefulsets"],
    "batch": ["cronjobs", "jobs"],
}
_FREE = "tolerations"


def manifests(username: str, name: str = NAME) -> list[Manifest]:
    """What an administrator installs, for that user."""
    bound: Manifest = {"policyName": name, "validationActions": ["Deny"]}
    return [
        object_of(VALIDATING_ADMISSION_POLICY, name, _policy(username)),
        object_of(VALIDATING_ADMISSION_POLICY_BINDING, name, bound),
    ]


def _policy(username: str) -> Manifest:
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": _matched()},
        "matchConditions": named({"sent-by-shiplift": f"request.userInfo.username == {text(username)}"}),
        "variables": named(_variables()),
        "validations": [
            {
                "expression": "size(variables.changed) == 0",
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
