"""What the credentials of a node may write about us on its own Node: what its agent says, and nothing else.

An agent writes with the credentials of its machine's kubelet. The API server lets these write any annotation
of their own Node, most labels and `unschedulable`. So whoever steals them could order changes, opt out of
rollouts, or take our cordon off. This ValidatingAdmissionPolicy looks at what nodes write on Nodes, through
`status` too, by which metadata can be changed as well:

    annotations   of our domain only the agent's own: current versions, `ready`, `outcome`, `agent`
    labels        of our domain none; when a Node is made, those that our own policy has put there by then
    cordon        one that a rollout of ours has made is not taken off

Let through is what is not ours: other annotations and labels, taints (NodeRestriction guards these), and
`unschedulable` where no rollout of ours has cordoned the node. A kubelet registers unschedulable where it is
told to, machines cordon themselves when they shut down, and some systems cordon and uncordon their own
machines with these credentials. A node that takes itself out of service could as well say that it is not
Ready.

It fails closed: nothing of it can fail but an expression that becomes too dear, and that takes a Node with
far more in it than a real one has. A heartbeat that changes no label, no annotation and no cordon never
meets it.
"""

from __future__ import annotations

from shiplift.agent.protocol import AGENT_KEYS, CURRENT_VERSION
from shiplift.api.marks import CORDONED_BY, OFF_TARGET_LABEL, QUARANTINED_BY, TARGET_LABEL
from shiplift.facts.kinds import (
    GROUP,
    NODE,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from shiplift.kube.policies import Manifest, matched, named, object_of, text

NAME = "shiplift-node-trust"
KINDS = (VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)
"""Of this name there is one of each."""
_GIVEN_AT_CREATION = (TARGET_LABEL, OFF_TARGET_LABEL)
"""By the policy `shiplift-nodes` of the layer `workloads`, in the name of whoever makes the Node."""
_WHO = "'node ' + object.metadata.name + ': credentials of a node may not '"


def manifests(name: str = NAME) -> list[Manifest]:
    """What an administrator installs."""
    bound: Manifest = {"policyName": name, "validationActions": ["Deny"]}
    return [
        object_of(VALIDATING_ADMISSION_POLICY, name, _policy()),
        object_of(VALIDATING_ADMISSION_POLICY_BINDING, name, bound),
    ]


def weakness(policy: Manifest | None, binding: Manifest | None) -> str:
    """Why these, as they are in a cluster, keep no node to what its agent may say; empty where they do."""
    if policy is None:
        return f"ValidatingAdmissionPolicy {NAME} is gone"
    if binding is None:
        return f"ValidatingAdmissionPolicyBinding {NAME} is gone"
    if policy["spec"].get("failurePolicy") != "Fail" or not policy["spec"].get("validations"):
        return f"ValidatingAdmissionPolicy {NAME} was changed, and refuses less than it should"
    bound = binding["spec"]
    denies = bound.get("policyName") == NAME and "Deny" in bound.get("validationActions", ())
    if not denies or _is_narrowed(bound.get("matchResources") or {}):
        return f"ValidatingAdmissionPolicyBinding {NAME} was changed, and refuses less than it should"
    return ""


def _is_narrowed(match: Manifest) -> bool:
    """Whether a binding leaves out some of what its policy is about; empty selectors are the server's own."""
    return any(match.get(key) for key in ("objectSelector", "resourceRules", "excludeResourceRules"))


def _policy() -> Manifest:
    rule = matched(NODE, "CREATE", "UPDATE") | {"resources": [NODE.plural, f"{NODE.plural}/status"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": named({"sent-by-a-node": _IS_NODE, "changes-more-than-status": _CHANGES}),
        "variables": named(_variables()),
        "validations": [
            _refused(
                "size(variables.annotations) == 0",
                "'change annotations ' + variables.annotations.join(', ')",
            ),
            _refused("size(variables.labels) == 0", "'change labels ' + variables.labels.join(', ')"),
            _refused(
                "!variables.uncordons",
                f"'take off the cordon of NodeRollout ' + {_OWNER}",
            ),
        ],
    }


_OWNER = " + ".join(
    f"oldObject.metadata.annotations[?{text(mark)}].orValue('')" for mark in (CORDONED_BY, QUARANTINED_BY)
)
"""A node has one of these marks."""
_IS_NODE = (
    "request.userInfo.username.startsWith('system:node:')"
    " || request.userInfo.?groups.orValue([]).exists(one, one == 'system:nodes')"
)
_CHANGES = " || ".join(
    (
        "oldObject == null",
        *(
            f"object.{field}.orValue({empty}) != oldObject.{field}.orValue({empty})"
            for field, empty in (
                ("spec.?unschedulable", "false"),
                ("metadata.?annotations", "{}"),
                ("metadata.?labels", "{}"),
            )
        ),
    )
)


def _variables() -> dict[str, str]:
    annotation = f"key in [{', '.join(map(text, AGENT_KEYS))}] || key.endsWith({text(CURRENT_VERSION)})"
    label = f"oldObject == null && key in [{', '.join(map(text, _GIVEN_AT_CREATION))}]"
    marks = "oldObject.metadata.?annotations.orValue({})"
    cordoned = f"({text(CORDONED_BY)} in {marks} || {text(QUARANTINED_BY)} in {marks})"
    was, is_ = (f"{one}.spec.?unschedulable.orValue(false)" for one in ("oldObject", "object"))
    return {
        "annotationsNow": "object.metadata.?annotations.orValue({})",
        "annotationsBefore": "oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})",
        "labelsNow": "object.metadata.?labels.orValue({})",
        "labelsBefore": "oldObject == null ? {} : oldObject.metadata.?labels.orValue({})",
        "annotations": _changed("variables.annotationsNow", "variables.annotationsBefore", annotation),
        "labels": _changed("variables.labelsNow", "variables.labelsBefore", label),
        "uncordons": f"oldObject != null && {cordoned} && {was} && !{is_}",
    }


def _changed(now: str, before: str, free: str) -> str:
    """The keys of our domain that are other than before, but for those that are free to change."""
    ours = f"(key.startsWith({text(f'{GROUP}/')}) || key.contains({text(f'.{GROUP}/')})) && !({free})"
    differs = f"!(key in {before}) || {before}[key] != {now}[key]"
    return f"{now}.filter(key, {ours} && ({differs})) + {before}.filter(key, {ours} && !(key in {now}))"


def _refused(unless: str, told: str) -> Manifest:
    return {"expression": unless, "messageExpression": f"{_WHO} + {told}", "reason": "Forbidden"}
