"""The fence: once a new leader has raised the epoch, the API server refuses what an older one still sends.

A ValidatingAdmissionPolicy compares the current epoch with the field manager of each write
(`shiplift-<epoch>`). It looks at what our own user writes, and at what anybody writes under such a manager:
that is us too, by impersonation. What it keeps true, write by write:

    patch, update, create, eviction   refused unless the field manager carries the current epoch
    server-side apply                 has one fixed manager: not refused by epoch, harmless by its uid; under
                                      that name nothing else passes
    delete                            has no field manager: not refused by epoch, harmless by uid and
                                      resourceVersion, and refused without them
    any of our user's, from a pod     refused unless the pod, known from its bound token, is the leader's
    the epoch itself                  only goes up, and only to the epoch that the field manager names; it is
                                      raised once: who finds it raised by another takes a later one
    our Lease, Events                 not fenced: a follower must be able to write them

The epoch is kept in annotations of a ServiceAccount that nothing runs as (the epoch's home), because the API
server watches ServiceAccounts in any case. A policy with a ConfigMap as its parameter would make it hold all
ConfigMaps of the cluster in memory; and once the last such policy is gone, that watch stops until the server
is restarted (kubernetes/kubernetes#130887, seen on 1.36.3), so that a fence installed anew would be blind.

The policy fails open (`Ignore`, `Allow`), on purpose. The API server looks for the parameter before it looks
at who asks, so a fence that failed closed would refuse everybody's writes without it. A new leader therefore
proves by dry run that it holds (`wait_effective`) before it acts, and again every minute while it does. With
several API servers each has its own view of the epoch, some milliseconds old: claims and preconditions cover
that moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec

from shiplift.facts.kinds import (
    LEASE,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    Kind,
)
from shiplift.kube.client import APPLY_MANAGER, Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import (
    NOT_THE_SERVER,
    BadAnswer,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    Unauthorized,
    Unknown,
)
from shiplift.kube.lease import LAST_EPOCH
from shiplift.kube.lease import MANAGER as ELECTION_MANAGER
from shiplift.kube.policies import Manifest, named, object_of, parameter, text
from shiplift.kube.rbac import Rule, rule

HOME = Kind("ServiceAccount", "serviceaccounts")
EPOCH = "shiplift.dev/epoch"
POD = "shiplift.dev/leader-pod"

_POD_UID = "authentication.kubernetes.io/pod-uid"
_SELF_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_WRITES = {
    "create": "CREATE",
    "update": "UPDATE",
    "patch": "UPDATE",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_EVENTS = "events"
_ATTEMPTS = 5
_PROBE_SECONDS = 0.05


class FenceError(KubeError):
    """The fence does not hold; nobody may act on the cluster behind it."""


class StaleEpoch(FenceError):  # noqa: N818 - says what the epoch is
    """A later leader has raised the epoch already: this one is over."""


class Names(msgspec.Struct, frozen=True):
    """Whom the fence is for and what its objects are called."""

    namespace: str
    username: str
    lease: str = "shiplift"
    fence: str = "shiplift-fence"


def service_account(namespace: str, name: str) -> str:
    """The user name that the API server knows a ServiceAccount by."""
    return f"system:serviceaccount:{namespace}:{name}"


def manager(epoch: int) -> str:
    """The field manager of every fenced write of that epoch."""
    return f"shiplift-{epoch}"


def refused(error: KubeError, names: Names) -> bool:
    """Whether it was this fence that refused a write, and not RBAC or another policy."""
    return isinstance(error, Forbidden) and f"ValidatingAdmissionPolicy '{names.fence}'" in error.message


# --- manifests ---


def manifests(names: Names, rules: Iterable[Rule]) -> list[Manifest]:
    """What an administrator installs. `rules` are the operator's RBAC: what it may write is fenced."""
    return [home(names), policy(names, rules), binding(names)]


def home(names: Names) -> Manifest:
    """The epoch's home, without an epoch: so installing it again never turns the epoch back."""
    return {
        "apiVersion": HOME.api_version,
        "kind": HOME.kind,
        "metadata": {"name": names.fence, "namespace": names.namespace},
        "automountServiceAccountToken": False,
    }


