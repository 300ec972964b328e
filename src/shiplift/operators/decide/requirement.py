"""The loop of OperatorVersions: a definition that a pending version requires, and that nobody has made, is
made as its one provider in the catalogs has it. The CRD loop then asks for the provider itself."""

from __future__ import annotations

from datetime import timedelta

from shiplift.api.operators import RequiredCrd
from shiplift.engine.conditions import Status as Holds
from shiplift.operators.model import Line, Provider, Reason, RequirementView
from shiplift.operators.rows import app_of, is_paused, version_of
from shiplift.operators.steps import MakeCrd

_LOOK_AGAIN = timedelta(seconds=15)
"""The AppType of a provider is made elsewhere."""


def provided(view: RequirementView) -> Line | None:
    """None where it requires nothing."""
    required = version_of(view.version).spec.required_crds
    app = view.site.app
    if not required or app is None or view.version.deleting:
        return None
    missing = [one for one in required if one.name not in view.crds and not one.optional]
    if not missing:
        return _unasked(view) or Line(
            Reason.PROVIDED, "every definition that it requires is there", Holds.TRUE
        )
    if is_paused(app):
        return Line(Reason.PAUSED, f"{missing[0].name} is not made: its AppType is paused or held")
    lines = [_missing(view, one, app_of(app).spec.service_account_name) for one in missing]
    steps = tuple(step for line in lines for step in line.steps)
    stuck = next((line for line in lines if not line.steps), lines[0])
    return stuck._replace(steps=steps)


def _unasked(view: RequirementView) -> Line | None:
    """A definition alone serves nobody: whose it is has to run."""
    for name, said in view.unasked.items():
        if said.why and not said.old:
            told = f"{name} is there, and nobody who provides it: {said.why}"
            return Line(Reason.REFUSED, told, due=_LOOK_AGAIN)
    return None


def _missing(view: RequirementView, one: RequiredCrd, account: str) -> Line:
    found = view.providers.get(one.name, ())
    if len(found) == 0:
        told = f"no catalog has a package that owns {one.name} {one.version}"
        return Line(Reason.NO_PROVIDER, f"{told}: add one, or make the definition")
    if len(found) > 1:
        return Line(Reason.AMBIGUOUS_PROVIDER, ambiguous(one.name, found))
    provider = found[0]
    step = MakeCrd(
        namespace=view.version.namespace,
        account=account,
        crd=one.name,
        bundle=provider.bundle,
        payload=provider.payload,
        sha256=one.sha256 or "",
    )
    return Line(Reason.PROVIDING, step.describe(), steps=(step,))


def ambiguous(crd: str, found: tuple[Provider, ...]) -> str:
    names = ", ".join(f"{one.package} ({one.catalog})" for one in found[:6])
    return f"{crd} is provided by {len(found)} packages: {names}; make an AppType of the one that is meant"
