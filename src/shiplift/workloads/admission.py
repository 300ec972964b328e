"""The admission policies of mode Inject: the API server itself sends new pods where they should go.

Two MutatingAdmissionPolicies, static and installed by an administrator with the fence: whoever may write
such policies owns the cluster, so the operator only writes their parameters, which are our own kinds.
(A ConfigMap as parameter would go blind once the last policy on it is gone: kubernetes/kubernetes#130887.)

    shiplift-pods    a new pod of a workload that is listed in its namespace's WorkloadPlacement keeps off the
                     target nodes (Held) or off the others (Released); every other pod is left alone. The same
                     policy answers the echo: a dry run of an update of a WorkloadPlacement tells which
                     generation of it this API server goes by; nothing of that is ever stored. In the first
                     seconds of a new CRD the answer is 503, whatever `Ignore` says: as good as none
    shiplift-nodes   a new node gets the label of its version, in mode Template its taint too, before anything
                     can be scheduled to it

Pods are steered and the echo is answered by one policy through one binding, so that what is proven is what
steers: without either there is no answer.

What is kept true: no pod or node is ever refused because of us (`Ignore`, `Allow`), those that are not meant
are not even touched (match conditions, because a mutation that changes nothing still costs a conversion), and
what a user asked for only ever becomes narrower. Pods are kept off by `NotIn`: it stays true when the labels
are gone, while a label that must be there would kill the pod when the kubelet looks again after its restart
(kubernetes/kubernetes#124586).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shiplift.api.marks import (
    MANAGED_BY,
    MANAGER,
    OFF_TARGET_LABEL,
    OFF_TARGET_TAINT,
    TARGET_LABEL,
    UPGRADE_TAINT,
)
from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.values import SelectorOperator, TaintEffect
from shiplift.api.workloads import MigrationState, Mode, WorkloadKind
from shiplift.facts.kinds import (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    NODE,
    POD,
    REPLICA_SET,
    WORKLOAD_MIGRATION,
    WORKLOAD_PLACEMENT,
    Kind,
)
from shiplift.kube.policies import Manifest, json_patches, matched, named, object_of, parameter
from shiplift.workloads.names import GENERATION_IN_FORCE, MIGRATION, PODS_POLICY

NODES_POLICY = "shiplift-nodes"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_HASH = "pod-template-hash"
_OURS = {MANAGED_BY: MANAGER}


def manifests() -> list[Manifest]:
    """What an administrator installs, after the CRDs and in this order.

    The one that answers the echo comes last: an API server that answers has seen the other too.
    """
    pods = {POD: "CREATE", WORKLOAD_PLACEMENT: "UPDATE"}
    return [
        *_policy(NODES_POLICY, {NODE: "CREATE"}, (WORKLOAD_MIGRATION, MIGRATION), _nodes()),
        *_policy(PODS_POLICY, pods, (WORKLOAD_PLACEMENT, PLACEMENT), _pods_and_echo()),
    ]


ASK: Mapping[str, Any] = {"metadata": {"annotations": {GENERATION_IN_FORCE: None}}}
"""The merge patch of a WorkloadPlacement to send as a dry run: an echo that somebody stored is no answer."""


def effective_generation(answer: Mapping[str, Any]) -> int:
    """Which generation of that WorkloadPlacement the API server goes by, as it answered to `ASK`.

    0 when it knows none: not yet that object, or the policies are not installed.
    """
    annotations: Mapping[str, str] = answer.get("metadata", {}).get("annotations") or {}
    text = annotations.get(GENERATION_IN_FORCE, "")
    return int(text) if text.isascii() and text.isdigit() else 0


# --- the parts of a policy ---


def _policy(name: str, on: Mapping[Kind, str], param: tuple[Kind, str], what: Manifest) -> list[Manifest]:
    """The policy, for these operations, and the binding that gives it its parameter: of the request's
    namespace, if it has one."""
    spec: Manifest = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "paramKind": parameter(param[0]),
        "matchConstraints": {"resourceRules": [matched(kind, operation) for kind, operation in on.items()]},
        **what,
    }
    bound = {"policyName": name, "paramRef": {"name": param[1], "parameterNotFoundAction": "Allow"}}
    return [
        object_of(MUTATING_ADMISSION_POLICY, name, spec, _OURS),
        object_of(MUTATING_ADMISSION_POLICY_BINDING, name, bound, _OURS),
    ]


def _add(path: str, value: str) -> str:
    """One JSON patch; both are expressions."""
    return f"[JSONPatch{{op: 'add', path: {path}, value: {value}}}]"


def _add_entry(field: str, key: str, value: str) -> str:
    """An entry of a map of texts (labels or annotations) that may be absent."""
    into = _add(f"'/metadata/{field}/' + jsonpatch.escapeKey({key})", value)
    whole = _add(f"'/metadata/{field}'", f"{{{key}: {value}}}")
    return f"has(object.metadata.{field}) ? {into} : {whole}"


# --- pods, and the echo ---

_IS_POD = f"request.resource.resource == '{POD.plural}'"


def _pods_and_echo() -> Manifest:
    turn = f"params.spec.?turns[?{_owner()}].orValue('')"
    listed = f"has(object.metadata.ownerReferences) && {turn} in ['{Turn.HELD}', '{Turn.RELEASED}']"
    asked = "request.dryRun && params.metadata.uid == oldObject.metadata.uid"
    echo = _add_entry("annotations", f"'{GENERATION_IN_FORCE}'", "string(params.metadata.generation)")
    return {
        "matchConditions": named({"pod-is-listed-or-asked": f"{_IS_POD} ? {listed} : {asked}"}),
        "variables": named(
            {
                "avoid": f"{turn} == '{Turn.HELD}' ? '{TARGET_LABEL}' : '{OFF_TARGET_LABEL}'",
                "rule": "{'key': dyn(variables.avoid), 'operator': dyn('NotIn'),"
                " 'values': dyn([params.spec.target])}",
                "terms": f"object.spec.?affinity.?nodeAffinity.?{_REQUIRED}.?nodeSelectorTerms",
            }
        ),
        "mutations": json_patches(f"{_IS_POD} ? ({_affinity()}) : ({echo})"),
    }


def _owner() -> str:
    """The key of the workload in a WorkloadPlacement (`Deployment.web`), or nothing.

    A ReplicaSet of a Deployment is called like it, with a hash that is also a label of its pods.
    """
    ours = f"one.?controller.orValue(false) && one.apiVersion.startsWith('{REPLICA_SET.group}/')"
    digest = f"object.metadata.?labels[?'{_HASH}'].orValue('')"
    by_kind = (
        f"one.kind == '{WorkloadKind.STATEFUL_SET}' ? '{WorkloadKind.STATEFUL_SET}.' + one.name"
        f" : one.kind == '{REPLICA_SET.kind}' && {digest} != '' && one.name.endsWith('-' + {digest})"
        f" ? '{WorkloadKind.DEPLOYMENT}.' + one.name.substring(0, size(one.name) - size({digest}) - 1) : ''"
    )
    return f"object.metadata.ownerReferences.filter(one, {ours}).map(one, {by_kind})[?0].orValue('')"


def _affinity() -> str:
    """The rule in every term that the user required (one that holds is enough), else in one of its own."""
    required = "{'nodeSelectorTerms': [{'matchExpressions': [variables.rule]}]}"
    affinity = f"{{'{_REQUIRED}': {required}}}"
    path = "/spec/affinity/nodeAffinity"
    cases = (
        ("variables.terms", _add(f"'{path}/{_REQUIRED}/nodeSelectorTerms'", _narrower())),
        ("object.spec.?affinity.?nodeAffinity", _add(f"'{path}/{_REQUIRED}'", required)),
        ("object.spec.?affinity", _add(f"'{path}'", affinity)),
    )
    otherwise = _add("'/spec/affinity'", f"{{'nodeAffinity': {affinity}}}")
    return "".join(f"{there}.hasValue() ? {patch} : " for there, patch in cases) + otherwise


def _narrower() -> str:
    """An empty term means no node at all and stays so: with our rule in it, it would mean nearly all."""
    expressions, fields = "term.?matchExpressions.orValue([])", "term.?matchFields.orValue([])"
    there = (
        f"{expressions}.exists(one, one.key == variables.avoid && one.operator == 'NotIn'"
        " && one.values == [params.spec.target])"
    )
    term = f"{{'matchExpressions': dyn({expressions} + [variables.rule]), 'matchFields': dyn({fields})}}"
    kept = f"size({expressions}) + size({fields}) == 0 || {there}"
    return f"variables.terms.value().map(term, {kept} ? dyn(term) : dyn({term}))"


# --- nodes ---


def _nodes() -> Manifest:
    return {
        "matchConditions": named({"migration-runs": _migration_runs(), "node-in-scope": _in_scope()}),
        "variables": named(
            {
                "value": "params.status.target.replace('+', '_').find('^.*[A-Za-z0-9]')",
                "onTarget": _on_target(),
                "label": f"variables.onTarget ? '{TARGET_LABEL}' : '{OFF_TARGET_LABEL}'",
                "tainted": f"params.status.?mode.orValue('') == '{Mode.TEMPLATE}'",
                "taint": f"{{'key': variables.onTarget ? '{UPGRADE_TAINT}' : '{OFF_TARGET_TAINT}',"
                " 'value': variables.value, 'effect': variables.onTarget"
                f" ? '{TaintEffect.NO_SCHEDULE}' : '{TaintEffect.PREFER_NO_SCHEDULE}'}}",
            }
        ),
        "mutations": json_patches(
            _add_entry("labels", "variables.label", "variables.value"),
            f"!variables.tainted ? [] : {_add_taint()}",
        ),
    }


def _on_target() -> str:
    """As `engine.versions.reaches`: a minor is reached by every version of it, and of a newer one."""
    runs, target = "object.status.nodeInfo.kubeletVersion", "params.status.target"
    minor = f"{target}.matches('^v[0-9]+[.][0-9]+$') && {runs}.matches('^v[0-9]+[.][0-9]+[.]')"
    same_major = f"{runs}.split('.')[0] == {target}.split('.')[0]"
    newer = f"int({runs}.split('.')[1]) >= int({target}.split('.')[1])"
    return f"{minor} ? {same_major} && {newer} : {runs} == {target}"


def _add_taint() -> str:
    there = "one.key == variables.taint.key && one.effect == variables.taint.effect"
    into, whole = _add("'/spec/taints/-'", "variables.taint"), _add("'/spec/taints'", "[variables.taint]")
    return f"!has(object.spec.taints) ? {whole} : object.spec.taints.exists(one, {there}) ? [] : {into}"


def _migration_runs() -> str:
    return (
        f"params.?status.?state.orValue('') == '{MigrationState.UPGRADE}' && has(params.status.target)"
        " && !params.?spec.?abort.orValue(false) && !has(params.metadata.deletionTimestamp)"
        " && object.?status.?nodeInfo.?kubeletVersion.orValue('') != ''"
    )


def _in_scope() -> str:
    """The selector of the WorkloadMigration on the labels of the new node."""
    labels = "object.metadata.?labels.orValue({})"
    chosen = f"one.key in {labels} && {labels}[one.key] in one.values"
    by_operator = {
        SelectorOperator.IN: chosen,
        SelectorOperator.NOT_IN: f"!({chosen})",
        SelectorOperator.EXISTS: f"one.key in {labels}",
        SelectorOperator.DOES_NOT_EXIST: f"!(one.key in {labels})",
    }
    selector = "params.?spec.?nodeSelector"
    return (
        f"{selector}.?matchLabels.orValue({{}}).all(key, key in {labels} && {labels}[key] =="
        f" {selector}.?matchLabels.orValue({{}})[key])"
        f" && {selector}.?matchExpressions.orValue([]).all(one, {_any(by_operator.items())})"
    )


def _any(cases: Iterable[tuple[str, str]]) -> str:
    return " || ".join(f"one.operator == '{operator}' && {holds}" for operator, holds in cases)
