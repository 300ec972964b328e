"""What a version requires, and what of it is there. Pure; `optional` never holds anything up."""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.operators import RequiredCrd, RequirementKind, RequirementState, RequirementStatus
from shiplift.facts.cluster import CustomResourceDefinition
from shiplift.operators.catalog import kubernetes, semver
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.catalog.ranges import parse_range
from shiplift.operators.catalog.semver import SemverError
from shiplift.operators.model import InstallView
from shiplift.operators.names import CONTENT
from shiplift.operators.rows import version_of

_SHORT = 4096


def requirements(view: InstallView) -> tuple[RequirementStatus, ...]:
    """Each once, in a stable order."""
    found = [*_kubernetes(view), *_crds(view), *_packages(view), *_permissions(view)]
    return tuple({(one.kind, one.name): one for one in found}.values())


def unmet(found: tuple[RequirementStatus, ...]) -> list[RequirementStatus]:
    """Those that hold the installation up."""
    return [one for one in found if not one.optional and one.state is not RequirementState.MET]


def _kubernetes(view: InstallView) -> Iterator[RequirementStatus]:
    """The bundle's range, and what of its manifests this server does not serve."""
    spec = version_of(view.version).spec
    bundle = view.bundle or Bundle(name=view.version.name, version=spec.version)
    ranged = Bundle(
        name=bundle.name,
        version=bundle.version,
        min_kubernetes=spec.min_kubernetes_version or bundle.min_kubernetes,
        max_kubernetes=spec.max_kubernetes_version or bundle.max_kubernetes,
        max_openshift=bundle.max_openshift,
        apis=bundle.apis,
    )
    here = kubernetes.read(view.kubernetes)
    if here is None:
        state, said = RequirementState.UNKNOWN, "which version this is, nobody says"
    else:
        why = "; ".join(kubernetes.objections(ranged, here))
        state, said = (RequirementState.NOT_SATISFIED, why) if why else (RequirementState.MET, "")
    name = f"{ranged.min_kubernetes or '*'} to {ranged.max_kubernetes or '*'}"[:256]
    kind = RequirementKind.KUBERNETES
    yield RequirementStatus(kind=kind, name=name, state=state, message=said[:_SHORT])


def _crds(view: InstallView) -> Iterator[RequirementStatus]:
    for one in version_of(view.version).spec.required_crds:
        state, said = crd_state(one, view.crds.get(one.name), altered=one.name in view.altered)
        kind = RequirementKind.CRD
        yield RequirementStatus(
            kind=kind, name=one.name, state=state, optional=one.optional, message=said[:_SHORT]
        )


def crd_state(
    one: RequiredCrd, row: CustomResourceDefinition | None, *, altered: bool = False
) -> tuple[RequirementState, str]:
    """There, served in that version, and established."""
    if row is None or row.deleting:
        return RequirementState.MISSING, f"no CustomResourceDefinition {one.name}"
    served = [version.name for version in row.versions if version.served]
    if one.version not in served:
        told = ", ".join(served) or "none"
        return RequirementState.NOT_SATISFIED, f"{one.name} does not serve {one.version}, but {told}"
    wrong = [
        each
        for each in row.conditions
        if each.type in ("Established", "NamesAccepted") and each.status != "True"
    ]
    if wrong:
        return RequirementState.NOT_SATISFIED, f"{one.name} is not {wrong[0].type}: {wrong[0].message}"
    if one.sha256 and row.annotations.get(CONTENT) != one.sha256:
        return RequirementState.NOT_SATISFIED, f"{one.name} is not the one with sha256 {one.sha256}"
    if one.sha256 and altered:
        told = f"somebody has changed {one.name}: it was the one with sha256 {one.sha256}"
        return RequirementState.NOT_SATISFIED, told
    return RequirementState.MET, ""


def _packages(view: InstallView) -> Iterator[RequirementStatus]:
    for one in version_of(view.version).spec.dependencies:
        running = view.packages.get(one.package, ())
        state, said = _package_state(one.package, one.range, running)
        kind = RequirementKind.PACKAGE
        yield RequirementStatus(
            kind=kind, name=one.package, state=state, optional=one.optional, message=said[:_SHORT]
        )


def _permissions(view: InstallView) -> Iterator[RequirementStatus]:
    """Each object that the AppType's account may not make, as the API server says."""
    for one in view.tried.refused if view.tried is not None else ():
        kind, state = RequirementKind.PERMISSION, RequirementState.NOT_SATISFIED
        if one.forbidden:
            yield RequirementStatus(kind=kind, name=one.what[:256], state=state, message=one.why[:_SHORT])


def _package_state(package: str, wanted: str, running: tuple[str, ...]) -> tuple[RequirementState, str]:
    if not running:
        return RequirementState.MISSING, f"no AppType of package {package} runs: make one"
    try:
        range_ = parse_range(wanted)
        fitting = any(range_.holds(semver.parse(one.removeprefix("v"))) for one in running)
    except SemverError as error:
        return RequirementState.UNKNOWN, f"range {wanted!r} cannot be read: {error}"
    if fitting:
        return RequirementState.MET, ""
    return RequirementState.NOT_SATISFIED, f"{package} runs as {', '.join(running)}, not {wanted}"
