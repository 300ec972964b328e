"""Which versions of operators keep a cluster from a version of Kubernetes, and why.

Kept true: what a bundle says about Kubernetes and cannot be understood is an objection: unknown is not fine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from shiplift.operators.catalog.model import Bundle

_SHAPE = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?:[-+].*)?", re.ASCII)
_OPENSHIFT_LAG = 13
"""OpenShift 4.N runs Kubernetes 1.(N+13)."""


class Kubernetes(msgspec.Struct, frozen=True):
    """A version of Kubernetes; without a patch it means all of that minor."""

    major: int
    minor: int
    patch: int | None = None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("" if self.patch is None else f".{self.patch}")

    def below(self, least: Kubernetes) -> bool:
        """Whether no version that is meant here is as high as that one."""
        if (self.major, self.minor) != (least.major, least.minor) or self.patch is None:
            return (self.major, self.minor) < (least.major, least.minor)
        return self.patch < (least.patch or 0)

    def above(self, most: Kubernetes) -> bool:
        """Whether all versions that are meant here are higher than that one."""
        if (self.major, self.minor) != (most.major, most.minor):
            return (self.major, self.minor) > (most.major, most.minor)
        return self.patch is not None and most.patch is not None and self.patch > most.patch


def read(text: str) -> Kubernetes | None:
    """`1.36`, `v1.36.3` or `1.19.0-0`; none where it is no version of Kubernetes."""
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        return None
    return Kubernetes(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def objections(bundle: Bundle, version: Kubernetes) -> tuple[str, ...]:
    """Why this version of an operator cannot run on, or be installed on, that version of Kubernetes."""
    return (*_by_minimum(bundle, version), *_by_maximum(bundle, version), *_by_apis(bundle, version))


def highest(bundle: Bundle) -> str:
    """The highest version of Kubernetes that it says it runs on, be it by a version of OpenShift; what cannot
    be read is left to `objections`."""
    said = [bundle.max_kubernetes] if read(bundle.max_kubernetes) else []
    shift = read(bundle.max_openshift.strip('"'))
    if shift is not None and shift.major == 4:
        said.append(f"1.{shift.minor + _OPENSHIFT_LAG}")
    return min(said, key=_highest_patch, default=bundle.max_kubernetes)


def _highest_patch(text: str) -> tuple[int, int, float]:
    one = read(text) or Kubernetes(0, 0)
    return one.major, one.minor, float("inf") if one.patch is None else one.patch


def needs_newer(bundle: Bundle, version: Kubernetes) -> bool:
    """Whether this version of an operator runs only on higher versions of Kubernetes than that one."""
    least = read(bundle.min_kubernetes)
    return least is not None and version.below(least)


def _by_minimum(bundle: Bundle, version: Kubernetes) -> Iterator[str]:
    if bundle.min_kubernetes:
        least = read(bundle.min_kubernetes)
        if least is None:
            yield f"its minimum version of Kubernetes cannot be read: {bundle.min_kubernetes[:40]!r}"
        elif version.below(least):
            yield f"needs at least Kubernetes {least}"


def _by_maximum(bundle: Bundle, version: Kubernetes) -> Iterator[str]:
    if bundle.max_kubernetes:
        most = read(bundle.max_kubernetes)
        if most is None:
            yield f"its maximum version of Kubernetes cannot be read: {bundle.max_kubernetes[:40]!r}"
        elif version.above(most):
            yield f"runs on Kubernetes {most} at most"
    if bundle.max_openshift:
        shift = read(bundle.max_openshift.strip('"'))
        if shift is None or shift.major != 4:
            yield f"its maximum version of OpenShift cannot be read: {bundle.max_openshift[:40]!r}"
        elif version.above(Kubernetes(1, shift.minor + _OPENSHIFT_LAG)):
            least = f"Kubernetes 1.{shift.minor + _OPENSHIFT_LAG}"
            yield f"runs on OpenShift 4.{shift.minor} at most, which is {least}"


def _by_apis(bundle: Bundle, version: Kubernetes) -> Iterator[str]:
    for api in bundle.apis:
        removed = _REMOVED.get(api)
        if removed and (version.major, version.minor) >= (1, removed):
            yield f"brings {api}, which is not served since Kubernetes 1.{removed}"


def _kinds(api_version: str, kinds: str, minor: int) -> dict[str, int]:
    return {f"{api_version} {kind}": minor for kind in kinds.split()}


_ROLES = "Role RoleBinding ClusterRole ClusterRoleBinding"
_REVIEWS = "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
_FLOW = "FlowSchema PriorityLevelConfiguration"
_REMOVED = (
    _kinds("extensions/v1beta1", "DaemonSet Deployment ReplicaSet NetworkPolicy PodSecurityPolicy", 16)
    | _kinds("apps/v1beta1", "Deployment StatefulSet ControllerRevision", 16)
    | _kinds("apps/v1beta2", "DaemonSet Deployment ReplicaSet StatefulSet ControllerRevision", 16)
    | _kinds(
        "admissionregistration.k8s.io/v1beta1",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
        22,
    )
    | _kinds("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22)
    | _kinds("apiregistration.k8s.io/v1beta1", "APIService", 22)
    | _kinds("authentication.k8s.io/v1beta1", "TokenReview", 22)
    | _kinds("authorization.k8s.io/v1beta1", _REVIEWS, 22)
    | _kinds("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 22)
    | _kinds("coordination.k8s.io/v1beta1", "Lease", 22)
    | _kinds("extensions/v1beta1", "Ingress", 22)
    | _kinds("networking.k8s.io/v1beta1", "Ingress IngressClass", 22)
    | _kinds("rbac.authorization.k8s.io/v1beta1", _ROLES, 22)
    | _kinds("scheduling.k8s.io/v1beta1", "PriorityClass", 22)
    | _kinds("storage.k8s.io/v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment", 22)
    | _kinds("batch/v1beta1", "CronJob", 25)
    | _kinds("discovery.k8s.io/v1beta1", "EndpointSlice", 25)
    | _kinds("events.k8s.io/v1beta1", "Event", 25)
    | _kinds("autoscaling/v2beta1", "HorizontalPodAutoscaler", 25)
    | _kinds("policy/v1beta1", "PodDisruptionBudget PodSecurityPolicy", 25)
    | _kinds("node.k8s.io/v1beta1", "RuntimeClass", 25)
    | _kinds("flowcontrol.apiserver.k8s.io/v1beta1", _FLOW, 26)
    | _kinds("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26)
    | _kinds("storage.k8s.io/v1beta1", "CSIStorageCapacity", 27)
    | _kinds("flowcontrol.apiserver.k8s.io/v1beta2", _FLOW, 29)
    | _kinds("flowcontrol.apiserver.k8s.io/v1beta3", _FLOW, 32)
)
"""What Kubernetes has ceased to serve, and in which minor; from its deprecation guide."""