def policy(names: Names, rules: Iterable[Rule]) -> Manifest:
    """The admission policy. It looks only at kinds that we may write: writes to all others never meet it."""
    spec: Manifest = {
        "failurePolicy": "Ignore",
        "paramKind": parameter(HOME),
        "matchConstraints": {"resourceRules": _matched(names, rules)},
        "matchConditions": named(
            {"sent-by-shiplift": f"{_by_our_user(names)} || {_MANAGER}.matches('^shiplift-[0-9]+$')"}
        ),
        "variables": _variables(names),
        "validations": _validations(),
    }
    return object_of(VALIDATING_ADMISSION_POLICY, names.fence, spec)


def binding(names: Names) -> Manifest:
    """Ties the policy to the epoch's home."""
    spec: Manifest = {
        "policyName": names.fence,
        "paramRef": {
            "name": names.fence,
            "namespace": names.namespace,
            "parameterNotFoundAction": "Allow",
        },
        "validationActions": ["Deny"],
    }
    return object_of(VALIDATING_ADMISSION_POLICY_BINDING, names.fence, spec)


def rules(names: Names) -> list[Rule]:
    """The RBAC that a leader needs in its own namespace; it may not make, replace or remove the fence."""
    return [
        rule(HOME.group, [HOME.plural], ["get", "update"], [names.fence]),
        rule(LEASE.group, [LEASE.plural], ["get", "patch"], [names.lease]),
    ]


def _matched(names: Names, rules: Iterable[Rule]) -> list[Manifest]:
    own = [
        _match([HOME.group], [HOME.plural], ["UPDATE", "DELETE"], [names.fence]),
        _match([LEASE.group], [LEASE.plural], ["CREATE", "UPDATE", "DELETE"], [names.lease]),
    ]
    return own + [matched for rule in rules if (matched := _from_rbac(rule))]


def _from_rbac(rule: Rule) -> Manifest | None:
    operations = sorted({_WRITES[verb] for verb in rule["verbs"] if verb in _WRITES})
    resources = [name for name in rule["resources"] if name != _EVENTS]
    if not operations or not resources:
        return None
    return _match(rule["apiGroups"], resources, operations, rule.get("resourceNames", []))


def _match(groups: list[str], resources: list[str], operations: list[str], names: list[str]) -> Manifest:
    matched: Manifest = {
        "apiGroups": groups,
        "apiVersions": ["*"],
        "operations": operations,
        "resources": resources,
    }
    # a create has its name in the body: RBAC cannot see it there, admission can
    return matched | ({"resourceNames": names} if names else {})


def _variables(names: Names) -> list[Manifest]:
    """Each reads one thing, and none can fail: with `Ignore`, a failing one would let a write through."""
    expressions = {
        "manager": _MANAGER,
        "ours": _by_our_user(names),
        "pod": f"request.userInfo.?extra[?'{_POD_UID}'][?0].orValue('')",
        "epoch": _annotation("params", EPOCH, "0"),
        "leader": _annotation("params", POD, ""),
        "election": _request_for(LEASE.plural, names.namespace, names.lease)
        + f" && variables.manager == '{ELECTION_MANAGER}'",
        "raising": _request_for(HOME.plural, names.namespace, names.fence),
        "before": _annotation("oldObject", EPOCH, "0"),
        "after": _annotation("object", EPOCH, ""),
        "successor": _annotation("object", POD, ""),
        "applied": f"{_MANAGER} == '{APPLY_MANAGER}' && {_written_by('Apply')} && !{_written_by('Update')}",
        "guarded": " && ".join(
            f"request.?options.?preconditions.?{field}.orValue('') != ''"
            for field in ("uid", "resourceVersion")
        ),
    }
    return named(expressions)


_MANAGER = "request.?options.?fieldManager.orValue('')"


def _by_our_user(names: Names) -> str:
    return f"request.userInfo.username == {text(names.username)}"


