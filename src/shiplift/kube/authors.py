"""Policies that ask who writes: a change that gives power is taken only from who has that power.

    shiplift-approvals    of an UpgradeConfig: `approved` is written, and `approval: Manual` taken off, only
                          by who may `approve` upgradeconfigs; and an approval is given in one's own name.
                          Of one that came from a provider of policies the operator takes Manual off, too,
                          where the policy says so
    shiplift-node-hooks   of a NodeRollout: a hook is written only by who may create Jobs in its namespace
    shiplift-turn-hooks   of an UpgradeConfig: the same, for the hook that tells whose turn it is
    shiplift-hand-overs   of an OperatorVersion: the same, for its one hook in its own namespace; or by the
                          operator, which has it from a catalog
    shiplift-installers   of an AppType: its account is named only by who may create pods in its namespace,
                          and so could use any account of it already

They have no parameter and fail closed: while they cannot be asked, no approval and no hook is taken. What is
not about either (a pause, a new target, a status) never meets their validations. Each question to the
authorizer is dear, and the API server allows two in an expression: so there is one expression for each place
in a list.
"""

from __future__ import annotations

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.api.nodes import MOST_HOOKS
from shiplift.api.values import Approval
from shiplift.facts.kinds import (
    APP_TYPE,
    NODE_ROLLOUT,
    OPERATOR_VERSION,
    UPGRADE_CONFIG,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    Kind,
)
from shiplift.kube.policies import Manifest, matched, named, object_of
from shiplift.kube.rbac import role, rule

APPROVE = "approve"
"""The verb on upgradeconfigs: RBAC gives it to people as any other."""
PROVIDE = "provide"
"""The verb on upgradeconfigs of who writes what a provider of policies says: the operator itself."""
APPROVER = "shiplift-approver"
INSTALL = "install"
"""The verb on apptypes of who makes them for others: the operator itself."""
_WHO = "request.userInfo.username"
_HERE = "namespace(object.metadata.namespace)"
_APP_TYPES_HERE = f"authorizer.group('{APP_TYPE.group}').resource('{APP_TYPE.plural}').{_HERE}"


def approvals() -> list[Manifest]:
    """The policy, and a role for those who approve."""
    asked = f"authorizer.group('{UPGRADE_CONFIG.group}').resource('{UPGRADE_CONFIG.plural}')"
    may, brings = (
        f"{asked}.name(object.metadata.name).check('{verb}').allowed()" for verb in (APPROVE, PROVIDE)
    )
    right = f"the verb {APPROVE} on {UPGRADE_CONFIG.plural}.{UPGRADE_CONFIG.group}"
    spec: Manifest = {
        "matchConditions": named({"about-approval": f"{_approves()} || {_needs_none_any_more()}"}),
        "variables": named({"approves": _approves(), "provided": _provided()}),
        "validations": [
            _refused(
                f"{may} || (!variables.approves && variables.provided && {brings})",
                f"'user ' + {_WHO} + ' may not approve upgrades: that takes {right}'",
            ),
            _refused(
                f"!variables.approves || object.spec.approved.by == {_WHO}",
                f"'approved.by of UpgradeConfig ' + object.metadata.name + ' must be who asks: ' + {_WHO}",
            ),
        ],
    }
    return [*_policy("shiplift-approvals", UPGRADE_CONFIG, spec), approver()]


def approver() -> Manifest:
    """What an approver needs; an administrator binds it to people."""
    kind = UPGRADE_CONFIG
    return role(APPROVER, [rule(kind.group, [kind.plural], ["get", "list", "watch", "patch", APPROVE])])


def _approves() -> str:
    before = "oldObject == null || object.spec.approved != oldObject.spec.?approved.orValue(null)"
    return f"(has(object.spec.approved) && ({before}))"


def _needs_none_any_more() -> str:
    manual = f"oldObject.spec.?approval.orValue('') == '{Approval.MANUAL}'"
    return f"(oldObject != null && {manual} && object.spec.?approval.orValue('') != '{Approval.MANUAL}')"


