"""What installing a version of an operator puts into a cluster, object by object, in the order of need. Pure.

Kept true: every object says where it comes from, an account gets just the rules that the bundle names, and
what cannot be installed here is refused by name before anything is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from shiplift.engine.object_names import fitting
from shiplift.operators.catalog import csv, payload
from shiplift.operators.catalog.model import Bundle

Json = dict[str, Any]
_RBAC = "rbac.authorization.k8s.io"
BUNDLE = "operators.shiplift.dev/bundle"
"""The annotation that names the version which an object came with."""
_NAMESPACED = {
    "v1": ("ConfigMap", "Secret", "Service", "ServiceAccount"),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding"),
    "policy/v1": ("PodDisruptionBudget",),
    "networking.k8s.io/v1": ("NetworkPolicy",),
}
_CLUSTERED = {
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
}
BROUGHT: tuple[tuple[str, str, bool], ...] = (
    ("apps/v1", "Deployment", True),
    *((api, kind, True) for api, kinds in _NAMESPACED.items() for kind in kinds),
    *((api, kind, False) for api, kinds in _CLUSTERED.items() for kind in kinds),
)
"""All that a version may consist of: API version, kind, and whether it is in a namespace."""
_ORDER = ("CustomResourceDefinition", "PriorityClass", "ServiceAccount", "Role", "ClusterRole")
"""What others need comes first; Deployments come last."""


class Watches(StrEnum):
    """The namespaces that an operator looks at."""

    OWN = "own"
    ALL = "all"


class NotInstallableError(ValueError):
    """The version cannot be installed here."""


class _Mode(msgspec.Struct):
    type: str = ""
    supported: bool = False


class _Rules(msgspec.Struct, rename="camel"):
    service_account_name: str
    rules: list[Json] = []


class _Deployment(msgspec.Struct):
    name: str
    spec: Json
    label: dict[str, str] | None = None


class _Strategy(msgspec.Struct, rename="camel"):
    deployments: list[_Deployment]
    permissions: list[_Rules] | None = None
    cluster_permissions: list[_Rules] | None = None


class _Install(msgspec.Struct):
    spec: _Strategy


class _Spec(msgspec.Struct, rename="camel"):
    install: _Install
    install_modes: list[_Mode] | None = None


class _Csv(msgspec.Struct):
    spec: _Spec


class Place(msgspec.Struct, frozen=True):
    """Where a version is installed, and what it looks at there."""

    namespace: str
    watches: Watches
    bundle: str

    def meta(self, name: str, given: Json | None = None, *, namespaced: bool = True) -> Json:
        """Metadata of an object that comes with the version, with its own labels and annotations."""
        said: Json = given or {}
        where = {"namespace": self.namespace} if namespaced else {}
        labels = {"labels": said["labels"]} if said.get("labels") else {}
        annotations: Json = said.get("annotations") or {}
        marked = {"annotations": {**annotations, BUNDLE: self.bundle}}
        return {"name": fitting(name), **where, **labels, **marked}


def objects(
    bundle: Bundle, manifests: Sequence[Json], namespace: str, watches: Watches | None = None
) -> list[Json]:
    """Everything that has to be created, in that order; a `NotInstallableError` names why nothing is."""
    version = _read(bundle, manifests)
    place = Place(namespace, _watched(bundle, version.spec.install_modes or [], watches), bundle.name)
    strategy = version.spec.install.spec
    made = _once(bundle, [*_brought(bundle, manifests, place)], strategy, place)
    made.sort(key=lambda one: _ORDER.index(one["kind"]) if one["kind"] in _ORDER else len(_ORDER))
    return [*made, *(_deployment(one, place) for one in strategy.deployments)]


def _once(bundle: Bundle, brought: list[Json], strategy: _Strategy, place: Place) -> list[Json]:
    """Each object once: an account that the version brings is used as it is written there."""
    written = {_identity(one) for one in brought}
    accounts = [one for one in _accounts(strategy, place) if _identity(one) not in written]
    made = [*brought, *accounts, *_rights(strategy, place)]
    for (kind, name), times in Counter(map(_identity, made)).items():
        if times > 1:
            raise NotInstallableError(f"{bundle.name} brings {kind} {name} more than once")
    return made


def _identity(one: Json) -> tuple[str, str]:
    return str(one["kind"]), str(one["metadata"]["name"])


def _read(bundle: Bundle, manifests: Sequence[Json]) -> _Csv:
    if bundle.uninstallable:
        raise NotInstallableError(f"{bundle.name} brings {' and '.join(bundle.uninstallable)}")
    try:
        (found,) = [one for one in manifests if payload.is_csv(one)]
        return msgspec.convert(found, _Csv)
    except (ValueError, msgspec.ValidationError) as error:
        raise NotInstallableError(f"{bundle.name} does not say how it is installed: {error}") from error


def _watched(bundle: Bundle, modes: Iterable[_Mode], wanted: Watches | None) -> Watches:
    """What was asked for, or its own namespace where the version can do with that."""
    supported = {one.type for one in modes if one.supported}
    can = {Watches.OWN: "OwnNamespace" in supported, Watches.ALL: "AllNamespaces" in supported}
    for one in [wanted] if wanted else Watches:
        if can[one]:
            return one
    told = (
        f"watch {wanted} namespace{'s' if wanted is Watches.ALL else ''}"
        if wanted
        else "watch its own or all"
    )
    raise NotInstallableError(
        f"{bundle.name} cannot {told}: it supports {', '.join(sorted(supported)) or 'nothing'}"
    )


def _brought(bundle: Bundle, manifests: Iterable[Json], place: Place) -> Iterator[Json]:
    """The manifests beside the ClusterServiceVersion, each in its place."""
    for one in manifests:
        if payload.is_csv(one):
            continue
        api_version, kind = str(one.get("apiVersion")), str(one.get("kind"))
        namespaced = kind in _NAMESPACED.get(api_version, ())
        if not namespaced and kind not in _CLUSTERED.get(api_version, ()):
            raise NotInstallableError(f"{bundle.name} brings {api_version} {kind}, which is not installed")
        yield _placed(one, place, namespaced=namespaced)


def _placed(one: Json, place: Place, *, namespaced: bool) -> Json:
    given: Json = one.get("metadata") or {}
    rest = {key: value for key, value in one.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": place.meta(str(given.get("name")), given, namespaced=namespaced)}


def _accounts(strategy: _Strategy, place: Place) -> Iterator[Json]:
    named = [one.service_account_name for one in _permissions(strategy)]
    named += [_account(one.spec) for one in strategy.deployments]
    for name in sorted(set(named) - {"", "default"}):
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place.meta(name)}


def _permissions(strategy: _Strategy) -> list[_Rules]:
    return [*(strategy.permissions or ()), *(strategy.cluster_permissions or ())]


def _account(deployment: Json) -> str:
    try:
        return str(deployment["template"]["spec"].get("serviceAccountName") or "")
    except (KeyError, TypeError, AttributeError):
        return ""


def _rights(strategy: _Strategy, place: Place) -> Iterator[Json]:
    """Rules for the namespace hold everywhere where the operator watches all of them."""
    everywhere = place.watches is Watches.ALL
    for scope, listed in (("local", strategy.permissions), ("cluster", strategy.cluster_permissions)):
        for number, one in enumerate(listed or ()):
            clustered = everywhere or scope == "cluster"
            name = f"{place.bundle}-{one.service_account_name}-{scope}-{number}"
            yield from _grant(name, one, place, clustered=clustered)


def _grant(name: str, given: _Rules, place: Place, *, clustered: bool) -> Iterator[Json]:
    prefix, full = ("Cluster", f"{place.namespace}.{name}") if clustered else ("", name)
    meta = place.meta(full, namespaced=not clustered)
    role = {"apiGroup": _RBAC, "kind": f"{prefix}Role", "name": meta["name"]}
    subject = {"kind": "ServiceAccount", "name": given.service_account_name, "namespace": place.namespace}
    api = {"apiVersion": f"{_RBAC}/v1"}
    yield {**api, "kind": f"{prefix}Role", "metadata": meta, "rules": given.rules}
    yield {**api, "kind": f"{prefix}RoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]}


def _deployment(given: _Deployment, place: Place) -> Json:
    """With what operators read about themselves from the annotations of their pods, as OLM writes it."""
    told = {
        "olm.targetNamespaces": place.namespace if place.watches is Watches.OWN else "",
        "olm.operatorNamespace": place.namespace,
    }
    template: Json = given.spec.get("template") or {}
    meta: Json = template.get("metadata") or {}
    annotations: Json = meta.get("annotations") or {}
    annotated = {**template, "metadata": {**meta, "annotations": {**annotations, **told}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": place.meta(given.name, {"labels": given.label}),
        "spec": {**given.spec, "template": annotated},
    }


def examples(manifests: Iterable[Json]) -> list[Json]:
    """The custom resources that the authors of a version show."""
    for one in manifests:
        if payload.is_csv(one):
            text = csv.annotated(csv.read(one)).get("alm-examples", "")
            return msgspec.json.decode(text, type=list[Json]) if text else []
    return []