def _written_by(operation: str) -> str:
    """Whether our manager of applies has fields of the object by that operation: a patch under its name that
    sets anything leaves an `Update`, and what is never applied to, as an eviction, has no entry at all."""
    return (
        "object.?metadata.?managedFields.orValue([]).exists(one,"
        f" one.?manager.orValue('') == '{APPLY_MANAGER}' && one.?operation.orValue('') == '{operation}')"
    )


def _annotation(thing: str, key: str, absent: str) -> str:
    return f"{thing}.?metadata.?annotations[?'{key}'].orValue('{absent}')"


def _request_for(plural: str, namespace: str, name: str) -> str:
    return (
        f"request.resource.resource == {text(plural)} && request.namespace == {text(namespace)}"
        f" && request.name == {text(name)}"
    )


def _validations() -> list[Manifest]:
    free = "variables.election || variables.raising"
    return [
        _validation(
            f"{free} || request.operation == 'DELETE' || variables.applied"
            " || variables.manager == 'shiplift-' + variables.epoch",
            "'field manager ' + variables.manager + ' is not of the current epoch ' + variables.epoch",
        ),
        _validation(
            f"{free} || !variables.ours || variables.leader == '' || variables.pod == variables.leader",
            "'pod ' + variables.pod + ' is not the leader of epoch ' + variables.epoch",
        ),
        _validation(
            "request.operation != 'DELETE' || variables.guarded",
            "'a delete has to name uid and resourceVersion of what it means'",
        ),
        _validation(
            "!variables.raising || (request.operation == 'UPDATE' && variables.after.matches('^[0-9]{1,9}$')"
            " && variables.manager == 'shiplift-' + variables.after"
            " && (!variables.before.matches('^[0-9]{1,9}$') || int(variables.after) >= int(variables.before))"
            " && variables.successor == variables.pod)",
            "'the epoch goes up only, from ' + variables.before + ', and only by its own leader'",
        ),
    ]


def _validation(expression: str, message: str) -> Manifest:
    return {"expression": expression, "messageExpression": message, "reason": "Forbidden"}


# --- the live fence ---


class Identity(msgspec.Struct, frozen=True):
    """Who the API server takes us for."""

    username: str
    pod: str = ""