def _provided() -> str:
    """Whether it came from a provider of policies, and still does."""
    marked = (
        f"has({one}.metadata.labels) && '{PROVIDER_LABEL}' in {one}.metadata.labels"
        for one in ("oldObject", "object")
    )
    return f"oldObject != null && {' && '.join(marked)}"


def node_hooks() -> list[Manifest]:
    """The policy for the hooks of NodeRollouts."""
    lists = ("before", "after")
    spec: Manifest = {
        "matchConditions": named({"hooks-change": _changes("hooks")}),
        "variables": named({name: f"object.spec.?hooks.?{name}.orValue([])" for name in lists}),
        "validations": [
            _may_create_jobs(
                f"variables.{name}[{number}].namespace",
                f"hook {name}[{number}] of {NODE_ROLLOUT}",
                f"size(variables.{name}) <= {number}",
            )
            for name in lists
            for number in range(MOST_HOOKS)
        ],
    }
    return _policy("shiplift-node-hooks", NODE_ROLLOUT, spec)


def turn_hooks() -> list[Manifest]:
    """The policy for the hook of an UpgradeConfig."""
    spec: Manifest = {
        "matchConditions": named({"hook-changes": _changes("turnHook")}),
        "validations": [
            _may_create_jobs(
                "object.spec.turnHook.namespace",
                f"turnHook of {UPGRADE_CONFIG}",
                "!has(object.spec.turnHook)",
            )
        ],
    }
    return _policy("shiplift-turn-hooks", UPGRADE_CONFIG, spec)


def hand_overs() -> list[Manifest]:
    """The policy for the hooks of OperatorVersions. The operator writes them as catalogs have them, and makes
    their Jobs as the account of the AppType, never as itself."""
    unless = f"!has(object.spec.handOver) || {_APP_TYPES_HERE}.check('{INSTALL}').allowed()"
    spec: Manifest = {
        "matchConditions": named({"hook-changes": _changes("handOver")}),
        "validations": [
            _may_create_jobs("object.metadata.namespace", f"handOver of {OPERATOR_VERSION}", unless)
        ],
    }
    return _policy("shiplift-hand-overs", OPERATOR_VERSION, spec)


def installers() -> list[Manifest]:
    """The policy for the accounts of AppTypes; who makes them for others has the verb `install` instead."""
    now, then = (f"{one}.spec.?serviceAccountName.orValue('')" for one in ("object", "oldObject"))
    pods = f"authorizer.group('').resource('pods').{_HERE}.check('create').allowed()"
    told = (
        "' may not create pods in namespace ' + object.metadata.namespace + ', and so not name its accounts'"
    )
    spec: Manifest = {
        "matchConditions": named({"account-changes": f"oldObject == null || {now} != {then}"}),
        "validations": [
            _refused(
                f"{pods} || {_APP_TYPES_HERE}.check('{INSTALL}').allowed()",
                f"'AppType ' + object.metadata.name + ': user ' + {_WHO} + {told}",
            )
        ],
    }
    return _policy("shiplift-installers", APP_TYPE, spec)


def _changes(field: str) -> str:
    now, then = (f"{one}.spec.?{field}.orValue(null)" for one in ("object", "oldObject"))
    return f"oldObject == null ? has(object.spec.{field}) : {now} != {then}"


def _may_create_jobs(namespace: str, what: str, unless: str) -> Manifest:
    may = f"authorizer.group('batch').resource('jobs').namespace({namespace}).check('create').allowed()"
    named = f"'{what} ' + object.metadata.name + ': '"
    told = f"{named} + 'user ' + {_WHO} + ' may not create Jobs in namespace ' + {namespace}"
    return _refused(f"{unless} || {may}", told)


def _refused(unless: str, told: str) -> Manifest:
    return {"expression": unless, "messageExpression": told, "reason": "Forbidden"}


def _policy(name: str, kind: Kind, spec: Manifest) -> list[Manifest]:
    looks: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [matched(kind, "CREATE", "UPDATE")]},
    }
    bound: Manifest = {"policyName": name, "validationActions": ["Deny"]}
    return [
        object_of(VALIDATING_ADMISSION_POLICY, name, looks | spec),
        object_of(VALIDATING_ADMISSION_POLICY_BINDING, name, bound),
    ]