class Fence:
    """Raises the epoch, and proves that the API server now refuses all others."""

    def __init__(self, credentials: Credentials, names: Names, timeout: float = 10.0) -> None:
        self.names = names
        self._credentials = credentials
        self._timeout = timeout
        self._asking: Client | None = None
        self._given_up = False
        self._raised = 0
        """The epoch that this process has raised: no other may act in it."""
        self.pod = ""
        """The uid of the pod that we run in; empty where we run in none, and before it was asked."""

    def give_up(self) -> None:
        """From any thread: whoever asks is told that nobody can be reached, now and from now on."""
        self._given_up = True
        if asking := self._asking:
            asking.close()

    def epoch(self) -> int:
        """The epoch as raised last; 0 before the first leader."""
        with self._client(manager(0)) as client:
            return self._epoch_of(self._home(client))

    def raise_epoch(self, epoch: int) -> None:
        """The first write of every new leader. `StaleEpoch` when a later leader was faster."""
        with self._client(manager(epoch)) as client:
            wanted = {EPOCH: str(epoch), POD: self._pod(client)}
            for attempt in range(1, _ATTEMPTS + 1):
                found = self._home(client)
                if self._reached(found, epoch, wanted):
                    return
                annotations = _annotations(found) | wanted
                try:
                    client.update(
                        HOME, found | {"metadata": found["metadata"] | {"annotations": annotations}}
                    )
                except (Conflict, Unknown):
                    if attempt == _ATTEMPTS:
                        raise
                else:
                    self._raised = epoch
                    return

    def wait_effective(
        self, epoch: int, timeout: float = 10.0, give_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Return when the API server lets this epoch write and refuses others; else `FenceError`."""
        deadline = time.monotonic() + timeout
        while not self.effective(epoch):
            if time.monotonic() >= deadline or give_up():
                raise FenceError(
                    f"the fence does not hold: ValidatingAdmissionPolicy {self.names.fence}"
                    " or its binding is gone, or was changed",
                    hint="apply again what installed shiplift (docs/install.md)",
                )
            time.sleep(_PROBE_SECONDS)

    def effective(self, epoch: int) -> bool:
        """Ask by dry run on our own Lease: epoch 0, which nobody ever has, is refused, and ours is not."""
        return not self._lets_pass(0) and self._lets_pass(epoch)

    def is_raised(self, epoch: int) -> bool:
        """Whether epoch and leader's pod are written as we wrote them: without a pod any would pass."""
        with self._client(manager(epoch)) as client:
            wanted = {EPOCH: str(epoch), POD: self._pod(client)}
            return wanted.items() <= _annotations(self._home(client)).items()

    def _lets_pass(self, epoch: int) -> bool:
        lease = self.names.lease, self.names.namespace
        with self._client(manager(epoch)) as client:
            uid = client.get(LEASE, *lease)["metadata"]["uid"]
            try:
                client.patch(LEASE, lease[0], {}, lease[1], uid=uid, dry_run=True)
            except Forbidden as error:
                if refused(error, self.names):
                    return False
                error.hint = f"grant this user get and patch on leases/{lease[0]} in namespace {lease[1]}"
                raise
        return True

    def _reached(self, found: Manifest, epoch: int, wanted: dict[str, str]) -> bool:
        current = self._epoch_of(found)
        if current > epoch:
            raise StaleEpoch(f"epoch {epoch} is over: a leader of epoch {current} has raised the fence")
        if current == epoch != self._raised:
            # also where our own write is in doubt: a term more costs less than two leaders in one epoch
            raise StaleEpoch(f"epoch {epoch} may be another leader's: it was raised before")
        return current == epoch and wanted.items() <= _annotations(found).items()

    def _home(self, client: Client) -> Manifest:
        place = f"ServiceAccount {self.names.namespace}/{self.names.fence}"
        try:
            return client.get(HOME, self.names.fence, self.names.namespace)
        except NotFound as error:
            raise FenceError(f"{place} is missing", hint="install the fence's manifests again") from error
        except (Forbidden, Unauthorized) as error:
            error.hint = f"grant this user get and update on {place}"
            raise

    def _epoch_of(self, found: Manifest) -> int:
        """0 where somebody took it away or wrote something else: the next leader then writes it anew."""
        text = _annotations(found).get(EPOCH, "0")
        epoch = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(LAST_EPOCH)) else 0
        if epoch < LAST_EPOCH:
            return epoch
        raise FenceError(
            f"annotation {EPOCH} of ServiceAccount {self.names.namespace}/{self.names.fence} is {epoch},"
            " and no epoch comes after that",
            hint="somebody edited it; remove the annotation, the next leader writes it",
        )

    def _pod(self, client: Client) -> str:
        """The pod that we run in, if any."""
        me = whoami(client)
        if me.username != self.names.username:
            raise FenceError(
                f"the fence is for {self.names.username}, but the API server takes us for {me.username}",
                hint="run with that user, or install the fence for this one",
            )
        self.pod = me.pod
        return me.pod

    def _client(self, field_manager: str) -> Client:
        self._asking = client = Client(self._credentials, field_manager=field_manager, timeout=self._timeout)
        if self._given_up:
            client.close()
        return client


def _annotations(found: Manifest) -> dict[str, str]:
    return found["metadata"].get("annotations") or {}


def whoami(client: Client) -> Identity:
    """Ask the API server; a token bound to a pod also tells which pod."""
    try:
        answer = _read_review(client.raw("POST", _SELF_REVIEW, body=b"{}"))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the answer to a SelfSubjectReview is none: {error}", hint=NOT_THE_SERVER) from error
    user = answer.status.user_info
    return Identity(user.username, next(iter(user.extra.get(_POD_UID, [])), ""))


class _User(msgspec.Struct):
    username: str
    extra: dict[str, list[str]] = {}


class _Status(msgspec.Struct, rename="camel"):
    user_info: _User


class _Review(msgspec.Struct):
    status: _Status


_read_review = msgspec.json.Decoder(_Review).decode
